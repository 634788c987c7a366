"""A pool of buffers for large arrays: a buffer is reused once no array refers to it.

Each training step needs buffers of the same sizes. Fresh memory from the operating system costs
more than the arithmetic of a pass over it, because its pages are cleared and mapped one by one.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tinyrt.floatmath.parallel import each_part, part_size
from tinyrt.ir import Shape

MIN_BYTES = 2**17
"""Least size of a pooled array; smaller arrays come from NumPy's allocator."""
ALIGNMENT = 64
"""Alignment of arrays in bytes: access to a vector that spans two cache lines costs twice."""
MAX_BYTES = 2**28
"""Limit on the total size of the pool; a request beyond it empties the pool."""


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
    alike = a.shape == b.shape and a.flags.c_contiguous and b.flags.c_contiguous
    shape = a.shape if alike else np.broadcast_shapes(a.shape, b.shape)
    total = empty(shape, np.result_type(a, b))
    if not alike or total.nbytes < MIN_BYTES:
        np.add(a, b, out=total)
        return total
    first, second, out = a.reshape(-1), b.reshape(-1), total.reshape(-1)
    if "numba" in sys.modules and a.dtype == b.dtype and a.dtype.kind == "f":
        from tinyrt.floatmath import activation_loops

        size = part_size(out.size, 3 * out.nbytes)
        activation_loops.add(out.size, size, first, second, out)
        return total

    def add_up(part: slice) -> None:
        np.add(first[part], second[part], out=out[part])

    each_part(out.size, 3 * out.nbytes, add_up)
    return total


def address(array: NDArray[Any]) -> int:
    """Address of the first element."""
    number: int = array.__array_interface__["data"][0]
    return number


def release() -> None:
    """Empty the pool: unused buffers are freed now, the others together with their last array."""
    with _lock:
        _pool.clear()


def _unused(nbytes: int) -> NDArray[np.uint8]:
    """A buffer that no array uses, with ``ALIGNMENT`` spare bytes to align an array."""
    buffers = _pool[nbytes]
    for i in range(len(buffers)):
        if sys.getrefcount(buffers[i]) == _REFERENCES:
            return buffers[i]
    buffer = np.empty(nbytes + ALIGNMENT, np.uint8)
    if nbytes > MAX_BYTES:
        return buffer
    if nbytes + sum(size * len(free) for size, free in _pool.items()) > MAX_BYTES:
        _pool.clear()  # buffers of these sizes may never be needed again
    _pool[nbytes].append(buffer)
    return buffer


_REFERENCES = next(sys.getrefcount(b[0]) for b in [[np.empty(0, np.uint8)]])
"""Reference count of a list element that nothing else refers to."""
