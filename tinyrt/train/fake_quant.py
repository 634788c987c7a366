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
from tinyrt.ir import QParams
from tinyrt.ops.function import constant
from tinyrt.ops.quantize import quantize_array
from tinyrt.quantize.ranges import Range, quantize_bias, quantize_weights
from tinyrt.train.function import Array, Function, Gradient
from tinyrt.train.nn import Buffer, Module, Parameter
from tinyrt.train.tensor import Tensor, apply


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The integers that stand for a tensor.

    Attributes:
        steps: in the tensor's shape.
        zero_point: the integer that stands for 0.
        clips: whether values beyond int8's range were clipped to it.

    """

    steps: NDArray[np.integer]
    zero_point: int = 0
    clips: bool = True

    def inside(self, x: Array, scale: Array) -> NDArray[np.bool_]:
        """Which elements of ``x`` the range holds."""
        low, high = ((bound - self.zero_point) * scale for bound in (INT8_MIN, INT8_MAX))
        inside: NDArray[np.bool_] = (x >= low) & (x <= high)
        return inside


def _fake_quantize(steps: Steps, x: Array, scale: Array) -> Array:
    value: Array = (steps.steps - np.int32(steps.zero_point)) * scale
    return value.astype(x.dtype)


def _fake_quantize_vjp(
    steps: Steps, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``dx = grad`` inside of the range; ``ds = grad * (output - x) / s``, or ``output / s``.

    The scale's gradient is that of Esser et al. 2020, "Learned Step Size Quantization", equation
    3, times ``1 / sqrt(elements * 127)`` (section 2.2). Where the rounding falls counts as
    constant in further derivatives.
    """
    x, scale = (constant(t) for t in inputs)
    if not steps.clips:
        return grad, None
    inside = steps.inside(x, scale)

    def dscale() -> Array:
        slope = (constant(output) - np.where(inside, x, 0)) / scale
        weighted = grad * (slope / np.sqrt(x.size * INT8_MAX)).astype(x.dtype)
        total: Array = weighted.sum().reshape(scale.shape)
        return total

    return grad * inside, dscale


FAKE_QUANTIZE = Function("fake_quantize", _fake_quantize, _fake_quantize_vjp)


def fake_quantize_weights(weights: Tensor, q: QParams) -> tuple[Tensor, Array]:
    """Weights as int8 keeps them, and as int8; symmetric, so nothing is clipped."""
    steps = quantize_weights(weights.data, q)
    scales = np.asarray(q.scales, weights.dtype)
    if q.axis is not None:
        scales = scales.reshape([-1 if i == q.axis else 1 for i in range(weights.ndim)])
    return apply(FAKE_QUANTIZE, Steps(steps, clips=False), weights, Tensor(scales)), steps


def fake_quantize_bias(bias: Tensor, x_scale: float, w_q: QParams) -> tuple[Tensor, Array, QParams]:
    """A bias, (c,), as int32 keeps it in steps of input scale times weight scale; those; theirs."""
    steps, q = quantize_bias(bias.data, x_scale, w_q)
    scales = Tensor(np.asarray(q.scales, bias.dtype))
    return apply(FAKE_QUANTIZE, Steps(steps, clips=False), bias, scales), steps, q


class Quantizer(Module):
    """Fake quantisation of the activations of one group, which share scale and zero point.

    This one's parameters are prescribed, as the output of a softmax has them.

    Args:
        q: the parameters.

    """

    def __init__(self, q: QParams) -> None:
        self._q = q

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return self._q

    def round(self, x: Tensor) -> Array:
        """The int8 steps nearest to the elements."""
        steps: Array = quantize_array(x.data, np.float32(self.q.scale), self.q.zero_point)
        return steps

    def replace(self, x: Tensor, steps: Array) -> Tensor:
        """What ``steps`` stand for, in the place of ``x`` and with its gradient."""
        return apply(FAKE_QUANTIZE, Steps(steps, self.q.zero_point), x, self._scale())

    def _scale(self) -> Tensor:
        return Tensor(np.asarray(self.q.scales, np.float32))

    def observe(self, x: Tensor) -> None:
        """Look at values before they are rounded, in training."""

    def settle(self) -> None:
        """End a training step: take in what was seen."""


class RangeQuantizer(Quantizer):
    """Scale and zero point from running averages of the batches' least and greatest values.

    Jacob et al. 2018, section 3.1. The range seen in a step takes effect after it.

    Args:
        start: the calibrated range.
        momentum: share of each batch in the averages.

    """

    def __init__(self, start: Range, *, momentum: float = 0.01) -> None:
        self.momentum = momentum
        self.low = Buffer([start.low])
        self.high = Buffer([start.high])
        self._seen: Range | None = None

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return Range(self.low.item(), self.high.item()).asymmetric()

    def observe(self, x: Tensor) -> None:
        """Widen the range of this step."""
        found = Range.of(x.data)
        self._seen = found if self._seen is None else self._seen.union(found)

    def settle(self) -> None:
        """Move the averages."""
        if self._seen is not None:
            for average, value in ((self.low, self._seen.low), (self.high, self._seen.high)):
                average.data = average.data + self.momentum * (value - average.data)
        self._seen = None


class LearnedQuantizer(Quantizer):
    """A scale that is trained (LSQ), by its logarithm, so that it stays positive.

    Args:
        start: the calibrated parameters; the zero point stays.

    """

    def __init__(self, start: QParams) -> None:
        self.zero_point = start.zero_point
        self.log_scale = Parameter(np.log(np.asarray(start.scales, np.float32)))

    @property
    def q(self) -> QParams:
        """Scale and zero point at present."""
        return QParams((float(np.exp(self.log_scale.data)[0]),), self.zero_point)

    def _scale(self) -> Tensor:
        return self.log_scale.exp()
