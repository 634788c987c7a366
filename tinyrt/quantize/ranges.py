"""Real ranges and the integers that cover them (TFLite's quantisation specification)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT16_MAX, round_half_away
from tinyrt.ir import DType, QParams

WEIGHT_MAX = 127
"""Weights use [-127, 127]: symmetric, so that a sign change is exact."""

INT4_WEIGHT_MAX = 7

BIAS_MAX = 2**30
"""Largest quantised bias: leaves the accumulator as much room again."""

AVERAGING = ("average_pool2d", "resize_bilinear")
"""Ops that keep their input's grid and yet move nothing: what is cut off from it changes means."""


@dataclass(frozen=True, slots=True)
class Range:
    """Least and greatest real value that a tensor takes."""

    low: float
    high: float

    @classmethod
    def of(cls, x: NDArray[Any]) -> Range:
        """The range of an array's values."""
        return cls(float(x.min()), float(x.max()))

    def union(self, other: Range) -> Range:
        """The smallest range that covers both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def finite(self) -> Range:
        """The part of it within float32: constants may be infinite, for comparisons."""
        most = float(np.finfo(np.float32).max)
        return Range(max(self.low, -most), min(self.high, most))

    def with_zero(self) -> Range:
        """The smallest range that covers it and zero, as int8 parameters do."""
        return Range(min(self.low, 0.0), max(self.high, 0.0))

    @property
    def width(self) -> float:
        """How far int8 parameters reach: from end to end, zero included."""
        return max(self.high, 0.0) - min(self.low, 0.0)

    def around_zero(self) -> Range:
        """The smallest range around it whose int8 parameters have the zero point 0."""
        step = max(self.low / INT8_MIN, self.high / INT8_MAX)
        return Range(INT8_MIN * step, INT8_MAX * step)

    def params(self, dtype: DType) -> QParams:
        """Parameters of an activation in int8, or in int16, whose zero point is 0."""
        if dtype is DType.INT8:
            return self.asymmetric()
        peak = max(-self.low, self.high)
        scale = max(np.float32(peak / INT16_MAX), np.finfo(np.float32).tiny)
        # Zeros alone: a scale that others may be added to, with sums in 15 bits more.
        return QParams((float(scale) if peak > 0 else 2.0**-15,), 0)

    def asymmetric(self) -> QParams:
        """int8 parameters that cover the range and represent zero exactly."""
        if self.width == 0:
            return QParams((1.0,), 0)
        scale = np.float32(self.width / (INT8_MAX - INT8_MIN))
        # A subnormal scale would itself be rounded by many steps of the range.
        scale = max(scale, np.finfo(np.float32).tiny)
        zero_point = round_half_away(INT8_MIN - min(self.low, 0.0) / float(scale))
        return QParams((float(scale),), zero_point)


def around_zero(q: QParams) -> QParams:
    """int8 parameters with the zero point 0 that cover all that the given ones do."""
    if q.zero_point == 0:
        return q
    ends = ((limit - q.zero_point) * q.scale for limit in (INT8_MIN, INT8_MAX))
    return Range(*ends).around_zero().asymmetric()


def weight_max(dtype: DType) -> int:
    """Largest magnitude of weights in int8 or int4."""
    return INT4_WEIGHT_MAX if dtype is DType.INT4 else WEIGHT_MAX


def weight_params(
    weights: NDArray[Any],
    bias: NDArray[Any] | None,
    x_scale: float,
    axis: int | None,
    dtype: DType = DType.INT8,
) -> QParams:
    """Symmetric parameters of weights.

    Args:
        weights: float weights, any shape.
        bias: float bias, one per output channel, or None; a scale is raised where the bias would
            not fit int32 otherwise.
        x_scale: the input's scale.
        axis: the output channels' axis for one scale per channel, None for one scale in all.
        dtype: INT8 or INT4.

    Raises:
        UnsupportedError: no float32 scale would do.

    """
    most = weight_max(dtype)
    peaks = _peaks(np.abs(weights), axis)
    if bias is not None:
        least = least_scales(bias, x_scale)
        peaks = np.maximum(peaks, most * (least if axis is not None else least.max(keepdims=True)))
    # A channel of zeros has no scale of its own.
    substitute = float(peaks.max()) or float(most)
    scales = np.where(peaks > 0, peaks, substitute) / most
    with np.errstate(over="ignore"):
        scales = np.maximum(scales.astype(np.float32), np.finfo(np.float32).tiny)
    if not np.isfinite(scales).all():
        raise UnsupportedError(
            "the bias is too large for integers",
            expected=f"below {np.finfo(np.float32).max:.6g} times the input's scale, {x_scale:.6g}",
            hint="keep this op in float, or look at the data that the input was calibrated with",
        )
    return QParams(tuple(float(s) for s in scales), 0, axis if len(scales) > 1 else None)


def least_scales(bias: NDArray[Any], x_scale: float) -> NDArray[np.float64]:
    """(c_out,) scales of weights below which a bias would not fit int32."""
    with np.errstate(over="ignore"):
        return np.asarray(np.abs(bias) / (x_scale * BIAS_MAX), np.float64)


def _peaks(magnitudes: NDArray[Any], axis: int | None) -> NDArray[np.float64]:
    if axis is None:
        return np.asarray([magnitudes.max()], np.float64)
    others = tuple(i for i in range(magnitudes.ndim) if i != axis)
    return np.asarray(magnitudes.max(axis=others), np.float64)


def quantize_weights(
    weights: NDArray[Any], q: QParams, dtype: DType = DType.INT8
) -> NDArray[np.int8]:
    """Weights in steps of their scales, clipped to [-127, 127], or to [-7, 7] for INT4."""
    steps = np.rint(weights.astype(np.float64) / _along(q, weights.ndim))
    return np.clip(steps, -weight_max(dtype), weight_max(dtype)).astype(np.int8)


def dequantize_weights(stored: NDArray[np.integer[Any]], q: QParams) -> NDArray[np.float32]:
    """The real values of int8 weights."""
    return np.asarray(stored * _along(q, stored.ndim), np.float32)


def quantize_bias(
    bias: NDArray[Any], x_scale: float, w: QParams, dtype: DType = DType.INT32
) -> tuple[NDArray[Any], QParams]:
    """int32 or int64 bias and its parameters: scale = input scale times weight scale."""
    scales = np.float64(np.float32(x_scale)) * np.asarray(w.scales, np.float64)
    # TFLite's int64 accumulators hold 48 bits.
    most = 2**31 - 1 if dtype is DType.INT32 else 2**46
    steps = np.clip(np.rint(bias.astype(np.float64) / scales), -most - 1, most)
    stored = np.maximum(scales.astype(np.float32), np.finfo(np.float32).tiny)
    q = QParams(tuple(float(s) for s in stored), 0, 0 if len(scales) > 1 else None)
    return steps.astype(dtype.numpy), q


def _along(q: QParams, ndim: int) -> NDArray[np.float64]:
    scales = np.asarray(q.scales, np.float64)
    if q.axis is None:
        return scales
    return scales.reshape([-1 if i == q.axis else 1 for i in range(ndim)])
