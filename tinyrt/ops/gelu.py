"""gelu: ``x * P(X < x)`` for a standard normal X, exactly or with Hendrycks and Gimpel's tanh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import Function, Gradient
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8, float_table, table_op
from tinyrt.ops.shared.spec import Array, NoAttrs
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.tanh import ref_f32 as tanh
from tinyrt.ops.tanh import vjp as tanh_vjp

ROOT = math.sqrt(2 / math.pi)
CUBE = 0.044715


@dataclass(frozen=True, slots=True)
class GeluAttrs:
    """TFLite's GeluOptions: whether to use the tanh approximation."""

    approximate: bool = False


def _cdf(attrs: NoAttrs, x: Array) -> Array:
    del attrs
    return np.asarray(0.5 + 0.5 * elementary.erf(x.astype(np.float64) * math.sqrt(0.5)), x.dtype)


def _density(attrs: NoAttrs, x: Array) -> Array:
    del attrs
    return np.asarray(elementary.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)), x.dtype)


def _cdf_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    del output
    return (grad * DENSITY(attrs, inputs[0]),)


def _density_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    del attrs
    return (grad * output * inputs[0] * -1.0,)


CDF = Function("normal_cdf", _cdf, _cdf_vjp)
DENSITY = Function("normal_density", _density, _density_vjp)
TANH_FUNCTION = Function("tanh", tanh, tanh_vjp)


def ref_f32(attrs: GeluAttrs, x: Array) -> Array:
    """``x * (1 + erf(x / sqrt(2))) / 2``, or with tanh in place of erf."""
    if not attrs.approximate:
        return np.asarray(x * _cdf(NoAttrs(), x))
    return np.asarray(0.5 * x * (1 + elementary.tanh(ROOT * (x + CUBE * x * x * x))), x.dtype)


def vjp(
    attrs: GeluAttrs, inputs: Sequence[Any], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradient of x: ``P(x) + x p(x)``, or the derivative of the tanh approximation."""
    del output
    (x,) = inputs
    if not attrs.approximate:
        return (grad * (CDF(NoAttrs(), x) + x * DENSITY(NoAttrs(), x)),)
    t = TANH_FUNCTION(NoAttrs(), (x + x * x * x * CUBE) * ROOT)
    slope = (1 - t * t) * (x * x * (3 * CUBE) + 1) * ROOT
    return (grad * ((t + 1) + x * slope) * 0.5,)


def prepare_s8(node: BoundNode) -> LutS8:
    """The float function of every int8 value."""

    def function(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(ref_f32(node.attrs_as(GeluAttrs), x.astype(np.float64)), np.float32)

    return float_table(node, function)


GELU = table_op(
    name="gelu",
    attrs=GeluAttrs,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare=prepare_s8,
    traits=Traits(elementwise=True, channelwise=True),
)
