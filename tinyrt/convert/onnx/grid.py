"""ONNX's quantised tensors on import: real values together with their grid.

The graph being built computes with real numbers. A quantised activation is a real value and the
grid that it lies on. A quantised constant is an array of real values that remembers its grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, QParams, Shape, Value

OFFSETS = {"int8": 0, "uint8": 128, "int16": 0, "uint16": 32768}
"""ONNX's element types of quantised tensors -> what their values exceed the signed ones' by."""

SIGNED = {"int8": DType.INT8, "uint8": DType.INT8, "int16": DType.INT16, "uint16": DType.INT16}
"""ONNX's element types of quantised activations -> what they become."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """``real = scale * (q - zero_point)``, the integers q of an ONNX element type.

    Attributes:
        scale: float32, one per tensor, or one per slice along ``axis``.
        zero_point: as many integers.
        dtype: the element type, by NumPy's name.
        axis: the dimension with scales of its own, None for one scale in all.

    """

    scale: NDArray[np.float32]
    zero_point: NDArray[Any]
    dtype: str
    axis: int | None = None

    def equals(self, other: Grid) -> bool:
        """Whether both give the same integers the same meaning."""
        return (
            (self.dtype, self.axis) == (other.dtype, other.axis)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    def along(self, rank: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Scale and zero point in shapes that broadcast to a tensor of that rank."""
        if self.axis is None:
            return self.scale.reshape(()), self.zero_point.reshape(())
        shape = [-1 if i == self.axis else 1 for i in range(rank)]
        return self.scale.reshape(shape), self.zero_point.reshape(shape)

    def params(self) -> QParams | None:
        """The same in signed integers, None where a zero point or a scale has no such form."""
        zero_points = self.zero_point.astype(np.int64) - OFFSETS.get(self.dtype, 0)
        scales = tuple(float(s) for s in self.scale.reshape(-1))
        if len(set(zero_points.reshape(-1).tolist())) != 1 or not min(scales) > 0:
            return None
        axis = self.axis if len(scales) > 1 else None
        return QParams(scales, int(zero_points.reshape(-1)[0]), axis)


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """An activation of integers: the real value that they stand for, and its grid.

    Of an input of the model the grid is its element type, until the first op that reads it
    defines it.
    """

    value: Value
    grid: Grid | str

    @property
    def dtype(self) -> str:
        """The integers' element type."""
        return self.grid if isinstance(self.grid, str) else self.grid.dtype

    @property
    def shape(self) -> Shape:
        """The activation's shape."""
        return self.value.shape


class Dequantized(np.ndarray):
    """Real values that lie on a grid; results computed from them do not."""

    grid: Grid | None

    @classmethod
    def of(cls, real: NDArray[Any], grid: Grid) -> Dequantized:
        """The array, with its grid noted."""
        result = np.ascontiguousarray(real).view(cls)
        result.grid = grid
        return result

    def __array_finalize__(self, source: object) -> None:
        """Views and results have no grid, until one is noted."""
        self.grid = None


def grid_of(array: NDArray[Any]) -> Grid | None:
    """The grid that a constant lies on, None where it lies on none."""
    return getattr(array, "grid", None)


def with_grid(array: NDArray[Any], grid: Grid | None) -> NDArray[Any]:
    """The array, on that grid if there is one."""
    return array if grid is None else Dequantized.of(array, grid)


def turned(array: NDArray[Any], perm: Sequence[int]) -> NDArray[Any]:
    """A constant with permuted dimensions, on the grid that it lies on."""
    grid = grid_of(array)
    if grid is not None and grid.axis is not None:
        grid = replace(grid, axis=list(perm).index(grid.axis))
    return with_grid(np.asarray(array).transpose(perm), grid)


def weight_params(array: NDArray[Any], channels: int, axis: int) -> QParams | None:
    """Parameters of weights whose output channels are along ``channels``, and then along ``axis``.

    Steps are counted from zero points, so that there are none; they may be more than int8 holds.
    None where the weights lie on no grid, or have scales along another dimension.
    """
    grid = grid_of(array)
    if grid is None:
        return None
    scales = tuple(float(s) for s in grid.scale.reshape(-1))
    own = grid.axis if len(scales) > 1 else None
    if own not in (None, channels):
        return None
    return QParams(scales, 0, axis if own is not None else None)


def tensor_params(array: NDArray[Any]) -> QParams | None:
    """Parameters of a constant that has one scale; None for any other."""
    grid = grid_of(array)
    q = grid.params() if grid is not None else None
    return q if q is not None and q.axis is None else None


def _is_same(a: Grid | str, b: Grid | str) -> bool:
    """Whether two activations are of the same integers."""
    return a.equals(b) if isinstance(a, Grid) and isinstance(b, Grid) else a == b


def moved_grid(op: str, operands: Sequence[Quantized]) -> Grid | str:
    """The grid that all operands of an op that moves data are on.

    Raises:
        UnsupportedError: they are on different ones.

    """
    first = operands[0].grid
    for other in operands[1:]:
        if not _is_same(first, other.grid):
            raise UnsupportedError(
                f"{op} joins integers of different scales",
                tensor=other.value.describe(),
                expected="one scale and zero point",
                hint="quantise the model in QDQ form",
            )
    return first


def checked_scale(scale: NDArray[Any]) -> NDArray[np.float32]:
    """The scale as float32.

    Raises:
        ModelFormatError: one of its elements is no positive number.

    """
    scales = np.asarray(scale, np.float32)
    if scales.size == 0 or not np.all(np.isfinite(scales) & (scales > 0)):
        raise ModelFormatError(
            f"the scale is {scales.reshape(-1)[:4].tolist()}",
            expected="positive numbers",
            hint="quantise the model again",
        )
    return scales
