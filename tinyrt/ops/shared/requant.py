"""Requantisation constants of ops with weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import VerifyError
from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    multiply_by_reduced_multiplier,
    quantize_multiplier,
    reduced_multiplier,
    wrap_int32,
)
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.shared.activation import act_range, fused_activation
from tinyrt.ops.shared.spec import Array, qparams, require_alike, require_s8

MIN_RIGHT = 8
"""Least right shift after the multiplication of an int64 accumulator; TFLite's own limit."""


def multiplier(real: float, most: float = 2.0**30) -> tuple[int, int]:
    """Mantissa and exponent of a ratio of scales.

    Args:
        real: the ratio, positive.
        most: exclusive upper bound of the ratio. From ``2**30`` on, every accumulator overflows and
            the shift exceeds the 31 bits that kernels take.

    Raises:
        VerifyError: the ratio is too large, or no number.

    """
    if not 0 <= real < most:
        raise VerifyError(
            f"scales of inputs and output differ by a factor of {real:.6g}",
            expected=f"below {most:.6g}",
            hint="quantise again: a scale in this model cannot be right",
        )
    return quantize_multiplier(real)


@dataclass(frozen=True, slots=True)
class Requant:
    """Requantisation of int32 accumulators to int8 or int16 outputs.

    Attributes:
        mult: mantissas, one per output channel.
        shift: exponents, one per output channel.
        y_zp: the output's zero point.
        act_min: least output.
        act_max: greatest output.
        dtype: the output's.

    """

    mult: NDArray[np.int32]
    shift: NDArray[np.int32]
    y_zp: int
    act_min: int
    act_max: int
    dtype: DType = DType.INT8

    def apply(self, acc: Array) -> Array:
        """``acc`` (..., channels), exact integers, to outputs of the same shape."""
        scaled = multiply_by_quantized_multiplier(acc, self.mult, self.shift)
        return np.clip(scaled + self.y_zp, self.act_min, self.act_max).astype(self.dtype.numpy)


@dataclass(frozen=True, slots=True)
class Steps:
    """Requantisation of int32 accumulators to int8 by where the output goes up.

    Attributes:
        last: for each output but the greatest, the last accumulator that gives it or less;
            ascending.
        act_min: least output.
        act_max: greatest output.

    """

    last: NDArray[np.int32]
    act_min: int
    act_max: int

    def apply(self, acc: Array) -> Array:
        """``acc``, whole numbers modulo 2**32, to outputs of the same shape."""
        above = np.searchsorted(self.last, wrap_int32(acc), side="left")
        return np.asarray(above + self.act_min, np.int8)


@dataclass(frozen=True, slots=True)
class WideRequant:
    """Requantisation of int64 accumulators to int16 outputs with zero point 0.

    Attributes:
        mult: mantissas of 15 bits, one per output channel.
        right: right shifts, one per output channel, 8 to 46.
        act_min: least int16 output.
        act_max: greatest int16 output.

    """

    mult: NDArray[np.int32]
    right: NDArray[np.int32]
    act_min: int
    act_max: int

    def apply(self, acc: Array) -> NDArray[np.int16]:
        """``acc`` (..., channels), exact integers, to int16 of the same shape."""
        scaled = multiply_by_reduced_multiplier(acc, self.mult, self.right)
        return np.clip(scaled, self.act_min, self.act_max).astype(np.int16)


def weight_scales(weights: Value, axis: int, channels: int) -> NDArray[np.float32]:
    """One float32 scale per output channel.

    Raises:
        VerifyError: weights are not int8 or int4 with zero point 0, or scales do not match the
            channels.

    """
    q = weights.q
    # Of 16 bits are those that the C kernels take whole; files have none, as ``infer`` sees to.
    if q is None or weights.dtype not in (DType.INT8, DType.INT4, DType.INT16):
        raise VerifyError(
            "weights are not quantised",
            tensor=weights.describe(),
            expected="int8 or int4 with scales",
        )
    if q.zero_point != 0:
        raise VerifyError(
            f"weights have zero point {q.zero_point}", tensor=weights.describe(), expected="0"
        )
    if q.axis is not None and (q.axis != axis or len(q.scales) != channels):
        raise VerifyError(
            f"{len(q.scales)} scales along axis {q.axis}",
            tensor=weights.describe(),
            expected=f"one scale, or {channels} along axis {axis}",
        )
    return np.broadcast_to(np.asarray(q.scales, np.float32), (channels,))


def channel_multipliers(
    x: Value, weights: Value, axis: int, y: Value
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Mantissas and exponents of ``x_scale * w_scale[c] / y_scale``, as TFLite computes them.

    That is in float64, but for weights that were uint8: there the product is a float32.

    Args:
        x: the op's input.
        weights: its weights, whose scales are one or along ``axis``.
        axis: the weights' axis of output channels.
        y: the op's output.

    Raises:
        VerifyError: dtypes or scales are not those of the int8 scheme.

    """
    scales = weight_scales(weights, axis=axis, channels=weights.shape[axis])
    x_scale, _ = qparams(x)
    y_scale, _ = qparams(y)
    products = np.float64(x_scale) * scales.astype(np.float64)
    if weights.q is not None and weights.q.product_f32:
        products = products.astype(np.float32).astype(np.float64)
    return multipliers(products / np.float64(y_scale))


def multipliers(real: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Mantissas and exponents of ratios of scales, one per channel."""
    pairs = [multiplier(float(r)) for r in real]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int32)


