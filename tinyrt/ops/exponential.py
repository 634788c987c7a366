"""exp and log: natural exponential and logarithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, exp_f32, float_table, table_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits


def exp_ref(attrs: NoAttrs, x: Array) -> Array:
    """``exp(x)``."""
    del attrs
    return elementary.exp(x)


def exp_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad * y``."""
    del attrs, inputs
    return (grad * output,)


def prepare_exp(node: BoundNode) -> LutS8:
    """The float function of every int8 value."""
    return float_table(node, exp_f32)


def log_ref(attrs: NoAttrs, x: Array) -> Array:
    """``log(x)``; -inf at 0, NaN below."""
    del attrs
    return elementary.log(x)


def log_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad / x``."""
    del attrs, output
    return (grad / inputs[0],)


def prepare_log(node: BoundNode) -> LutS8:
    """The float function of every int8 value; the least output where the logarithm is undefined."""
    return float_table(node, lambda x: np.where(x > 0, elementary.log(x), np.float32(-np.inf)))


EXP = table_op(
    name="exp",
    attrs=NoAttrs,
    ref_f32=exp_ref,
    vjp=exp_vjp,
    prepare=prepare_exp,
    traits=Traits(elementwise=True, channelwise=True),
)

LOG = table_op(
    name="log",
    attrs=NoAttrs,
    ref_f32=log_ref,
    vjp=log_vjp,
    prepare=prepare_log,
    traits=Traits(elementwise=True),
)
