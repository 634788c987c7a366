"""Memory for large results, used again once nobody refers to it.

Each step of training asks for the same sizes. From the operating system, fresh memory costs more
than the arithmetic of a pass over it: its pages are cleared and mapped one by one.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tinyrt.ir import Shape

MIN_BYTES = 2**17
"""Smaller arrays come from the allocator's own stock."""
ALIGNMENT = 64
"""Of a buffer's address, in bytes: a vector that lies in two lines of the cache costs twice."""
MAX_BYTES = 2**28
"""Of all buffers kept; beyond, all are let go of."""


_lock = Lock()
_pool: defaultdict[int, list[NDArray[np.uint8]]] = defaultdict(list)
"""Buffers by their size."""


def empty(shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
    """As ``numpy.empty``; the result may be a view of a buffer that was in use before."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    if nbytes < MIN_BYTES:
        return np.empty(shape, dtype)
    with _lock:
        buffer = _unused(nbytes)
        return np.ndarray(shape, dtype, buffer, -buffer.ctypes.data % ALIGNMENT)


def add(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """As ``a + b``."""
    shape = a.shape if a.shape == b.shape else np.broadcast_shapes(a.shape, b.shape)
    total: NDArray[Any] = np.add(a, b, out=empty(shape, np.result_type(a, b)))
    return total


def address(array: NDArray[Any]) -> int:
    """Of the first element."""
    number: int = array.__array_interface__["data"][0]
    return number


def release() -> None:
    """Keep nothing: what no array is a view of is freed now, the rest with its arrays."""
    with _lock:
        _pool.clear()


def _unused(nbytes: int) -> NDArray[np.uint8]:
    """A buffer that no array is a view of, with room to align one."""
    buffers = _pool[nbytes]
    for i in range(len(buffers)):
        if sys.getrefcount(buffers[i]) == _REFERENCES:
            return buffers[i]
    buffer = np.empty(nbytes + ALIGNMENT, np.uint8)
    if nbytes > MAX_BYTES:
        return buffer
    if nbytes + sum(size * len(free) for size, free in _pool.items()) > MAX_BYTES:
        _pool.clear()  # of sizes that may never be asked for again
    _pool[nbytes].append(buffer)
    return buffer


_REFERENCES = next(sys.getrefcount(b[0]) for b in [[np.empty(0, np.uint8)]])
"""That an element of a list has while nothing else refers to it."""
