"""Functions of one value: tables on int8 and int16, C functions on floats."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.c.activations import leaky_relu_s16_calls
from tinyrt.backends.c.chooser import Chooser, Choosers, always
from tinyrt.backends.c.floats import map_f32
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Place, Target, call
from tinyrt.fixedpoint import INT16_MAX, INT32_MAX
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.memory.sweep import elementwise
from tinyrt.ops import TABLES, prepared
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.roots import RsqrtS16
from tinyrt.ops.shared.lut import LutS8
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.table_s16 import SigmoidS16, half_tanh_table, sigmoid_table

BYTES = (DType.UINT8, DType.BOOL)
"""Element types whose bytes ``tinyrt_lut_s8`` takes for int8."""

SHORT_RIGHT = 17
"""Right shift of products with a multiplier of 32 bits, with DSP instructions."""


def table_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_lut_s8`` for an op whose integer record is its table."""
    del target
    return lut_calls(prepared(node, LutS8), node.input(0), node.output)


def lut_calls(table: LutS8, x: Value, y: Value) -> Calls:
    """The call of ``tinyrt_lut_s8``, from x to y."""
    source = Place(x, pointer="const int8_t *" if x.dtype in BYTES else None)
    output = Place(y, pointer="int8_t *" if y.dtype in BYTES else None)
    return (call("tinyrt_lut_s8", Data("table", table.table, "int8_t"), y.size, source, output),)


def sigmoid_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_logistic_short_s16`` or ``tinyrt_tanh_short_s16``.

    Inputs whose multiplier is too large, or shifted too far, take kernels without ``short``.
    """
    p = prepared(node, SigmoidS16)
    short = "_short" if is_short(p, target.isa) else ""
    fields: Fields = {
        "size": node.output.size,
        "mult": p.mult,
        "right": p.right,
        "table": sigmoid_data(target.isa),
    }
    params = Params("tinyrt_sigmoid_s16_params", fields)
    return (call(f"tinyrt_{node.op}{short}_s16", params, node.input(0), node.output),)


def is_short(p: SigmoidS16, isa: InstructionSet) -> bool:
    """Whether products with the multiplier fit 32 bits.

    With DSP instructions it is shifted to the left, by what is missing to ``SHORT_RIGHT``.
    """
    if isa is not InstructionSet.DSP:
        return p.mult <= INT16_MAX
    left = SHORT_RIGHT - p.right
    return left >= 0 and p.mult << left <= INT32_MAX


def sigmoid_data(isa: InstructionSet) -> Data:
    """The table that logistic and tanh of int16 share, as an instruction set reads it."""
    if isa in (InstructionSet.DSP, InstructionSet.MVE):
        return Data("table", half_tanh_table(), "int16_t")
    return Data("table", sigmoid_table().astype(np.uint16).view(np.int16), "int16_t")


def rsqrt_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_rsqrt_s16``."""
    del target
    p = prepared(node, RsqrtS16)
    y = node.output
    return (call("tinyrt_rsqrt_s16", y.size, p.mult, p.shift, node.input(0), y),)


def gelu_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_map_f32`` with one of gelu's two functions."""
    function = "tinyrt_gelu_tanhf" if node.attrs_as(GeluAttrs).approximate else "tinyrt_geluf"
    return map_f32(function)(node, target)


_TABLE: dict[Form, Chooser] = {Form.INT8: always(table_calls, elementwise)}

BY_SIGMOID: Chooser = always(sigmoid_calls, elementwise)


def _map(c_function: str) -> Chooser:
    return always(map_f32(c_function), elementwise)


_OTHERS: dict[str, dict[Form, Chooser]] = {
    "abs": {
        Form.INT16X8: always(leaky_relu_s16_calls, elementwise),
        Form.FLOAT: _map("fabsf"),
    },
    "ceil": {Form.FLOAT: _map("ceilf")},
    "cos": {Form.FLOAT: _map("cosf")},
    "elu": {Form.FLOAT: _map("tinyrt_eluf")},
    "erf": {Form.FLOAT: _map("erff")},
    "exp": {Form.FLOAT: _map("expf")},
    "floor": {Form.FLOAT: _map("floorf")},
    "gelu": {Form.FLOAT: always(gelu_calls, elementwise)},
    "hard_swish": {Form.FLOAT: _map("tinyrt_hard_swishf")},
    "log": {Form.FLOAT: _map("logf")},
    "logistic": {
        Form.INT16X8: BY_SIGMOID,
        Form.FLOAT: _map("tinyrt_logisticf"),
    },
    "neg": {Form.FLOAT: _map("tinyrt_negf")},
    "round": {Form.FLOAT: _map("rintf")},
    "rsqrt": {
        Form.INT16X8: always(rsqrt_calls, elementwise),
        Form.FLOAT: _map("tinyrt_rsqrtf"),
    },
    "sign": {Form.FLOAT: _map("tinyrt_signf")},
    "sin": {Form.FLOAT: _map("sinf")},
    "sqrt": {Form.FLOAT: _map("sqrtf")},
    "square": {Form.FLOAT: _map("tinyrt_squaref")},
    "tanh": {Form.INT16X8: BY_SIGMOID, Form.FLOAT: _map("tanhf")},
}

KERNELS: Choosers = {
    op: (_TABLE if op in TABLES else {}) | _OTHERS.get(op, {})
    for op in sorted({*TABLES} | _OTHERS.keys())
}
"""Op -> form -> chooser."""
