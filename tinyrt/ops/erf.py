"""erf: the Gauss error function, in float; passes fuse it into gelu or replace it by other ops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Function, Gradient
from tinyrt.ops.exponential import exp_ref, exp_vjp
from tinyrt.ops.shared.lut import float_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits

_EXP = Function("exp", exp_ref, exp_vjp)


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""
    del attrs
    return elementary.erf(x)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradient of x: ``2 / sqrt(pi) * exp(-x**2)``."""
    del output
    (x,) = inputs
    return (grad * _EXP(attrs, x * x * -1.0) * (2 / math.sqrt(math.pi)),)


ERF = float_op(
    name="erf",
    attrs=NoAttrs,
    ref_f32=ref_f32,
    vjp=vjp,
    traits=Traits(elementwise=True, in_tflite=False),
)
