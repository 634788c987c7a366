"""pow: element-wise power, broadcasting, in float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Function, Gradient, constant
from tinyrt.ir import TensorType
from tinyrt.ops.exponential import log_ref, log_vjp
from tinyrt.ops.shared.shapes import infer_float_binary, sum_to
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import TABLE_BY_A_NUMBER, Traits


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two float32 inputs -> their broadcast shape."""
    del attrs
    return infer_float_binary(inputs)


def ref_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``a ** b``; NaN where a is negative and b is not whole."""
    del attrs
    return elementary.power(a, b)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of base and exponent: ``b * a**(b - 1)`` and ``y * log(a)``.

    Where the base is 0, one factor may be 0 and the other have no limit: their product is 0 then.
    """
    a, b = inputs

    def of_base() -> Array:
        held = _at_zero(a, constant(b) == 0)
        return sum_to(grad * b * _POW(attrs, a, b - 1.0 + held), a.shape)

    def of_exponent() -> Array:
        held = _at_zero(a, constant(b) >= 0)
        return sum_to(grad * output * _LOG(attrs, a + held), b.shape)

    return of_base, of_exponent


def _at_zero(a: Array, held: Array) -> Array:
    """1 where the base is 0 and ``held`` is true, else 0."""
    base = constant(a)
    return np.asarray((base == 0) & held, base.dtype)


_POW = Function("pow", ref_f32, vjp)
_LOG = Function("log", log_ref, log_vjp)

POW = OpSpec(
    name="pow",
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
