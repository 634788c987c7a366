"""floor_div: element-wise quotient rounded down, broadcasting, in float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.floatmath.function import Gradient
from tinyrt.ops.floor_mod import infer
from tinyrt.ops.shared.shapes import sum_to
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import TABLE_BY_A_NUMBER, Traits


def ref_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``floor(a / b)`` of the exact quotient, as in TFLM: a rounded one may reach the next number.

    Where b is 0, infinite or NaN, or 0 of integers.
    """
    del attrs
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if a.dtype.kind != "f":
            return np.asarray(np.floor_divide(a, b))
        return np.asarray(np.floor(np.divide(a, b, dtype=np.float64)), np.float32)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of both inputs: 0, as for every piecewise constant function."""
    del attrs, output
    a, b = inputs
    return lambda: sum_to(grad * 0.0, a.shape), lambda: sum_to(grad * 0.0, b.shape)


FLOOR_DIV = OpSpec(
    name="floor_div",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.BY_TABLE,
    ref_f32=ref_f32,
    vjp=vjp,
    traits=Traits(
        elementwise=True,
        not_in_integers=TABLE_BY_A_NUMBER,
    ),
)
