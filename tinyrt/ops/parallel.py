"""Work on large float arrays block by block, so that each block stays in the cache, by threads.

How the work is cut depends on the sizes alone, never on the number of threads: results have the
same bits with one thread and with many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from typing import TypeVar

Result = TypeVar("Result")

BLOCK_BYTES = 2**18
"""Bytes of a block's operands: a part of a second-level cache."""

MOST_THREADS = 4
"""Threads unless told otherwise, where there are as many processors."""


class _Threads:
    count = min(
        MOST_THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
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
    size = max(1, count * block_bytes // max(1, nbytes))
    blocks = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    helpers = min(len(blocks), _Threads.count) - 1
    if helpers < 1:
        return [work(block) for block in blocks]
    tasks = [partial(work, block) for block in blocks]
    results: dict[int, Result] = {}
    left = iter(range(len(blocks)))

    def drain() -> None:
        for i in left:
            results[i] = tasks[i]()

    futures = [_pool(helpers).submit(drain) for _ in range(helpers)]
    try:
        drain()
    finally:
        # One that has not started by now, as on a busy machine, is not waited for.
        running = [future for future in futures if not future.cancel()]
        wait(running)
    for future in running:
        future.result()
    found = [results[i] for i in range(len(blocks))]
    # A cancelled helper stays in the pool's queue for a while: not so the arrays it refers to.
    tasks.clear()
    results.clear()
    return found


def each_part(count: int, nbytes: int, work: Callable[[slice], Result]) -> list[Result]:
    """As ``each_block`` for one pass over memory: a few parts, since nothing stays in the cache."""
    return each_block(count, nbytes, work, max(BLOCK_BYTES, -(-nbytes // MOST_THREADS)))


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="tinyrt")
