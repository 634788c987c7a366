"""Threads that work on large float arrays block by block, so that each block stays in the cache.

The split into blocks depends on the sizes alone, never on the number of threads. So results have
the same bits with one thread and with many.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, lru_cache
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

Result = TypeVar("Result")

BLOCK_BYTES = 2**18
"""Bytes of a block's operands: a part of a second-level cache."""

PART_BYTES = 2**19
"""Least bytes of a part of a pass over memory; a smaller part costs less than waking a thread."""

MAX_THREADS = 4
"""Default limit on the number of threads; never more than there are processors."""


class _Threads:
    count = min(
        MAX_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    )


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products on one thread.

    Matrices as small as these gain nothing from more, and the number of threads decides the order
    in which sums are taken, hence the last bits.
    """
    limits: AbstractContextManager[object] = _pools(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limits


@lru_cache(1)
def _pools(modules: int) -> Any:
    """The libraries that have threads.

    Looking for them takes a while, and imports bring them: so they are looked for again once there
    are more ``modules``.
    """
    from threadpoolctl import ThreadpoolController

    del modules
    return ThreadpoolController()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use ``count`` threads within a ``with`` block; applies to the whole process."""
    before, _Threads.count = _Threads.count, count
    try:
        yield
    finally:
        _Threads.count = before


def each_block(
    count: int, nbytes: int, work: Callable[[slice], Result], block_bytes: int = BLOCK_BYTES
) -> list[Result]:
    """Call ``work`` for each block of ``count`` images or rows; return its results in order.

    Args:
        count: number of images or rows.
        nbytes: bytes of all operands together.
        work: takes the slice of a block; must not touch the results of other blocks.
        block_bytes: approximate bytes of a block.

    """
    size = count if nbytes <= block_bytes else max(1, count * block_bytes // nbytes)
    return _each(count, size, work)


def _each(count: int, size: int, work: Callable[[slice], Result]) -> list[Result]:
    if size >= count:
        return [work(slice(0, count))]
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


def helper_count() -> int:
    """How many threads may work beside the calling one."""
    return _Threads.count - 1


def part_size(count: int, nbytes: int) -> int:
    """How many of ``count`` rows a part of ``each_part`` has."""
    parts = 1 if nbytes < 2 * PART_BYTES else MAX_THREADS
    while parts > 1 and nbytes < parts * PART_BYTES:
        parts //= 2
    return count if parts == 1 else max(1, count * -(-nbytes // parts) // nbytes)


def each_part(count: int, nbytes: int, work: Callable[[slice], Result]) -> list[Result]:
    """As ``each_block`` for one pass over memory: a few large parts, because no data is reused."""
    return _each(count, part_size(count, nbytes), work)


class _Job:
    """Work that a helper thread may take until the calling thread has finished its own share.

    The thread pools of the standard library are too slow: handing over one job costs more than a
    pass over a small tensor.
    """

    __slots__ = ("_claim", "_end", "_run", "error")

    def __init__(self, run: Callable[[], None]) -> None:
        self._run: Callable[[], None] | None = run
        self._claim, self._end = Lock(), Lock()
        self._end.acquire()
        self.error: BaseException | None = None

    def take(self) -> None:
        """Run the work, unless ``finish`` has called it off."""
        run = self._run
        if run is None or not self._claim.acquire(blocking=False):
            return
        try:
            run()
        except BaseException as error:
            self.error = error
        finally:
            # The arrays that ``run`` refers to must not outlive the call that asked for the work.
            del run
            self._run = None
            self._end.release()

    def finish(self) -> None:
        """Wait for a helper that runs the work; call the work off if no helper has started it."""
        if self._claim.acquire(blocking=False):
            self._run = None
        else:
            self._end.acquire()


@cache
def _helpers(count: int) -> SimpleQueue[_Job]:
    """The queue from which ``count`` helper threads take their jobs."""
    jobs: SimpleQueue[_Job] = SimpleQueue()

    def serve() -> None:
        while True:
            jobs.get().take()

    for i in range(count):
        Thread(target=serve, name=f"tinyrt-{i}", daemon=True).start()
    return jobs


if hasattr(os, "register_at_fork"):
    # A fork does not copy threads: the child process starts its own.
    os.register_at_fork(after_in_child=_helpers.cache_clear)
