"""The contents of an arena's bytes, stored as runs: bytes of one sequence take one entry."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Content(NamedTuple):
    """The contents of a run of bytes: the byte at ``at`` holds the number ``first + step * at``.

    Bytes of tensors are numbered one by one (``step`` is 1). Padding, scratch memory and bytes that
    were never written hold the same number throughout (``step`` is 0).
    """

    first: int
    step: int = 1

    def moved(self, distance: int) -> Content:
        """The contents for the same numbers, once they lie ``distance`` bytes further on."""
        return Content(self.first - distance * self.step, self.step)


class Run(NamedTuple):
    """Bytes [start, stop) and their contents."""

    start: int
    stop: int
    content: Content


Runs = tuple[Run, ...]


class Contents:
    """A map from bytes to their contents, with one entry per run."""

    def __init__(self, nbytes: int, content: Content) -> None:
        self.nbytes = nbytes
        self._starts = [0]
        self._values = [content]

    def write(self, start: int, stop: int, content: Content) -> None:
        """Set the contents of bytes [start, stop)."""
        if start >= stop:
            return
        starts, values = self._starts, self._values
        first, last = bisect_left(starts, start), bisect_left(starts, stop)
        new_starts, new = [], []
        if first == 0 or values[first - 1] != content:
            new_starts.append(start)
            new.append(content)
        behind = values[last - 1]
        if last < len(starts) and starts[last] == stop:
            last += values[last] == content
        elif stop < self.nbytes and behind != content:
            new_starts.append(stop)
            new.append(behind)
        starts[first:last] = new_starts
        values[first:last] = new

    def is_all(self, start: int, stop: int, content: Content) -> bool:
        """Whether bytes [start, stop) hold exactly these contents."""
        if start >= stop:
            return True
        i = bisect_right(self._starts, start) - 1
        next_start = self._starts[i + 1] if i + 1 < len(self._starts) else self.nbytes
        return self._values[i] == content and next_start >= stop

    def runs(self, start: int, stop: int) -> Iterator[Run]:
        """The runs of bytes [start, stop), from the first to the last."""
        i = bisect_right(self._starts, start) - 1
        while start < stop:
            i += 1
            end = min(self._starts[i] if i < len(self._starts) else stop, stop)
            yield Run(start, end, self._values[i - 1])
            start = end


def part(runs: Iterable[Run], start: int, stop: int, to: int = 0) -> Iterator[Run]:
    """The runs of bytes [start, stop), moved so that they begin at byte ``to``."""
    for run in runs:
        low, high = max(run.start, start), min(run.stop, stop)
        if low < high:
            distance = to - start
            yield Run(low + distance, high + distance, run.content.moved(distance))


def joined(runs: Iterable[Run]) -> Iterator[Run]:
    """The same runs, at least one, with neighbours that continue one sequence joined into one."""
    others = iter(runs)
    last = next(others)
    for run in others:
        if last.content == run.content and last.stop == run.start:
            last = Run(last.start, run.stop, run.content)
            continue
        yield last
        last = run
    yield last
