"""logistic: ``1 / (1 + exp(-x))``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, logistic, rounding_divide_by_pot
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

FIXED_OUTPUT = (1 / 256, -128)
OUTPUT_FRACTION_BITS = 8


def ref_f32(attrs: NoAttrs, x: Array) -> Array:
    """``1 / (1 + exp(-x))``, without overflow at either end."""
    del attrs
    small = elementary.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, small) / (1 + small), x.dtype)


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: ``y * (1 - y) * grad``."""
    del attrs, inputs
    return (grad * output * (1 - output),)


def prepare_s8(node: BoundNode) -> LutS8:
    """The fixed-point function of every int8 value."""
    require_s8(node.input(0), node.output)
    require_fixed(node.output, FIXED_OUTPUT)
    arguments, side = fixed_point_inputs(node.input(0))
    y = rounding_divide_by_pot(logistic(arguments, INPUT_INTEGER_BITS), 31 - OUTPUT_FRACTION_BITS)
    saturated = np.where(side < 0, INT8_MIN, INT8_MAX)
    return LutS8.of(np.where(side == 0, y + FIXED_OUTPUT[1], saturated))


def prepare_s16(node: BoundNode) -> SigmoidS16:
    """The multiplier from inputs to positions in the table."""
    return prepare_sigmoid(node, most_left=0)


def ref_s16(p: SigmoidS16, x: Array) -> Array:
    """Linear interpolation between table entries; ``1 - f(-x)`` for x below 0."""
    positions = p.positions(x)
    magnitude, table = np.abs(positions), sigmoid_table()
    index, rest = np.minimum(magnitude >> 9, 254), magnitude & 0x1FF
    inner = (table[index] << 9) + rest * (table[index + 1] - table[index])
    value = np.where(magnitude >> 9 >= 255, 0x7FFF << 10, inner)
    rounded = np.where(positions >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1)
    return np.asarray(rounded >> 10, np.int16)


LOGISTIC = OpSpec(
    name="logistic",
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
    traits=Traits(elementwise=True, channelwise=True, nonnegative=True),
)
