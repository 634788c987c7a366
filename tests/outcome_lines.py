"""Which lines of the package ran while a function was called that ran for too few others."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import tinyrt

Line: TypeAlias = tuple[CodeType, int]

PACKAGE = str(Path(tinyrt.__file__).parent) + "/"

ENOUGH = 2
"""Outcomes that each line is to run for."""

PATIENCE = 40
"""Calls without a new line after which not each call is looked at, but one of ``SELDOM``."""
SELDOM = 16
MOST_LINES = 3000
"""Lines that one function is followed for, in one outcome."""
MOST_CALLS = 200_000
"""Calls of functions of any kind that one outcome is followed for."""


class Lines:
    """Counts the outcomes that each line has run for."""

    def __init__(self) -> None:
        self.held: Counter[Line] = Counter()
        self._wanted: dict[CodeType, set[int]] = {}
        self._idle: Counter[object] = Counter()
        self._now: dict[CodeType, set[int]] = {}
        self._events: Counter[CodeType] = Counter()
        self._calls = 0

    def is_dull(self, what: object) -> bool:
        """Whether so many calls of this kind had no new line that this one may be left out."""
        self._idle[what] += 1
        return self._idle[what] > PATIENCE and self._idle[what] % SELDOM != 0

    @contextmanager
    def noted(self) -> Iterator[Callable[[], frozenset[Line]]]:
        """Note the lines that run inside, of those that have run for too few outcomes."""
        now = self._now = defaultdict(set)
        self._events.clear()
        self._calls = 0
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield lambda: frozenset((code, line) for code, all_ in now.items() for line in all_)
        finally:
            sys.settrace(before)

    def hold(self, lines: Set[Line], what: object) -> None:
        """Count an outcome of this kind that is written down."""
        self._idle[what] = 0
        self.held.update(lines)
        for code, line in lines:
            self._idle[code] = 0
            if self.held[code, line] >= ENOUGH:
                self._wanted[code].discard(line)

    def _called(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        code = frame.f_code
        self._calls += 1
        if self._calls > MOST_CALLS:
            sys.settrace(None)
            return None
        wanted = self._wanted.get(code)
        if wanted is None:
            wanted = self._wanted[code] = _lines_of(code)
        if not wanted or self.is_dull(code):
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        code = frame.f_code
        if event == "line" and frame.f_lineno in self._wanted[code]:
            self._now[code].add(frame.f_lineno)
        self._events[code] += 1
        if self._events[code] > MOST_LINES:
            frame.f_trace_lines = False
        return self._line


def _lines_of(code: CodeType) -> set[int]:
    """The lines of a function; none where it is not of the package."""
    if not code.co_filename.startswith(PACKAGE):
        return set()
    return {line for _, _, line in code.co_lines() if line is not None}
