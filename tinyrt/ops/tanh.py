"""tanh: hyperbolic tangent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, rounding_divide_by_pot, tanh
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import INPUT_INTEGER_BITS, LutS8, fixed_point_inputs, infer_unary, lut_s8
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    require_fixed,
    require_s8,
)
from tinyrt.ops.shared.table_s16 import FIXED_OUTPUT as FIXED_OUTPUT_S16
from tinyrt.ops.shared.table_s16 import SigmoidS16, prepare_sigmoid, sigmoid_table
from tinyrt.ops.shared.traits import Traits

FIXED_OUTPUT = (1 / 128, 0)
OUTPUT_FRACTION_BITS = 7


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``tanh(x)``."""
    del attrs
    return elementary.tanh(x)


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


def prepare_s16(node: BoundNode) -> SigmoidS16:
    """The multiplier from inputs to positions in the table."""
    return prepare_sigmoid(node, most_left=1)


def ref_s16(p: SigmoidS16, x: Array) -> Array:
    """``2 * sigmoid(2 * x) - 1`` by linear interpolation between table entries."""
    positions = p.positions(x)
    magnitude, table = np.abs(positions), sigmoid_table()
    index, rest = np.minimum(magnitude >> 8, 254), magnitude & 0xFF
    inner = (table[index] << 8) + rest * (table[index + 1] - table[index])
    value = np.where(magnitude >> 8 >= 255, 0xFFFF << 8, inner)
    half, rounding = 1 << 23, 1 << 7
    signed = np.where(positions >= 0, value - half + rounding, half - value + rounding - 1)
    return np.asarray(signed >> 8, np.int16)


TANH = OpSpec(
    name="tanh",
    attrs=NoAttrs,
    arity=(1, 1),
    infer=infer_unary,
    quant=Quant.FIXED,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={
        Form.INT8: IntegerForm(prepare_s8, lut_s8, FIXED_OUTPUT),
        Form.INT16X8: IntegerForm(prepare_s16, ref_s16, FIXED_OUTPUT_S16),
    },
    traits=Traits(elementwise=True, channelwise=True),
)
