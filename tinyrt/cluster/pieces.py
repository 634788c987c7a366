"""Work that is cut into pieces: who does them, and their results in the pieces' order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tinyrt.cluster.tasks import Failure, Task
from tinyrt.cluster.workers import Workers
from tinyrt.errors import TinyrtError, ToolError

AHEAD = 2
"""Pieces for each worker that are under way or wait for an earlier one, at most: memory holds so
many."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does pieces of work.

    Attributes:
        workers: processes on this machine; None for one to each processor.
        scheduler: the address of a Dask scheduler in place of these, ``tcp://host:8786``; or a
            ``distributed.Client`` of one.

    """

    workers: int | None = None
    scheduler: Any = None

    @classmethod
    def of(cls, workers: int | None, scheduler: Any) -> Crew | None:
        """Who is asked for; None for this process alone, which one worker is."""
        if scheduler is None and workers == 1:
            return None
        return cls(None if workers == 1 else workers, scheduler)


class Pieces:
    """Pieces of one work, begun in their order, as many at a time as there are workers for.

    Args:
        workers: who does them.
        tasks: the pieces; asked for as they are begun.

    """

    def __init__(self, workers: Workers, tasks: Iterable[Task]) -> None:
        self._workers, self._tasks = workers, iter(tasks)
        self._under_way: set[Hashable] = set()
        self._done: dict[Hashable, Any] = {}
        self._begun = self._told = 0

    def begin(self) -> None:
        """Keep all workers busy."""
        slots = self._workers.slots
        while len(self._under_way) < slots and self._begun - self._told < AHEAD * slots:
            task = next(self._tasks, None)
            if task is None:
                return
            self._workers.begin(self._begun, task)
            self._under_way.add(self._begun)
            self._begun += 1

    def results(self) -> Iterator[Any]:
        """What came of each piece, in their order.

        Raises:
            TinyrtError: what a piece raised, as it would be raised without workers.
            ToolError: a piece came to nothing otherwise.

        """
        self.begin()
        while self._told < self._begun:
            while self._told not in self._done:
                number, result = self._workers.finished()
                self._under_way.remove(number)
                self._done[number] = result
                self.begin()
            result = self._done.pop(self._told)
            self._told += 1
            if isinstance(result, Failure):
                raise _raised(result)
            self.begin()
            yield result


def evenly(count: int, pieces: int) -> list[range]:
    """``count`` things in so many pieces, or fewer, whose sizes differ by one at most."""
    number = max(1, min(count, pieces))
    edges = [count * i // number for i in range(number + 1)]
    return [range(a, b) for a, b in pairwise(edges)]


def _raised(failure: Failure) -> TinyrtError:
    if failure.error is not None and not isinstance(failure.error, ToolError):
        return failure.error
    return ToolError(
        f"samples were not run by {failure.worker or 'this machine'}: {failure.reason}",
        expected="a run of every sample",
        hint="leave out --workers and --scheduler, to see whether it fails here",
    )
