"""What kernels need besides tensors: packed constants and scratch memory, all before invoking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.lanes import SLACK
from tinyrt.backends.numba.abi import address
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Value
from tinyrt.ops.shared.constants import stored_data

ALIGNMENT = 64
MAX_SCRATCH = 1 << 30
"""Bytes: offsets into scratch memory are int32."""


class Workspace:
    """Hands out addresses and keeps their arrays alive.

    Attributes:
        packed_bytes: bytes of constants that were copied into another order.

    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._tensors = tensors
        self._alive: list[NDArray[Any]] = []
        self._scratch_bytes = 0
        self.packed_bytes = 0

    def tensor(self, value: Value) -> int:
        """The address of a tensor: in the arena, or in the model file."""
        array = self._tensors[value.name]
        if not array.flags.c_contiguous or array.ctypes.data % array.itemsize:
            return self.pack(array)
        return address(array)

    def pack(self, array: NDArray[Any]) -> int:
        """The address of an aligned copy in row-major order."""
        copy = aligned(array.nbytes)
        copy.view(array.dtype).reshape(array.shape)[...] = array
        self._alive.append(copy)
        self.packed_bytes += array.nbytes
        return address(copy)

    def weights(self, node: BoundNode) -> NDArray[np.int8]:
        """Input 1, which the model must hold.

        Raises:
            UnsupportedError: it is computed while the model runs.

        """
        return stored_data(node.input(1))

    def bias(self, node: BoundNode) -> NDArray[np.int32] | None:
        """Input 2 where there is one, which the model must hold; raises as ``weights``."""
        value = node.optional(2)
        return None if value is None else stored_data(value)

    def need_scratch(self, nbytes: int) -> None:
        """Request that many bytes of scratch memory; all ops share it.

        Raises:
            UnsupportedError: it is more than offsets can reach.

        """
        if nbytes > MAX_SCRATCH:
            raise UnsupportedError(
                f"an op needs {nbytes:,} bytes of scratch memory",
                expected=f"at most {MAX_SCRATCH:,}",
                hint="choose backend 'reference'",
            )
        self._scratch_bytes = max(self._scratch_bytes, nbytes + SLACK)

    def scratch(self) -> int:
        """The address of the scratch memory, once every op has asked."""
        buffer = aligned(self._scratch_bytes)
        self._alive.append(buffer)
        return address(buffer)


def aligned(nbytes: int) -> NDArray[np.uint8]:
    """Zeroed bytes at an address that is a multiple of ``ALIGNMENT``."""
    raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -address(raw) % ALIGNMENT
    return raw[start : start + nbytes]
