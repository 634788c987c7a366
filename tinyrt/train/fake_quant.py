"""Rounding that training can see through: fake quantisation.

A tensor is replaced by what int8 keeps of it. Rounding has no useful derivative, so the gradient
passes straight through (Bengio, Leonard & Courville 2013), except where the value was clipped. The
steps themselves come from the quantiser and from the integer kernels, so that training sees
exactly what will be deployed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import constant
from tinyrt.ir import DType, QParams
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.spec import limits_of
from tinyrt.quantize.ranges import WEIGHT_MAX, Range, quantize_bias, quantize_weights
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.nn import Buffer, Module, Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The integers that stand for a tensor.

    Attributes:
        steps: in the tensor's shape.
        zero_point: the integer that stands for 0.
        bounds: least and greatest integer, to which values beyond are clipped; None where the
            scale is such that none is.
        learns_from_rounding: whether the scale's gradient counts what rounding costs (LSQ), or
            only what clipping costs (PACT).

    """

    steps: NDArray[np.integer]
    zero_point: int = 0
    bounds: tuple[int, int] | None = (INT8_MIN, INT8_MAX)
    learns_from_rounding: bool = True


def _fake_quantize(steps: Steps, x: Array, scale: Array) -> Array:
    value: Array = (steps.steps - np.int32(steps.zero_point)) * scale
    return value.astype(x.dtype)


