"""Work on large float arrays block by block, so that each block stays in the cache, by threads.

How the work is cut depends on the sizes alone, never on the number of threads: results have the
same bits with one thread and with many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

Result = TypeVar("Result")

BLOCK_BYTES = 2**18
"""Bytes of a block's operands: a part of a second-level cache."""

PART_BYTES = 2**19
"""Least bytes of a part of a pass over memory: less takes no longer than to wake a thread."""

MAX_THREADS = 4
"""Threads unless told otherwise, where there are as many processors."""


class _Threads:
    count = min(
        MAX_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    )


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use so many threads within a ``with`` block; for the whole process."""
    before, _Threads.count = _Threads.count, count
    try:
        yield
    finally:
        _Threads.count = before


def each_block(
    count: int, nbytes: int, work: Callable[[slice], Result], block_bytes: int = BLOCK_BYTES
) -> list[Result]:
    """Do work on all of ``count`` images or rows; the results in order.

    Args:
        count: how many there are.
        nbytes: of the operands of all of them.
        work: gets the slice of a block; must touch no other block's results.
        block_bytes: of a block, about.

    """
    if nbytes <= block_bytes:
        return [work(slice(0, count))]
    size = max(1, count * block_bytes // nbytes)
    blocks = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    helpers = min(len(blocks), _Threads.count) - 1
    if helpers < 1:
        return [work(block) for block in blocks]
    results: dict[int, Result] = {}
    left = iter(range(len(blocks)))

    def drain() -> None:
        for i in left:
            results[i] = work(blocks[i])

    jobs = [_Job(drain) for _ in range(helpers)]
    for job in jobs:
        _helpers(helpers).put(job)
    try:
        drain()
    finally:
        for job in jobs:
            job.finish()
    for job in jobs:
        if job.error is not None:
            raise job.error
    return [results[i] for i in range(len(blocks))]


def each_part(count: int, nbytes: int, work: Callable[[slice], Result]) -> list[Result]:
    """As ``each_block`` for one pass over memory: a few parts, since nothing stays in the cache."""
    parts = MAX_THREADS
    while parts > 1 and nbytes < parts * PART_BYTES:
        parts //= 2
    return each_block(count, nbytes, work, -(-nbytes // parts))


class _Job:
    """Work that a helper may take until whoever asked for it has nothing left to do.

    Of the pools of the standard library, each hand-over costs more than a pass over a small tensor.
    """

    __slots__ = ("_claim", "_end", "_run", "error")

    def __init__(self, run: Callable[[], None]) -> None:
        self._run: Callable[[], None] | None = run
        self._claim, self._end = Lock(), Lock()
        self._end.acquire()
        self.error: BaseException | None = None

    def take(self) -> None:
        """Do it, unless that has been called off."""
        run = self._run
        if run is None or not self._claim.acquire(blocking=False):
            return
        try:
            run()
        except BaseException as error:
            self.error = error
        finally:
            # What it refers to must not outlive the call that asked for it.
            del run
            self._run = None
            self._end.release()

    def finish(self) -> None:
        """Wait for the helper; one that has not started by now, on a busy machine, never will."""
        if self._claim.acquire(blocking=False):
            self._run = None
        else:
            self._end.acquire()


@cache
def _helpers(count: int) -> SimpleQueue[_Job]:
    """Where that many threads wait for jobs."""
    jobs: SimpleQueue[_Job] = SimpleQueue()

    def serve() -> None:
        while True:
            jobs.get().take()

    for i in range(count):
        Thread(target=serve, name=f"tinyrt-{i}", daemon=True).start()
    return jobs


if hasattr(os, "register_at_fork"):
    # Threads do not live on in the child, which starts its own.
    os.register_at_fork(after_in_child=_helpers.cache_clear)
