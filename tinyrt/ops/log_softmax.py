"""log_softmax over the last dimension, in float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.exponential import exp_ref, exp_vjp
from tinyrt.ops.function import Function
from tinyrt.ops.lut import infer_float
from tinyrt.ops.spec import Array, CWriter, NoAttrs, OpSpec, Quant

_EXP = Function("exp", exp_ref, exp_vjp)


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., n) -> (..., n)."""
    (x,) = infer_float(attrs, inputs)
    if not x.shape:
        raise ShapeError(f"input is {x}", expected="at least one dimension")
    return (x,)


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``x - log(sum(exp(x)))`` along the last dimension."""
    del attrs
    lowered = x - x.max(axis=-1, keepdims=True)
    return np.asarray(lowered - np.log(np.exp(lowered).sum(axis=-1, keepdims=True)))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad - softmax(x) * sum(grad)``."""
    del inputs
    return (grad - _EXP(attrs, output) * grad.sum(axis=-1, keepdims=True),)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_log_softmax_f32``."""
    x, y = node.input(0), node.output
    rows, length = x.size // x.shape[-1], x.shape[-1]
    c.call("tinyrt_log_softmax_f32", str(rows), str(length), c.pointer(x), c.pointer(y))


LOG_SOFTMAX = OpSpec(
    name="log_softmax",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    vjp=vjp,
    emit_f32=emit_f32,
)
