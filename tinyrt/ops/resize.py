"""resize_nearest_neighbor and resize_bilinear: images resized to another height and width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Gradient, linear_pair
from tinyrt.floatmath.products import matmul
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.move import Picks, move_op
from tinyrt.ops.shared.shapes import check_computable, operand
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    qparams,
    require_s8,
)
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.window import Pair

FRACTION_BITS = 10
"""Fraction bits of positions in the integer kernel."""


@dataclass(frozen=True, slots=True)
class ResizeAttrs:
    """TFLite's options of both ops.

    Attributes:
        size: the output's height and width.
        align_corners: whether the centres of the corner pixels of input and output coincide.
        half_pixel_centers: whether pixel centres lie at half-integer positions.
        legacy: whether int8 values are interpolated as LiteRT does on uint8: in float32, halves up.
            Files have no field for it, but an entry of their metadata.

    """

    size: Pair
    align_corners: bool = False
    half_pixel_centers: bool = False
    legacy: bool = False


def infer(attrs: ResizeAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, h, w, c) -> (n, *size, c)."""
    x = operand(inputs, 0, "input", rank=4)
    if len(attrs.size) != 2 or min(attrs.size) < 1:
        raise ShapeError(f"a size of {list(attrs.size)}", expected="a height and width from 1")
    if attrs.align_corners and attrs.half_pixel_centers:
        raise ShapeError("aligned corners with half-pixel centres", expected="one or the other")
    check_computable(x, "resizing")
    return (TensorType(x.dtype, (x.shape[0], *attrs.size, x.shape[3])),)


def _scale(attrs: ResizeAttrs, n: int, out: int) -> np.float32:
    if attrs.align_corners and out > 1:
        return np.float32(n - 1) / np.float32(out - 1)
    return np.float32(n) / np.float32(out)


def nearest_indices(attrs: ResizeAttrs, n: int, out: int) -> NDArray[np.int64]:
    """For each output index, the input index, computed in float32 as in TFLite."""
    centre = np.float32(0.5 if attrs.half_pixel_centers else 0.0)
    position = (np.arange(out, dtype=np.float32) + centre) * _scale(attrs, n, out)
    rounded = np.floor(position + np.float32(0.5 if attrs.align_corners else 0.0))
    return np.asarray(np.clip(rounded.astype(np.int64), 0, n - 1))


def nearest(attrs: ResizeAttrs, x: Array) -> Array:
    """The nearest input pixel for each output pixel."""
    rows = nearest_indices(attrs, x.shape[1], attrs.size[0])
    columns = nearest_indices(attrs, x.shape[2], attrs.size[1])
    return x[:, rows[:, None], columns[None, :]]


def nearest_picks(attrs: ResizeAttrs, shape: Shape) -> Picks:
    """Rows and columns of pixels."""
    n, h, w, c = shape
    rows = nearest_indices(attrs, h, attrs.size[0]) * (w * c)
    columns = nearest_indices(attrs, w, attrs.size[1]) * c
    return Picks(n, h * w * c, rows, columns, c)


