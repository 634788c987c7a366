"""Dtypes, shapes and quantisation parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]


class DType(Enum):
    """Element type of a tensor; the value is NumPy's name for it where NumPy has it.

    INT4 and FLOAT16 are forms in which weights are stored. In memory an int4 array is one of int8
    with values in [-8, 7]; in a file two share a byte.
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"

    @cached_property
    def numpy(self) -> np.dtype:
        """The NumPy dtype of its arrays."""
        return np.dtype("int8" if self is DType.INT4 else self.value)

    @property
    def itemsize(self) -> int:
        """Bytes per element of its arrays."""
        return self.numpy.itemsize

    def nbytes(self, elements: int) -> int:
        """Bytes of ``elements`` elements in a file or in a device's memory."""
        return (elements + 1) // 2 if self is DType.INT4 else elements * self.itemsize

    @property
    def short(self) -> str:
        """The name used in dumps and messages: f32, s4, s8, u8, s32, ..."""
        if self is DType.INT4:
            return "s4"
        kind = {"f": "f", "i": "s", "u": "u", "b": "b"}[self.numpy.kind]
        return f"{kind}{self.itemsize * 8}"

    @classmethod
    def of(cls, dtype: np.dtype | type) -> DType:
        """The DType of a NumPy dtype.

        Raises:
            ValueError: tinyrt has no such element type.

        """
        return cls(np.dtype(dtype).name)


@dataclass(frozen=True, slots=True)
class QParams:
    """Affine quantisation: ``real = scale * (q - zero_point)``.

    Attributes:
        scales: one per tensor, or one per slice along ``axis``.
        zero_point: shared by all slices (per-channel weights have 0).
        axis: the quantised dimension of a per-channel tensor, else None.
        product_f32: whether the product of these weights' scale and the input's is rounded to
            float32 before the output's scale divides it, as for weights that were uint8. Of slopes
            of prelu: whether all of this is in float32.

    """

    scales: tuple[float, ...]
    zero_point: int = 0
    axis: int | None = None
    product_f32: bool = False

    def __post_init__(self) -> None:
        if not self.scales:
            raise ValueError("quantisation needs at least one scale")
        if not all(math.isfinite(s) and s > 0 for s in self.scales):
            bad = next(s for s in self.scales if not (math.isfinite(s) and s > 0))
            raise ValueError(f"scales must be finite and > 0, found {bad}")
        if self.axis is None and len(self.scales) != 1:
            raise ValueError(f"{len(self.scales)} scales, but no axis that they belong to")

    @property
    def scale(self) -> float:
        """The one scale of a per-tensor quantisation.

        Raises:
            ValueError: there is one scale per channel.

        """
        if len(self.scales) != 1:
            raise ValueError(f"per-channel quantisation has {len(self.scales)} scales")
        return self.scales[0]


@dataclass(frozen=True, slots=True)
class TensorType:
    """An element type and a shape, as shape inference takes and returns them."""

    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype.short}[{','.join(map(str, self.shape))}]"


def pack_int4(data: NDArray[np.int8]) -> NDArray[np.uint8]:
    """int4 values as files hold them, flattened: two to a byte, the first in the low nibble."""
    nibbles = data.reshape(-1).astype(np.uint8) & 0xF
    if len(nibbles) % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    return np.asarray(nibbles[::2] | (nibbles[1::2] << 4))


def unpack_int4(packed: NDArray[np.uint8], count: int) -> NDArray[np.int8]:
    """The first ``count`` values of bytes from ``pack_int4``."""
    values = np.empty(2 * packed.size, np.int8)
    signed = packed.view(np.int8)
    low = values[::2]
    np.left_shift(signed, 4, out=low)
    low >>= 4
    np.right_shift(signed, 4, out=values[1::2])
    return values[:count]
