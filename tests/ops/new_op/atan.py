"""atan: the angle with that tangent. What a new op's file holds; tests have it as tinyrt/ops's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, float_table, table_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``arctan(x)``."""
    del attrs
    return np.asarray(np.arctan(x))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad / (1 + x**2)``."""
    del attrs, output
    (x,) = inputs
    return (grad / (1 + x * x),)


def prepare_s8(node: BoundNode) -> LutS8:
    """The float function of every int8 value."""
    return float_table(node, np.arctan)


ATAN = table_op(
    name="atan",
    attrs=NoAttrs,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare=prepare_s8,
    traits=Traits(elementwise=True, channelwise=True),
)
