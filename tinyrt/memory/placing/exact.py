"""Branch and bound over placements, from the bottom of the arena upwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tinyrt.memory.placing.problem import Problem

SEARCH_WORK = 200_000
"""Pairs of groups that the search may look at; a bound on work, not on time, for repeatability."""

PROOF_WORK = 60_000
"""The same bound for each smaller problem that a proof searches."""

WIDEST = 4
"""Steps around the fullest one that such a smaller problem may span."""

MAX_GROUPS = 400
"""Most groups that the search takes: it recurses once per group."""

At = dict[int, int]
State = tuple[int, frozenset[int], frozenset[tuple[int, int]]]


def search(problem: Problem, best: At, goal: int) -> tuple[At, bool]:
    """A placement that is at least as small as ``best``, and whether it rules out smaller ones.

    Some smallest placement has every group resting on the bottom or on a lower group. Placing
    groups in the order of their offsets, each as low as it goes, finds this placement. The argument
    fails for groups of several buffers, which may rest on a part of a group that begins above them,
    and for inputs, which may rest on outputs that begin after them. With such groups the search
    proves nothing.

    Args:
        problem: what to place.
        best: a placement of all groups.
        goal: bytes that are few enough.

    """
    if len(problem.groups) > MAX_GROUPS:
        return best, False
    if _is_best(problem, best):
        return best, True
    run = _Search(problem, best, goal, SEARCH_WORK)
    run.start()
    return run.best, _is_complete(problem) and run.exhausted


def _is_best(problem: Problem, best: At) -> bool:
    """Whether the groups live around the fullest step alone need as many bytes as ``best``.

    A search over few groups is quick, and their lower bound holds for all groups. Groups of
    several buffers are left out: a search with them proves nothing.
    """
    size = problem.size(best)
    steps = problem.steps()
    bounds = problem.bounds()
    fullest = max(range(len(steps)), key=lambda i: (bounds[i], -i))
    alone = [
        (g, *group.members) for g, group in enumerate(problem.groups) if len(group.members) == 1
    ]
    for width in range(1, WIDEST + 1):
        for first in range(max(0, fullest - width), min(fullest, len(steps) - 1 - width) + 1):
            inside = range(steps[first], steps[first + width] + 1)
            chosen = [g for g, b in alone if any(problem.alive(b, step) for step in inside)]
            part, _ = problem.part(chosen)
            placed = dict(enumerate(best[g] for g in chosen))
            if part.size(placed) < size or not _is_complete(part):
                continue
            run = _Search(part, placed, size - 1, PROOF_WORK)
            run.start()
            if run.exhausted:
                return True
    return False


def _is_complete(problem: Problem) -> bool:
    simple = all(len(group.members) == 1 for group in problem.groups)
    return simple and all(lead.least >= 0 for lead in problem.leads.values())


class _Search:
    """The best placement so far, and the tables for lower bounds."""

    def __init__(self, problem: Problem, best: At, goal: int, work: int) -> None:
        self.problem = problem
        self.best = best
        self.size = problem.size(best)
        self.goal = goal
        self.work = work
        steps = problem.steps()
        self._saved: NDArray[Any] = np.array(problem.savings())
        count = len(problem.buffers)
        alive = [[problem.alive(i, step) for step in steps] for i in range(count)]
        self._alive: NDArray[Any] = np.array(alive, np.int64).reshape(count, len(steps))
        self._sizes: NDArray[Any] = np.array(
            [problem.align(b.nbytes) for b in problem.buffers], np.int64
        )
        self._failed: set[State] = set()
        self._starts: NDArray[Any] = np.full(count, -1, np.int64)

    def start(self) -> None:
        """Search from the empty arena."""
        self.extend({}, dict.fromkeys(range(len(self.problem.groups)), 0))

    @property
    def exhausted(self) -> bool:
        """Whether the search has tried everything: no placement is smaller than the best."""
        return self.work > 0 and self.size > self.goal

    def extend(self, at: At, lowest: Mapping[int, int]) -> None:
        """Try every group that may come next; ``lowest``: each group left -> its lowest offset."""
        if not lowest:
            size = self.problem.size(at)
            if size < self.size:
                self.best, self.size = dict(at), size
            return
        self.work -= len(lowest)
        least = min(lowest.values())
        state = self._state(at, lowest, least)
        if state in self._failed or self._bound(least) >= self.size:
            return
        self._failed.add(state)  # when the search meets it again, it has tried everything below
        groups = self.problem.groups
        # A group that fits entirely below another one is placed before it.
        room = min(offset + groups[g].nbytes for g, offset in lowest.items())
        options = sorted(
            (offset, -groups[g].nbytes, g) for g, offset in lowest.items() if offset < room
        )
        for offset, _, group in options:
            if self.work <= 0 or self.size <= self.goal:
                return
            if offset + groups[group].nbytes >= self.size:
                continue
            self._put(group, offset)
            at[group] = offset
            self.extend(at, self._after(at, lowest, group, offset))
            del at[group]
            self._put(group, None)

    def _after(self, at: At, lowest: Mapping[int, int], group: int, least: int) -> At:
        """The lowest offsets of the other groups once this one is placed; none lies below it."""
        gaps = self.problem.gaps[group]
        after: At = {}
        for other, offset in lowest.items():
            if other == group:
                continue
            if other in gaps or offset < least:
                self.work -= 1 + len(self.problem.gaps[other])
                offset = self.problem.lowest(other, at, least)
            after[other] = offset
        return after

    def _state(self, at: At, lowest: Mapping[int, int], least: int) -> State:
        """All that matters of the placed groups to the rest; equal states have equal futures."""
        gaps, groups = self.problem.gaps, self.problem.groups
        spans = {
            (g, offset)
            for g, offset in at.items()
            if offset + groups[g].nbytes > least and not gaps[g].keys().isdisjoint(lowest)
        }
        return least, frozenset(lowest), frozenset(spans)

    def _put(self, group: int, offset: int | None) -> None:
        for member, distance in self.problem.groups[group].members.items():
            self._starts[member] = -1 if offset is None else offset + distance

    def _bound(self, least: int) -> int:
        """Lower bound of any placement that continues from here with no group below ``least``."""
        placed = self._starts >= 0
        above = np.where(placed, self._starts, least)
        sizes = np.clip(above + self._sizes - np.maximum(above, least), 0, None)
        return least + int((sizes @ self._alive - self._saved).max())