def weighted_requant(node: BoundNode, channel_axis: int) -> Requant:
    """Multipliers and clamp of an int8 op with weights (input 1).

    Args:
        node: the op; its attributes name a fused activation.
        channel_axis: the weights' axis of output channels.

    Raises:
        VerifyError: dtypes or scales are not those of the int8 scheme.

    """
    return node.noted_of_constants("requant", partial(_weighted_requant, node, channel_axis))


def _weighted_requant(node: BoundNode, channel_axis: int) -> Requant:
    x, w, y = node.input(0), node.input(1), node.output
    require_s8(x, y)
    mult, shift = channel_multipliers(x, w, channel_axis, y)
    act_min, act_max = act_range(fused_activation(node), y)
    return Requant(mult, shift, qparams(y)[1], act_min, act_max)


def legacy_steps(node: BoundNode, channel_axis: int) -> Steps:
    """Steps and clamp of an op with weights that rounds as LiteRT does on uint8.

    That is ``round(acc * (x_scale * w_scale / y_scale))`` in float64, halves away from zero.

    Args:
        node: the op; its attributes name a fused activation.
        channel_axis: the weights' axis of output channels, which have one scale.

    Raises:
        VerifyError: dtypes or scales are not those of the int8 scheme, or differ by channel.

    """
    return node.noted_of_constants("steps", partial(_legacy_steps, node, channel_axis))


def _legacy_steps(node: BoundNode, channel_axis: int) -> Steps:
    x, w, y = node.input(0), node.input(1), node.output
    require_s8(x, y)
    scales = weight_scales(w, axis=channel_axis, channels=w.shape[channel_axis])
    if np.any(scales != scales[0]):
        raise VerifyError(
            "rounding as on uint8 takes one scale for all weights",
            tensor=w.describe(),
            expected="1 scale",
        )
    y_zp = qparams(y)[1]
    real = _legacy_scale(node, scales[0])
    multiplier(real)
    act_min, act_max = act_range(fused_activation(node), y)
    last = _last_below(real, np.arange(act_min + 1, act_max + 1) - y_zp)
    # Outputs that even the least accumulator exceeds are none.
    never = int(np.sum(last < INT32_MIN))
    return Steps(last[never:].astype(np.int32), act_min + never, act_max)


def _legacy_scale(node: BoundNode, w_scale: np.float32) -> float:
    (x_scale, _), (y_scale, _) = qparams(node.input(0)), qparams(node.output)
    return float(x_scale) * float(w_scale) / float(y_scale)


def legacy_thresholds(node: BoundNode, channel_axis: int) -> NDArray[np.int64]:
    """The least accumulator of each int8 but the least, by the rounding of ``legacy_steps``."""
    w, y = node.input(1), node.output
    scales = weight_scales(w, axis=channel_axis, channels=w.shape[channel_axis])
    answers = np.arange(INT8_MIN + 1, INT8_MAX + 1) - qparams(y)[1]
    return _last_below(_legacy_scale(node, scales[0]), answers) + 1


def _last_below(real: float, answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each answer, the last accumulator whose own is less: from below int32 to its end."""
    half = answers - 0.5
    about = np.clip(half / real, 2.0 * INT32_MIN, 2.0 * INT32_MAX)
    near = np.floor(about).astype(np.int64)
    # Halves go away from zero: up from 1/2 on, and down at -1/2.
    product = near * real
    reached = np.where(answers > 0, product >= half, product > half)
    return np.asarray(np.minimum(near - reached, INT32_MAX), np.int64)


def wide_requant(node: BoundNode, channel_axis: int) -> WideRequant | Requant:
    """Multipliers and clamp of an int16 op with int8 weights (input 1).

    Arguments and errors are those of ``weighted_requant``. With an int64 bias or without a bias,
    accumulators have 64 bits. Some converters write an int32 bias: then accumulators have 32 bits
    and are rounded as for int8.
    """
    return node.noted_of_constants("wide requant", partial(_wide_requant, node, channel_axis))


def _wide_requant(node: BoundNode, channel_axis: int) -> WideRequant | Requant:
    x, w, bias, y = node.input(0), node.input(1), node.optional(2), node.output
    require_alike(x, y)
    mult, shift = channel_multipliers(x, w, channel_axis, y)
    qparams(y)
    limits = act_range(fused_activation(node), y)
    if bias is not None and bias.dtype is DType.INT32:
        return Requant(mult, shift, 0, *limits, y.dtype)
    multipliers = [reduced(int(m), int(s), y) for m, s in zip(mult, shift, strict=True)]
    pairs = np.array(multipliers, np.int32)
    return WideRequant(pairs[:, 0], pairs[:, 1], *limits)


def reduced(mult: int, shift: int, y: Value) -> tuple[int, int]:
    """Mantissa of 15 bits and right shift, for accumulators of 64 bits.

    Raises:
        VerifyError: the multiplier is larger than such a shift allows.

    """
    mantissa, right = reduced_multiplier(mult, shift)
    if right < MIN_RIGHT:
        raise VerifyError(
            "scales of inputs and output differ by too much",
            tensor=y.describe(),
            expected="an output scale of at least the product of the inputs' scales / 2**7",
            hint="quantise again: a scale in this model cannot be right",
        )
    return mantissa, right
