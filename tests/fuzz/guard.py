"""Memory with a page beside it that may not be touched: a compiled kernel that does, dies.

While ``guarded`` lasts, the arena, inputs, packed weights and scratch memory of interpreters end
(or begin) at such a page. ``with_guarded_constants`` does the same to a graph's constants, which
may then not be written either.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tinyrt.backends.numba import workspace
from tinyrt.budget import Budget
from tinyrt.ir import Graph

PAGE = mmap.PAGESIZE
NONE, READ = 0, 1
"""What ``mprotect`` may leave allowed."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def array(nbytes: int, *, behind: bool, alignment: int = 1) -> np.ndarray:
    """Zeroed bytes beside a page that may not be touched.

    Args:
        nbytes: how many.
        behind: whether that page lies behind them, else it lies before them.
        alignment: what their address is a multiple of; behind them, a gap of less than that is
            left.

    """
    if nbytes == 0:
        return np.zeros(0, np.uint8)
    pages = -(-nbytes // PAGE) * PAGE
    area = mmap.mmap(-1, pages + PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(area))
    _protect(base + pages if behind else base, PAGE, NONE)
    start = (pages - nbytes) // alignment * alignment if behind else PAGE
    return np.frombuffer(area, np.uint8)[start : start + nbytes]


def _protect(address: int, nbytes: int, allowed: int) -> None:
    if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(nbytes), allowed):
        raise OSError(ctypes.get_errno(), "mprotect")


@contextmanager
def guarded(behind: bool) -> Iterator[None]:
    """Have interpreters that are made inside work in guarded memory."""
    before = Budget.zeros, workspace.aligned

    def zeros(budget: Budget, nbytes: int, what: str) -> np.ndarray:
        budget.reserve(nbytes, what)
        return array(nbytes, behind=behind, alignment=16)

    Budget.zeros = zeros
    workspace.aligned = lambda nbytes: array(nbytes, behind=behind, alignment=workspace.ALIGNMENT)
    try:
        yield
    finally:
        Budget.zeros, workspace.aligned = before


def with_guarded_constants(graph: Graph, behind: bool) -> Graph:
    """The same graph, its constants in guarded memory that may only be read."""
    values = {
        name: value if value.data is None else replace(value, data=_copied(value.data, behind))
        for name, value in graph.values.items()
    }
    return replace(graph, values=values)


def _copied(data: np.ndarray, behind: bool) -> np.ndarray:
    memory = array(data.nbytes, behind=behind, alignment=data.itemsize)
    copy = memory.view(data.dtype).reshape(data.shape)
    copy[...] = data
    copy.flags.writeable = False
    if data.nbytes:
        start = memory.ctypes.data // PAGE * PAGE
        end = memory.ctypes.data + data.nbytes
        _protect(start, -(-(end - start) // PAGE) * PAGE, READ)
    return copy
