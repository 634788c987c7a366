"""quantize and dequantize: conversion between float and integers, and between integer types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.fixedpoint import multiply_by_quantized_multiplier
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.lut import LutS8, rescale
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import check_computable, operand
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    both_forms,
    limits_of,
    no_rows,
    qparams,
    require_s8,
)
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class QuantizeAttrs:
    """How integers or numbers are stored.

    Attributes:
        dtype: the output's element type: int8 or int16; int32 from either of these.
        legacy: whether int8 is rescaled as LiteRT does on uint8 where it joins tensors of several
            scales: in float32, halves away from zero. Files have no field for it, but an entry of
            their metadata.
        kept: whether the integers stay as they are, and stand for other numbers: TFLite's ops that
            move data copy them so between tensors of several scales.

    """

    dtype: DType = DType.INT8
    legacy: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Affine:
    """``real = scale * (q - zero_point)``; the scale is a float32."""

    scale: float
    zero_point: int
    dtype: DType = DType.INT8


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """Scales and zero point of constant weights; the scales broadcast to the weights' shape."""

    scales: NDArray[np.float32]
    zero_point: int


@dataclass(frozen=True, slots=True)
class Rescale:
    """Multiplier from one integer quantisation to another, if one of them is wider than int8.

    Attributes:
        x_zp: the input's zero point.
        mult: mantissa of ``x_scale / y_scale``.
        shift: its exponent.
        y_zp: the output's zero point.
        dtype: the output's.

    """

    x_zp: int
    mult: int
    shift: int
    y_zp: int
    dtype: DType


def quantize_array(
    x: Array, scale: np.float32, zero_point: int, dtype: DType = DType.INT8
) -> Array:
    """``clamp(round(x / scale) + zero_point)``, divided in float32, halves away from zero.

    Args:
        x: float32 of any shape; infinities saturate, NaN becomes the zero point.
        scale: step between two integers.
        zero_point: the integer that stands for 0.0.
        dtype: the result's.

    """
    low, high = limits_of(dtype)
    with np.errstate(over="ignore"):
        steps = np.asarray(np.asarray(x, np.float32) / np.float32(scale))
    # float32 holds what int8 and int16 saturate at, and not what int32 does.
    if dtype.itemsize > 2:
        steps = steps.astype(np.float64)
    # With a half itself, the number below a half would be rounded up in the sum.
    half = np.nextafter(steps.dtype.type(0.5), steps.dtype.type(0))
    rounded = np.copysign(half, steps, out=np.empty_like(steps))
    rounded += steps
    np.trunc(rounded, out=rounded)
    rounded += zero_point
    np.clip(rounded, low, high, out=rounded)
    unknown = np.isnan(rounded)
    if unknown.any():
        rounded[unknown] = zero_point
    return np.asarray(rounded, dtype.numpy)


def infer_quantize(
    attrs: QuantizeAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """float32, int8, int16 or int32 -> int8 or int16 of the same shape; uint8 from and to int8.

    int8 or int16 -> int32.
    """
    x = operand(inputs, 0, "input")
    if attrs.kept and (x.dtype is not attrs.dtype or x.dtype not in (DType.INT8, DType.INT16)):
        raise ShapeError(
            f"integers of {x} kept as {attrs.dtype.short}", expected="int8 or int16, one of them"
        )
    if x.dtype is DType.INT32 and attrs.dtype in (DType.INT8, DType.INT16):
        return (TensorType(attrs.dtype, x.shape),)
    if {x.dtype, attrs.dtype} == {DType.INT8, DType.UINT8}:
        return (TensorType(attrs.dtype, x.shape),)
    check_computable(x, "quantize")
    if attrs.dtype is DType.INT32 and x.dtype is not DType.FLOAT32:
        return (TensorType(attrs.dtype, x.shape),)
    if attrs.dtype not in (DType.INT8, DType.INT16):
        raise ShapeError(f"quantize {x} to {attrs.dtype.value}", expected="int8 or int16")
    return (TensorType(attrs.dtype, x.shape),)


def prepare_quantize(node: BoundNode) -> Affine | LutS8:
    """From float32: the output's parameters. From int8: a table of requantised values."""
    x, y = node.input(0), node.output
    scale, zp = qparams(y)
    if x.dtype is DType.FLOAT32:
        require_s8(y)
        return Affine(float(scale), zp)
    if node.attrs_as(QuantizeAttrs).legacy:
        require_s8(x, y)
        return _legacy_table(x, y)
    if node.attrs_as(QuantizeAttrs).kept:
        require_s8(x, y)
        return LutS8(np.arange(256, dtype=np.uint8).view(np.int8))
    x_scale, x_zp = qparams(x)
    mult, shift = multiplier(float(x_scale) / float(scale))
    # All inputs in the order of their bytes.
    values = np.arange(256, dtype=np.uint8).view(x.dtype.numpy).astype(np.int64)
    outputs = np.clip(rescale(values - x_zp, mult, shift) + zp, *limits_of(y.dtype))
    return LutS8(outputs.astype(y.dtype.numpy).view(np.int8), y.dtype is DType.INT8)


def _legacy_table(x: Value, y: Value) -> LutS8:
    """``round(q * s - x_zp * s) + y_zp`` in float32, ``s = x_scale * (1 / y_scale)``.

    q and zero points are 128 higher there. That is LiteRT's ``ConcatenationWithScaling``.
    """
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    multiplier(float(x_scale) / float(y_scale))
    scale = np.float32(x_scale) * (np.float32(1) / np.float32(y_scale))
    bias = np.float32(-(x_zp + 128)) * scale
    steps = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float32) + np.float32(128)
    steps = steps * scale + bias
    rounded = np.copysign(np.floor(np.abs(steps.astype(np.float64)) + 0.5), steps)
    return LutS8(np.clip(rounded + y_zp, *limits_of(DType.INT8)).astype(np.int8))