def shares(
    attrs: ResizeAttrs, n: int, out: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each output index: the two input indices around it, and the weight of the second one."""
    position = _positions(attrs, n, out)
    lower = np.floor(position)
    first, second = _around(position, n)
    return first, second, (position - lower).astype(np.float32)


def _positions(attrs: ResizeAttrs, n: int, out: int) -> NDArray[np.float32]:
    """Where each output index lies among the inputs."""
    scale = _scale(attrs, n, out)
    if attrs.half_pixel_centers:
        half = np.float32(0.5)
        return np.asarray((np.arange(out, dtype=np.float32) + half) * scale - half)
    return np.asarray(np.arange(out, dtype=np.float32) * scale)


def _around(position: NDArray[np.float32], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two input indices around each position."""
    first = np.maximum(np.floor(position), 0).astype(np.int64)
    second = np.minimum(np.ceil(position), n - 1).astype(np.int64)
    return np.minimum(first, n - 1), np.maximum(second, 0)


def _matrix(attrs: ResizeAttrs, n: int, out: int) -> NDArray[np.float32]:
    """Interpolation matrix (out, n): the weight of each input in each output."""
    first, second, share = shares(attrs, n, out)
    weights = np.zeros((out, n), np.float32)
    np.add.at(weights, (np.arange(out), first), 1 - share)
    np.add.at(weights, (np.arange(out), second), share)
    return weights


def _interpolate(at: tuple[NDArray[np.float32], NDArray[np.float32]], x: Array) -> Array:
    rows, columns = (m.astype(x.dtype) for m in at)
    n, height, width, c = x.shape
    lines = matmul(rows, x.reshape(n, height, width * c)).reshape(n * len(rows), width, c)
    return matmul(columns, lines).reshape(n, len(rows), len(columns), c)


def _interpolate_back(at: tuple[NDArray[np.float32], NDArray[np.float32]], u: Array) -> Array:
    return _interpolate((at[0].T, at[1].T), u)


_INTERPOLATE, _INTERPOLATE_BACK = linear_pair("interpolate", _interpolate, _interpolate_back)


def _matrices(attrs: ResizeAttrs, x: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return (
        _matrix(attrs, x.shape[1], attrs.size[0]),
        _matrix(attrs, x.shape[2], attrs.size[1]),
    )


def bilinear_f32(attrs: ResizeAttrs, x: Array) -> Array:
    """Weighted mean of the four nearest input pixels."""
    return _interpolate(_matrices(attrs, x), x)


def bilinear_vjp(
    attrs: ResizeAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    """Gradient of x: each output's gradient times the weights of its four input pixels."""
    del output
    return (_INTERPOLATE_BACK(_matrices(attrs, inputs[0]), grad),)


@dataclass(frozen=True, slots=True)
class Axis:
    """For each output index along one dimension: two input indices, and their weights in 1/1024."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    first_share: NDArray[np.int64]
    second_share: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BilinearS8:
    """Precomputed constants of the integer kernel."""

    rows: Axis
    columns: Axis


def fixed_shares(attrs: ResizeAttrs, n: int, out: int) -> Axis:
    """As ``shares``, computed in the integer kernel's fixed-point arithmetic."""
    one = 1 << FRACTION_BITS
    if attrs.align_corners and out > 1:
        scale = (one * (n - 1) + (out - 1) // 2) // (out - 1)
    else:
        scale = (one * n + out // 2) // out
    position = np.arange(out, dtype=np.int64) * scale
    if attrs.half_pixel_centers:
        position = position + scale // 2 - one // 2
    # C divides towards zero; clamped at 0, that makes no difference.
    first = np.clip(position // one, 0, n - 1)
    second = np.clip(-(-position // one), 0, n - 1)
    share = position - one * first
    return Axis(first, second, one - share, share)


@dataclass(frozen=True, slots=True)
class FloatAxis:
    """As ``Axis``; the second input's weight is a float32, and the first one's what 1 lacks."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    share: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BilinearLegacyS8:
    """Precomputed constants of the kernel that computes as on uint8."""

    rows: FloatAxis
    columns: FloatAxis


def _float_shares(attrs: ResizeAttrs, n: int, out: int) -> FloatAxis:
    """As ``shares``; before the first input, its weight is above 1 and the second one's below 0."""
    position = _positions(attrs, n, out)
    first, second = _around(position, n)
    return FloatAxis(first, second, position - first.astype(np.float32))


def bilinear_prepare_s8(node: BoundNode) -> BilinearS8 | BilinearLegacyS8:
    """Positions and shares. All runtimes read integers as they are, whatever the output's scale."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    qparams(x)
    qparams(y)
    attrs = node.attrs_as(ResizeAttrs)
    sizes = list(zip(x.shape[1:3], attrs.size, strict=True))
    if attrs.legacy:
        return BilinearLegacyS8(*(_float_shares(attrs, n, m) for n, m in sizes))
    return BilinearS8(*(fixed_shares(attrs, n, m) for n, m in sizes))


def bilinear_s8(p: BilinearS8 | BilinearLegacyS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weighted mean of raw values, halves away from zero, or as on uint8."""
    if isinstance(p, BilinearLegacyS8):
        return _legacy(p, x)
    total = np.zeros((x.shape[0], len(p.rows.first), len(p.columns.first), x.shape[3]), np.int64)
    wide = x.astype(np.int64)
    for row, row_share in (
        (p.rows.first, p.rows.first_share),
        (p.rows.second, p.rows.second_share),
    ):
        for column, column_share in (
            (p.columns.first, p.columns.first_share),
            (p.columns.second, p.columns.second_share),
        ):
            pixels = wide[:, row[:, None], column[None, :]]
            total += pixels * (row_share[:, None] * column_share)[None, :, :, None]
    half = 1 << (2 * FRACTION_BITS - 1)
    rounded = np.sign(total) * ((np.abs(total) + half) >> (2 * FRACTION_BITS))
    return np.asarray(rounded, np.int8)


def _legacy(p: BilinearLegacyS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weighted mean of values 128 higher, in float32 in this order, halves up, 128 lower again."""
    values = (x.astype(np.int64) + 128).astype(np.float32)
    down, across = p.rows.share[:, None, None], p.columns.share[:, None]
    one, half = np.float32(1), np.float32(0.5)

    def share(
        row: NDArray[np.int64], by_row: Array, column: NDArray[np.int64], by_column: Array
    ) -> Array:
        return np.asarray(values[:, row[:, None], column[None, :]] * by_row * by_column)

    rows, columns = p.rows, p.columns
    total = share(rows.first, one - down, columns.first, one - across)
    total = total + share(rows.second, down, columns.first, one - across)
    total = total + share(rows.first, one - down, columns.second, across)
    total = total + share(rows.second, down, columns.second, across) + half
    return np.asarray(total.astype(np.int64) - 128, np.int8)


RESIZE_NEAREST_NEIGHBOR = move_op(
    "resize_nearest_neighbor",
    ResizeAttrs,
    infer,
    nearest,
    nearest_picks,
    Traits(channelwise=True, selects=True),
    as_stored=True,
)

RESIZE_BILINEAR = OpSpec(
    name="resize_bilinear",
    attrs=ResizeAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=bilinear_f32,
    vjp=bilinear_vjp,
    forms={Form.INT8: IntegerForm(bilinear_prepare_s8, bilinear_s8)},
    traits=Traits(channelwise=True),
)
