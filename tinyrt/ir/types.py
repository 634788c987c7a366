"""Dtypes, shapes and quantisation parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

Shape = tuple[int, ...]


class DType(Enum):
    """Element type of a tensor; the value is NumPy's name for it."""

    FLOAT32 = "float32"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype."""
        return np.dtype(self.value)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.numpy.itemsize

    @property
    def short(self) -> str:
        """The name used in dumps and messages: f32, s8, u8, s32, ..."""
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

    """

    scales: tuple[float, ...]
    zero_point: int = 0
    axis: int | None = None

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
    """What shape inference speaks of: an element type and a shape."""

    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype.short}[{','.join(map(str, self.shape))}]"