def quantize_s8(p: Affine | LutS8, x: Array) -> NDArray[np.int8]:
    """float32 or int8 -> int8."""
    if isinstance(p, LutS8):
        return p.lookup(x)
    return quantize_array(x, np.float32(p.scale), p.zero_point, p.dtype)


def prepare_quantize_s16(node: BoundNode) -> Affine | Rescale:
    """From float32: the output's parameters. Between integers: a multiplier.

    The kernel that rescales is the only one that takes an int16 input with a zero point, as
    softmax writes it.
    """
    x, y = node.input(0), node.output
    scale, zp = qparams(y)
    if x.dtype is DType.FLOAT32:
        return Affine(float(scale), zp, y.dtype)
    if node.attrs_as(QuantizeAttrs).kept:
        return Rescale(0, *multiplier(1.0), 0, y.dtype)
    x_scale, x_zp = qparams(x, shifted=True)
    return Rescale(x_zp, *multiplier(float(x_scale) / float(scale)), zp, y.dtype)


def quantize_s16(p: Affine | Rescale, x: Array) -> Array:
    """float32, int8, int16 or int32 -> int8, int16 or int32."""
    if isinstance(p, Affine):
        return quantize_array(x, np.float32(p.scale), p.zero_point, p.dtype)
    scaled = multiply_by_quantized_multiplier(x.astype(np.int64) - p.x_zp, p.mult, p.shift)
    return np.asarray(np.clip(scaled + p.y_zp, *limits_of(p.dtype)), p.dtype.numpy)


def infer_dequantize(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """int8 or int16, or weights in int4 or float16 -> float32 of the same shape."""
    del attrs
    x = operand(inputs, 0, "input")
    if x.dtype not in (DType.INT8, DType.INT16, DType.INT4, DType.FLOAT16):
        raise ShapeError(f"input is {x}", expected="dequantize takes int8, int16, int4 or float16")
    return (TensorType(DType.FLOAT32, x.shape),)


def prepare_dequantize(node: BoundNode) -> Affine | StoredWeights:
    """The input's parameters; weights may have several scales."""
    x = node.input(0)
    if x.dtype is DType.FLOAT16:
        return StoredWeights(np.ones(1, np.float32), 0)
    if x.is_constant and x.q is not None:
        shape = [len(x.q.scales) if i == x.q.axis else 1 for i in range(len(x.shape))]
        return StoredWeights(np.asarray(x.q.scales, np.float32).reshape(shape), x.q.zero_point)
    scale, zp = qparams(node.input(0))
    return Affine(float(scale), zp, node.input(0).dtype)


def dequantize_ref(p: Affine | StoredWeights, x: Array) -> NDArray[np.float32]:
    """``scale * (x - zero_point)``, rounded once."""
    if isinstance(p, Affine):
        return dequantize_array(p, x)
    return np.asarray(p.scales * (x.astype(np.float32) - np.float32(p.zero_point)))


def dequantize_array(p: Affine, x: Array) -> NDArray[np.float32]:
    """``scale * (x - zero_point)``, rounded once."""
    centred = x.astype(np.float32) - np.float32(p.zero_point)
    return np.asarray(np.float32(p.scale) * centred)


QUANTIZE = OpSpec(
    name="quantize",
    attrs=QuantizeAttrs,
    arity=(1, 1),
    infer=infer_quantize,
    quant=Quant.BOUNDARY,
    forms={
        Form.INT8: IntegerForm(prepare_quantize, quantize_s8),
        Form.INT16X8: IntegerForm(prepare_quantize_s16, quantize_s16),
    },
    rows=no_rows,
    traits=Traits(elementwise=True),
)

DEQUANTIZE = OpSpec(
    name="dequantize",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_dequantize,
    quant=Quant.BOUNDARY,
    forms=both_forms(prepare_dequantize, dequantize_ref),
    rows=no_rows,
    traits=Traits(elementwise=True),
)
