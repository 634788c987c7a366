"""Parts that follow one pattern, written once: a stage that runs in rounds, and these in turns.

Most parts of a call differ in pointers alone, and these advance by the same number of elements from
each part to the next. Such a run is written once, with pointers that depend on the round. A pattern
may be of several parts, as where each pair of pixels is computed in several blocks of channels.
Patterns repeat in their turn, as rows of an image do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tinyrt.backends.c.kernel import Data, Number, Params, Place
from tinyrt.backends.c.parts.cutting import Part

MAX_PATTERN = 8
"""Most parts of a pattern, and most patterns of one that repeats in turns."""

PATTERNS = (1, 2, 4, MAX_PATTERN)
"""Most parts of a pattern, to be tried."""

Steps = tuple[int, ...]
"""What every pointer of some calls advances by, in the order in which they stand."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stage:
    """A part that runs once, or once in each round of a pattern, and of its turns.

    Attributes:
        part: what it runs; its pointers advance with round and turn.
        back: how many stages before it belong to the pattern that this is the last stage of.
        rounds: of that pattern; else 1.
        turn_back: how many stages before it are repeated with it, where it ends what is in turns.
        turns: of these; else 1.

    """

    part: Part
    back: int = 0
    rounds: int = 1
    turn_back: int = 0
    turns: int = 1

    @property
    def repeats(self) -> bool:
        """Whether it ends a pattern."""
        return self.rounds > 1 or self.turns > 1

    @property
    def reach(self) -> int:
        """How many stages before it belong to its patterns."""
        return max(self.back, self.turn_back)


Group = tuple[Stage, ...]
"""The stages of a pattern, or one that is alone."""


def stages_of(parts: Sequence[Part]) -> list[Stage]:
    """The parts in their order, in rounds and turns: of some ways, the one with the fewest stages.

    Long patterns of parts may hide that shorter ones repeat in turns.
    """
    return min((_staged(parts, longest) for longest in PATTERNS), key=len)


def _staged(parts: Sequence[Part], longest: int) -> list[Stage]:
    """The parts in rounds, of patterns of at most ``longest`` parts, and these in turns."""
    groups: list[Group] = []
    for pattern, rounds, steps in _patterns(parts, _steps, longest):
        if rounds == 1:
            groups.append((Stage(pattern[0]),))
            continue
        own = [_advancing(p, list(s), 0) for p, s in zip(pattern, steps, strict=True)]
        groups.append((*map(Stage, own[:-1]), Stage(own[-1], len(own) - 1, rounds)))
    stages: list[Stage] = []
    for in_turns, turns, group_steps in _patterns(groups, _group_steps, MAX_PATTERN):
        if turns == 1:
            stages += in_turns[0]
            continue
        pairs = zip(in_turns, group_steps, strict=True)
        turned = [stage for group, own in pairs for stage in _turned(group, own)]
        turned[-1] = replace(turned[-1], turn_back=len(turned) - 1, turns=turns)
        stages += turned
    return stages


def _turned(group: Group, steps: Steps) -> list[Stage]:
    """The group's stages with pointers that advance by these steps each turn."""
    left = list(steps)
    return [replace(stage, part=_advancing(stage.part, left, 1)) for stage in group]


def _patterns(
    items: Sequence[T], steps_of: Callable[[T, T], Steps | None], longest: int
) -> list[tuple[Sequence[T], int, list[Steps]]]:
    """The items as patterns, each with how often it repeats and its items' steps.

    From the front; of all patterns there, the one that leaves out most.
    """
    patterns: list[tuple[Sequence[T], int, list[Steps]]] = []
    at = 0
    while at < len(items):
        runs = [_run(items, at, length, steps_of) for length in range(1, longest + 1)]
        rounds, length, steps = max(runs, key=lambda run: ((run[0] - 1) * run[1], -run[1]))
        length = length if rounds > 1 else 1
        patterns.append((items[at : at + length], rounds, steps))
        at += rounds * length
    return patterns


def _run(
    items: Sequence[T], at: int, length: int, steps_of: Callable[[T, T], Steps | None]
) -> tuple[int, int, list[Steps]]:
    """How often the pattern of that length repeats from there on, its length, and its steps."""

    def steps_from(start: int) -> list[Steps] | None:
        """From the pattern that starts there to the next one; None where there is none."""
        after = items[start + length : start + 2 * length]
        found = [steps_of(a, b) for a, b in zip(items[start:], after, strict=False)]
        known = [steps for steps in found if steps is not None]
        return known if len(known) == length else None

    steps = steps_from(at)
    if steps is None:
        return 1, length, []
    rounds = 2
    while steps_from(at + (rounds - 1) * length) == steps:
        rounds += 1
    return rounds, length, steps


def _group_steps(one: Group, other: Group) -> Steps | None:
    """The steps of all stages of two patterns; None where they differ in more."""
    if [(s.back, s.rounds) for s in one] != [(s.back, s.rounds) for s in other]:
        return None
    return _joined(_steps(a.part, b.part) for a, b in zip(one, other, strict=True))


def _steps(one: Part, other: Part) -> Steps | None:
    """The steps from a part's pointers to another's; None where they differ in more."""
    if one.call.function != other.call.function:
        return None
    pairs = zip(one.call.args, other.call.args, strict=True)
    return _joined(_step(a, b) for a, b in pairs)


def _joined(all_steps: Iterable[Steps | None]) -> Steps | None:
    """All steps, one behind the other; None where any are."""
    joined: list[int] = []
    for steps in all_steps:
        if steps is None:
            return None
        joined += steps
    return tuple(joined)


def _step(a: Any, b: Any) -> Steps | None:
    """The steps between two arguments or fields; None where they differ otherwise."""
    if type(a) is not type(b):
        return None
    match a:
        case Place():
            same = a.value.name == b.value.name and (a.pointer, a.each) == (b.pointer, b.each)
            return (b.skip - a.skip,) if same else None
        case Data():
            return (b.skip - a.skip,) if a.is_same(b) and a.each == b.each else None
        case Number(int(value)):
            return (b.value - value,) if a.each == b.each else None
        case Number():
            return (0,) if a == b else None
        case Params():
            return _step(a.fields, b.fields)
        case Mapping():
            return _joined(_step(a[name], b[name]) for name in a)
        case _:
            return () if a == b else None


def _advancing(part: Part, steps: list[int], axis: int) -> Part:
    """The part with pointers that advance each round (axis 0) or turn (1).

    By the first of ``steps``, which lose what is used.
    """
    args = tuple(_with_step(arg, steps, axis) for arg in part.call.args)
    return replace(part, call=replace(part.call, args=args))


def _with_step(arg: Any, steps: list[int], axis: int) -> Any:
    if isinstance(arg, Place | Data | Number):
        step = steps.pop(0)
        return replace(arg, each=(step, 0) if axis == 0 else (arg.each[0], step))
    if isinstance(arg, Params):
        return replace(arg, fields=_with_step(arg.fields, steps, axis))
    if isinstance(arg, Mapping):
        return {name: _with_step(value, steps, axis) for name, value in arg.items()}
    return arg