def _fake_quantize_vjp(
    steps: Steps, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``dx = grad`` inside of the range; ``ds = grad * (output - x) / s``, or ``output / s``.

    The scale's gradient is that of Esser et al. 2020, "Learned Step Size Quantization", equation
    3, times ``1 / sqrt(elements * greatest step)`` (section 2.2). Without the part from rounding
    it is that of Choi et al. 2018, "PACT", equation 3, for the limit that the scale stands for.
    Where the rounding falls counts as constant in further derivatives.
    """
    x, scale = (constant(t) for t in inputs)
    if steps.bounds is None:
        return grad, None
    low, high = (bound - steps.zero_point for bound in steps.bounds)
    inside = (x >= low * scale) & (x <= high * scale)
    greatest = max(-low, high)

    def dscale() -> Array:
        y = constant(output)
        rounded = y - x if steps.learns_from_rounding else 0
        slope = np.where(inside, rounded, y) / scale
        weighted = grad * (slope / np.sqrt(x.size / scale.size * greatest)).astype(x.dtype)
        shared = tuple(i for i, d in enumerate(scale.shape) if d == 1)
        total: Array = weighted.sum(axis=shared if scale.ndim == x.ndim else None)
        return total.reshape(scale.shape)

    return grad * inside, dscale


FAKE_QUANTIZE = Function("fake_quantize", _fake_quantize, _fake_quantize_vjp)


def fake_quantize_weights(
    weights: Tensor,
    q: QParams,
    scales: Tensor | None = None,
    *,
    greatest: int = WEIGHT_MAX,
    learns_from_rounding: bool = True,
) -> tuple[Tensor, Array]:
    """Fake-quantised weights, and their integers.

    Args:
        weights: any shape.
        q: their parameters.
        scales: the scales that these have, as a tensor that is trained; None where they follow
            from the weights, so that nothing is clipped.
        greatest: magnitude of the integers, 127 for int8.
        learns_from_rounding: what they are trained on, as in ``Steps``.

    """
    steps = np.clip(quantize_weights(weights.data, q), -greatest, greatest)
    bounds = None if scales is None else (-greatest, greatest)
    if scales is None:
        scales = Tensor(np.asarray(q.scales, weights.dtype))
    if q.axis is not None:
        along = tuple(-1 if i == q.axis else 1 for i in range(weights.ndim))
        scales = scales.reshape(along)
    marks = Steps(steps, bounds=bounds, learns_from_rounding=learns_from_rounding)
    return apply(FAKE_QUANTIZE, marks, weights, scales), steps


def fake_quantize_bias(
    bias: Tensor, x_scale: float, w_q: QParams, dtype: DType = DType.INT32
) -> tuple[Tensor, Array, QParams]:
    """A bias, (c,), in steps of input scale times weight scale; those, int32 or int64; theirs."""
    steps, q = quantize_bias(bias.data, x_scale, w_q, dtype)
    scales = Tensor(np.asarray(q.scales, bias.dtype))
    return apply(FAKE_QUANTIZE, Steps(steps, bounds=None), bias, scales), steps, q


class Quantizer(Module):
    """Fake quantisation of the activations of one group, which share scale and zero point.

    This one's parameters are prescribed, as the output of a softmax has them.

    Args:
        q: the parameters.
        dtype: INT8, or INT16, whose zero point is 0.

    """

    def __init__(self, q: QParams, *, dtype: DType = DType.INT8) -> None:
        self._q, self.dtype = q, dtype

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return self._q

    def round(self, x: Tensor) -> Array:
        """The steps nearest to the elements."""
        scale, zero_point = np.float32(self.q.scale), self.q.zero_point
        steps: Array = quantize_array(x.data, scale, zero_point, self.dtype)
        return steps

    def replace(self, x: Tensor, steps: Array) -> Tensor:
        """What ``steps`` stand for, in the place of ``x`` and with its gradient."""
        return apply(FAKE_QUANTIZE, self._steps(steps), x, self._scale())

    def _steps(self, steps: Array) -> Steps:
        return Steps(steps, self.q.zero_point, limits_of(self.dtype))

    def _scale(self) -> Tensor:
        return Tensor(np.asarray(self.q.scales, np.float32))

    def observe(self, x: Tensor) -> None:
        """Look at values before they are rounded, in training."""

    def settle(self) -> None:
        """End a training step: apply the range that was observed in it."""


class RangeQuantizer(Quantizer):
    """Scale and zero point from running averages of the batches' least and greatest values.

    Jacob et al. 2018, section 3.1. The range seen in a step takes effect after it.

    Args:
        start: the calibrated range.
        momentum: share of each batch in the averages.
        dtype: INT8 or INT16.

    """

    def __init__(self, start: Range, *, momentum: float = 0.01, dtype: DType = DType.INT8) -> None:
        self.momentum, self.dtype = momentum, dtype
        self.low = Buffer([start.low])
        self.high = Buffer([start.high])
        self._observed: Range | None = None

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return Range(self.low.item(), self.high.item()).params(self.dtype)

    def observe(self, x: Tensor) -> None:
        """Widen the range of this step."""
        batch_range = Range.of(x.data)
        self._observed = (
            batch_range if self._observed is None else self._observed.union(batch_range)
        )

    def settle(self) -> None:
        """Move the averages."""
        if self._observed is not None:
            for average, value in (
                (self.low, self._observed.low),
                (self.high, self._observed.high),
            ):
                average.data = average.data + self.momentum * (value - average.data)
        self._observed = None


class LearnedQuantizer(Quantizer):
    """A scale that is trained, by its logarithm, so that it stays positive.

    Args:
        start: the calibrated parameters; the zero point stays.
        learns_from_rounding: True for LSQ, False for PACT, which trains the limits of the range.
        dtype: INT8 or INT16.

    """

    def __init__(
        self, start: QParams, *, learns_from_rounding: bool = True, dtype: DType = DType.INT8
    ) -> None:
        self.zero_point, self.dtype = start.zero_point, dtype
        self._learns_from_rounding = learns_from_rounding
        self.log_scale = Parameter(elementary.log(np.asarray(start.scales, np.float32)))

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return QParams((float(elementary.exp(self.log_scale.data)[0]),), self.zero_point)

    def _steps(self, steps: Array) -> Steps:
        bounds = limits_of(self.dtype)
        return Steps(steps, self.zero_point, bounds, self._learns_from_rounding)

    def _scale(self) -> Tensor:
        return self.log_scale.exp()


class ConstantQuantizer(Quantizer):
    """Scale and zero point that cover a parameter's present values, as the quantiser has them.

    Args:
        constant: the parameter.
        dtype: INT8 or INT16.

    """

    def __init__(self, constant: Parameter, *, dtype: DType = DType.INT8) -> None:
        self.constant, self.dtype = constant, dtype

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return Range.of(self.constant.data).params(self.dtype)

    def _steps(self, steps: Array) -> Steps:
        return Steps(steps, self.q.zero_point, bounds=None)
