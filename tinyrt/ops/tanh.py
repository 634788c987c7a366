"""tanh: hyperbolic tangent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, rounding_divide_by_pot, tanh
from tinyrt.ir import BoundNode
from tinyrt.ops.emit import emit_lut
from tinyrt.ops.lut import INPUT_INTEGER_BITS, LutS8, fixed_point_inputs, infer_unary, lut_s8
from tinyrt.ops.spec import Array, NoAttrs, OpSpec, Quant, require_fixed, require_s8
from tinyrt.ops.sweep import elementwise

FIXED_OUTPUT = (1 / 128, 0)
OUTPUT_FRACTION_BITS = 7


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``tanh(x)``."""
    del attrs
    return np.asarray(np.tanh(x))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``(1 - y**2) * grad``."""
    del attrs, inputs
    return (grad * (1 - output * output),)


def prepare_s8(node: BoundNode) -> LutS8:
    """The fixed-point function of every int8 value."""
    require_s8(node.input(0), node.output)
    require_fixed(node.output, FIXED_OUTPUT)
    arguments, side = fixed_point_inputs(node.input(0))
    y = rounding_divide_by_pot(tanh(arguments, INPUT_INTEGER_BITS), 31 - OUTPUT_FRACTION_BITS)
    return LutS8.of(np.where(side == 0, y, np.where(side < 0, INT8_MIN, INT8_MAX)))


TANH = OpSpec(
    name="tanh",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.FIXED,
    sweep=elementwise,
    fixed_output=FIXED_OUTPUT,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare_s8,
    ref_s8=lut_s8,
    emit_c=emit_lut,
)
