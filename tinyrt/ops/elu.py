"""elu: x where it is positive, ``exp(x) - 1`` elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import constant
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, exp_f32, float_table, table_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``x if x > 0 else exp(x) - 1``."""
    del attrs
    return np.asarray(np.where(x > 0, x, elementary.expm1(np.minimum(x, 0))))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad`` times 1 where x is positive, times ``y + 1`` elsewhere."""
    del attrs
    negative = constant(inputs[0]) <= 0
    return (grad * (output * negative + 1),)


def _elu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(x < 0, exp_f32(x) - np.float32(1), x)


def prepare_s8(node: BoundNode) -> LutS8:
    """The float function of every int8 value."""
    return float_table(node, _elu)


ELU = table_op(
    name="elu",
    attrs=NoAttrs,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare=prepare_s8,
    traits=Traits(elementwise=True, channelwise=True, keeps_positive=True),
)
