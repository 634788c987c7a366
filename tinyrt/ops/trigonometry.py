"""sin and cos, in float."""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Function
from tinyrt.ops.shared.lut import float_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits


def sin_ref(attrs: NoAttrs, x: Array) -> Array:
    """``sin(x)``, x in radians."""
    del attrs
    return elementary.sin(x)


def sin_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``grad * cos(x)``."""
    del output
    return (grad * _COS(attrs, inputs[0]),)


def cos_ref(attrs: NoAttrs, x: Array) -> Array:
    """``cos(x)``, x in radians."""
    del attrs
    return elementary.cos(x)


def cos_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``-grad * sin(x)``."""
    del output
    return (-grad * _SIN(attrs, inputs[0]),)


_SIN = Function("sin", sin_ref, sin_vjp)
_COS = Function("cos", cos_ref, cos_vjp)

SIN = float_op(
    name="sin",
    attrs=NoAttrs,
    ref_f32=sin_ref,
    vjp=sin_vjp,
    traits=Traits(elementwise=True),
)

COS = float_op(
    name="cos",
    attrs=NoAttrs,
    ref_f32=cos_ref,
    vjp=cos_vjp,
    traits=Traits(elementwise=True),
)
