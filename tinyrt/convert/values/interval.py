"""The bounds of a tensor, channel by channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Shape, Value
from tinyrt.ops.shared.spec import limits_of

Array = NDArray[Any]

FLOATS = (DType.FLOAT32, DType.FLOAT16)

UNBOUNDED = (*FLOATS, DType.UINT64)
"""Dtypes whose elements an int64 does not hold."""


def channels_of(shape: Shape) -> int:
    """How many channels a tensor has: its last dimension."""
    return shape[-1] if shape else 1


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The least and greatest element of each channel; the last dimension counts channels.

    Attributes:
        low: (channels,): int64 for stored integers and truth values, float64 for floats.
        high: likewise, nowhere below ``low``.

    """

    low: Array
    high: Array

    @classmethod
    def whole(cls, value: Value) -> Bounds:
        """The bounds of a tensor about which nothing but its dtype is known."""
        count = channels_of(value.shape)
        if value.dtype in UNBOUNDED:
            return cls(np.full(count, -np.inf), np.full(count, np.inf))
        low, high = (0, 1) if value.dtype is DType.BOOL else limits_of(value.dtype)
        return cls(np.full(count, low, np.int64), np.full(count, high, np.int64))

    @classmethod
    def around(cls, *arrays: Array) -> Bounds:
        """The bounds of the elements of arrays with the same channels; NaN may be any number."""
        rows = [a.reshape(-1, channels_of(a.shape)) for a in arrays]
        low = np.min([r.min(axis=0) for r in rows], axis=0)
        high = np.max([r.max(axis=0) for r in rows], axis=0)
        if low.dtype == np.uint64:
            return cls(np.full(low.shape, -np.inf), np.full(high.shape, np.inf))
        if low.dtype.kind != "f":
            return cls(low.astype(np.int64), high.astype(np.int64))
        unknown = np.isnan(low) | np.isnan(high)
        low, high = low.astype(np.float64), high.astype(np.float64)
        return cls(np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high))

    def within(self, other: Bounds) -> Bounds:
        """These bounds, nowhere wider than the others."""
        return Bounds(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    @property
    def constant(self) -> NDArray[np.bool_]:
        """The channels whose elements are all the same number."""
        return np.asarray(self.low == self.high)

    def ends(self, value: Value) -> tuple[Array, Array]:
        """Two tensors in the value's shape and dtype: of the least and of the greatest elements."""
        low, high = (
            np.broadcast_to(end.astype(value.dtype.numpy), value.shape or (1,)).reshape(value.shape)
            for end in (self.low, self.high)
        )
        return low, high
