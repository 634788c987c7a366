"""What instrumented code calls: it computes as before, and notes where a neighbour would differ."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

Part = tuple[str, int, int, str, str | int | bool | None]
"""File, line and column of an expression; the kind of its neighbours, and which of them."""
Place = tuple[str, int, int, str]
"""A part, less which."""

TWINS = {
    "h": "w",
    "height": "width",
    "rows": "columns",
    "kernel_h": "kernel_w",
    "stride_h": "stride_w",
    "dilation_h": "dilation_w",
    "pad_top": "pad_left",
    "pad_bottom": "pad_right",
    "top": "left",
    "bottom": "right",
    "low": "high",
    "first": "last",
    "inputs": "outputs",
    "x": "y",
    "flash": "ram",
}
"""Attributes that are easily confused."""
TWIN_OF = TWINS | {other: name for name, other in TWINS.items()}

COMPARE = {"Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge}
COMPUTE = {
    "Add": operator.add,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Mult": operator.mul,
    "Sub": operator.sub,
}
MATTERS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda one, other: other != 0,
    "FloorDiv": lambda one, other: one % other != 0,
    "Mod": lambda one, other: one % other != one,
    "Mult": lambda one, other: (np.asarray(other) != 1) & (np.asarray(one) != 0),
    "Sub": lambda one, other: other != 0,
}
"""Where the second operand is not as if it were not there, and a quotient is not whole."""
SYMMETRIC = ("Add", "Mult")
ROUND = ("abs", "ceil", "floor", "round")
"""Functions of Python, of ``math`` or of NumPy."""
NUMBERS = (int, float, np.number, np.ndarray)


class Places:
    """Expressions, and those of whose neighbours some test has told them."""

    def __init__(self) -> None:
        self.texts: dict[Part, str] = {}
        self.told: set[Part] = set()

    @property
    def untold(self) -> list[str]:
        """``file:line: kind: text`` of each part that no test has told from its neighbour."""
        rest = sorted(self.texts.keys() - self.told, key=_in_order)
        return [_line(part, self.texts[part]) for part in rest]

    def _note(
        self, place: Place, which: str | int | bool | None, differs: Callable[[], Any]
    ) -> None:
        """What cannot be compared counts as told: the list is of places that are certain."""
        part = (*place, which)
        if part in self.told:
            return
        differing = True
        with suppress(Exception):
            differing = bool(np.any(differs()))
        if differing:
            self.told.add(part)

    def limit(self, place: Place, kind: str, one: Any, other: Any) -> Any:
        """A comparison of order: told where both are equal."""
        self._note(place, None, lambda: one == other)
        return COMPARE[kind](one, other)

    def operands(self, place: Place, kind: str, one: Any, other: Any) -> Any:
        """Arithmetic: told where no operand is neutral, and a quotient is not whole."""
        both = isinstance(one, NUMBERS) and isinstance(other, NUMBERS)
        self._note(place, "right", lambda: not both or MATTERS[kind](one, other))
        if kind in SYMMETRIC:
            self._note(place, "left", lambda: not both or MATTERS[kind](other, one))
        return COMPUTE[kind](one, other)

    def best(self, place: Place, kind: str, *values: Any) -> Any:
        """Least or greatest: told where without a value it is another."""
        function = min if kind == "min" else max
        found = function(*values)
        for i in range(len(values)):
            rest = values[:i] + values[i + 1 :]
            self._note(place, i, partial(lambda rest: function(rest) != found, rest))
        return found

    def several(self, place: Place, kind: str, items: Iterator[Any]) -> bool:
        """``any`` or ``all``: told where the other one is another."""
        deciding, others = kind == "any", 0
        for item in items:
            if bool(item) is deciding:
                # The rest is looked at only to know whether all decide.
                rest = partial(any, (bool(i) is not deciding for i in items))
                self._note(place, None, (lambda: True) if others else rest)
                return deciding
            others += 1
        self._note(place, None, lambda: not others)
        return not deciding

    def ordered(self, place: Place, items: Iterable[Any], **order: Any) -> list[Any]:
        """Sorted values: told where they were in another order."""
        given = list(items)
        found = sorted(given, **order)
        self._note(place, None, lambda: any(a is not b for a, b in zip(given, found, strict=True)))
        return found

    def cut(self, place: Place, whole: Any, start: Any, stop: Any) -> Any:
        """A slice: told where without a bound it is another."""
        with suppress(TypeError):
            places = range(len(whole))
            own = places[start:stop]
            self._note(place, "start", lambda: own != places[:stop])
            self._note(place, "stop", lambda: own != places[start:])
        return whole[start:stop]

    def at(self, place: Place, items: Any, i: int) -> Any:
        """One of several: told where the one beside it is another, or there is none."""
        beside = {0: 1, 1: 0, -1: -2, -2: -1}.get(i, i - 1)
        self._note(
            place, None, lambda: not isinstance(items, tuple | list) or items[beside] != items[i]
        )
        return items[i]

    def twin(self, place: Place, owner: Any, name: str) -> Any:
        """An attribute: told where the one that is easily taken for it is another."""
        value = getattr(owner, name)
        self._note(place, None, lambda: callable(value) or getattr(owner, TWIN_OF[name]) != value)
        return value

    def keyword(self, place: Place, function: Any, name: str, value: Any) -> Any:
        """An argument by name: told where it is not what the function takes without."""
        self._note(place, None, lambda: _differ(_default(function, name), value))
        return value

    def replaced(self, place: Place, owner: Any, name: str, value: Any) -> Any:
        """A field of ``replace``: told where it was another."""
        self._note(place, None, lambda: _differ(getattr(owner, name), value))
        return value

    def parameter(self, place: Place, value: Any, default: Any) -> None:
        """A parameter with a default: told where a caller gives another."""
        self._note(place, None, lambda: _differ(default, value))

    def swapped(self, place: Place, *values: Any) -> tuple[Any, ...]:
        """Arguments of one type: told where the next is another."""
        for i, (one, other) in enumerate(pairwise(values)):
            self._note(place, i, partial(_confusable, one, other))
        return values

    def condition(self, place: Place, value: Any) -> bool:
        """A condition without a branch of its own: told where it was true, and where false."""
        found = bool(value)
        self.told.add((*place, found))
        return found

    def part(self, place: Place, value: Any, deciding: bool) -> Any:
        """A part of a condition: told where it decides."""
        self._note(place, None, lambda: bool(value) is deciding)
        return value

    def loop(self, place: Place, items: Iterable[Any]) -> Iterator[Any]:
        """A loop: told where it has a second round."""
        for i, item in enumerate(items):
            if i == 1:
                self.told.add((*place, None))
            yield item

    def rounded(self, place: Place, function: Callable[[Any], Any], value: Any) -> Any:
        """A number rounded, or without its sign: told where that changes it."""
        found = function(value)
        self._note(place, None, lambda: found != value)
        return found


def _in_order(part: Part) -> tuple[str, int, int, str, str]:
    """Parts in the order of their places."""
    return (*part[:4], str(part[4]))


def _line(part: Part, text: str) -> str:
    file, line, _, kind, which = part
    return f"{file}:{line}: {kind}{'' if which is None else f' {which}'}: {text}"


def _confusable(one: Any, other: Any) -> bool:
    return type(one) is not type(other) or _differ(one, other)


def _differ(one: Any, other: Any) -> bool:
    return one is not other and bool(np.any(one != other))


@cache
def _default(function: Any, name: str) -> Any:
    return inspect.signature(function).parameters[name].default
