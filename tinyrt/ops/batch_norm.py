"""batch_norm: normalisation with given statistics; float only, folded before quantisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Function
from tinyrt.ir import DType, TensorType
from tinyrt.ops.roots import rsqrt_ref, rsqrt_vjp
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class BatchNormAttrs:
    """``epsilon`` is added to the variance."""

    epsilon: float = 1e-5


def infer(attrs: BatchNormAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., c), then gamma, beta, mean and variance of (c,) each -> (..., c)."""
    del attrs
    x = operand(inputs, 0, "input")
    if x.dtype is not DType.FLOAT32 or not x.shape:
        raise ShapeError(f"input is {x}", expected="float32 with channels last")
    statistic = TensorType(x.dtype, x.shape[-1:])
    for i, name in enumerate(("gamma", "beta", "mean", "variance"), start=1):
        operand_type = operand(inputs, i, name)
        if operand_type != statistic:
            raise ShapeError(f"{name} is {operand_type}", expected=f"{statistic}")
    return (x,)


def ref_f32(
    attrs: BatchNormAttrs, x: Array, gamma: Array, beta: Array, mean: Array, var: Array
) -> Array:
    """``(x - mean) / sqrt(var + epsilon) * gamma + beta``, per channel."""
    factor = gamma / np.sqrt(var + x.dtype.type(attrs.epsilon))
    return np.asarray((x - mean) * factor + beta)


def vjp(
    attrs: BatchNormAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of x, gamma, beta, mean and variance, each taken as independent of the others."""
    del output
    x, gamma, _, mean, var = inputs
    others = tuple(range(x.ndim - 1))
    inverse = _RSQRT(NoAttrs(), var + x.dtype.type(attrs.epsilon))
    dx = grad * (gamma * inverse)
    centred = ((x - mean) * grad).sum(axis=others)
    dvar = -0.5 * centred * gamma * inverse * inverse * inverse
    return dx, centred * inverse, grad.sum(axis=others), -dx.sum(axis=others), dvar


_RSQRT = Function("rsqrt", rsqrt_ref, rsqrt_vjp)


BATCH_NORM = OpSpec(
    name="batch_norm",
    attrs=BatchNormAttrs,
    arity=(5, 5),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    vjp=vjp,
    traits=Traits(
        channelwise=True,
        in_tflite=False,
        not_in_integers="it becomes part of its neighbours' weights, or a mul and an add, "
        "before that",
    ),
)
