"""Loops whose parts threads share without taking turns at Python's lock.

Handing a call of a Python function to another thread takes some 25 us at best: the thread has to
wake up, and then to wait for the lock. Here, threads that have just
worked look out for more for a moment, and take parts of a compiled loop as soon as they are there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

from tinyrt.floatmath.compiled import compiled
from tinyrt.floatmath.crew_loops import ATTENDING, CELLS, MOST_PARTS, attend, call_in, places, share
from tinyrt.floatmath.parallel import helper_count

Shared = Callable[..., None]
Span = tuple[int, int, int]
"""The number of a part, its first row, and the one behind its last."""


def shared(loop: Callable[..., None]) -> Shared:
    """``run(count, size, *operands)``, which computes ``count`` rows, ``size`` at a time.

    Threads share the parts, ``loop(span, *operands)``; none may touch the results of others. If
    ``size`` does not depend on the number of threads, no bit does.

    Args:
        loop: the loop, compiled.

    Raises:
        MemoryError: by ``run``, where a part found no memory.

    """
    run = _runner(loop)

    def on_threads(count: int, size: int, *operands: Any) -> None:
        size = max(size, -(-count // MOST_PARTS), 1)
        helpers = helper_count() if count > size else 0
        failed = _crew(helpers).run(run, count, size, operands) if helpers else -1
        if failed < 0:
            failed = run(np.zeros(CELLS, np.int64), count, size, *operands)
        if failed:
            raise MemoryError(f"{failed} parts of {loop.__name__} found no memory")

    return on_threads


def _runner(loop: Callable[..., None]) -> Callable[..., int]:
    def run(board: Any, count: int, size: int, *operands: Any) -> int:
        code, kept = places(loop, operands)
        return share(board, code, kept, count, size)

    run.__module__, run.__qualname__ = loop.__module__, f"{loop.__qualname__}.shared"
    run.__name__ = f"{loop.__name__}_shared"
    return compiled(run)


class _Crew:
    """Helper threads around a board; one thread at a time has work for them."""

    def __init__(self, helpers: int) -> None:
        self.board = np.zeros(CELLS, np.int64)
        self._helpers, self._busy = helpers, Lock()
        self._calls: SimpleQueue[None] = SimpleQueue()
        for i in range(helpers):
            Thread(target=self._serve, name=f"tinyrt-crew-{i}", daemon=True).start()

    def run(self, loop: Callable[..., int], count: int, size: int, operands: Any) -> int:
        """How many parts failed; -1 where the helpers have other work."""
        if not self._busy.acquire(blocking=False):
            return -1
        try:
            if self.board[ATTENDING] < self._helpers:
                for _ in range(call_in(self.board, self._helpers)):
                    self._calls.put(None)
            return loop(self.board, count, size, *operands)
        finally:
            self._busy.release()

    def _serve(self) -> None:
        while True:
            self._calls.get()
            attend(self.board)


@cache
def _crew(helpers: int) -> _Crew:
    return _Crew(helpers)


if hasattr(os, "register_at_fork"):
    # A fork does not copy threads: the child process starts its own.
    os.register_at_fork(after_in_child=_crew.cache_clear)
