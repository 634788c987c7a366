"""pointwise: several element-wise ops on one tensor, which int8 models compute as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.add import ADD, SUB
from tinyrt.ops.cast import CAST
from tinyrt.ops.comparison import EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL
from tinyrt.ops.div import DIV
from tinyrt.ops.elu import ELU
from tinyrt.ops.exponential import EXP, LOG
from tinyrt.ops.gelu import GELU
from tinyrt.ops.hard_swish import HARD_SWISH
from tinyrt.ops.leaky_relu import LEAKY_RELU
from tinyrt.ops.logical import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from tinyrt.ops.logistic import LOGISTIC
from tinyrt.ops.lut import LutS8, infer_unary, input_values, lut_s8
from tinyrt.ops.minimum_maximum import MAXIMUM, MINIMUM
from tinyrt.ops.mul import MUL
from tinyrt.ops.pow import POW
from tinyrt.ops.prelu import PRELU
from tinyrt.ops.quantize import Affine, dequantize_array, quantize_array
from tinyrt.ops.relu import RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1
from tinyrt.ops.roots import RSQRT, SQRT, SQUARE
from tinyrt.ops.rounding import CEIL, FLOOR, ROUND
from tinyrt.ops.select_v2 import SELECT_V2
from tinyrt.ops.sign import ABS, NEG, SIGN
from tinyrt.ops.spec import Array, Form, IntegerForm, OpSpec, Quant, qparams, require_s8
from tinyrt.ops.squared_difference import SQUARED_DIFFERENCE
from tinyrt.ops.tanh import TANH
from tinyrt.ops.trigonometry import COS, SIN

MEMBERS: dict[str, OpSpec] = {
    spec.name: spec
    for spec in (
        *(ABS, ADD, CAST, CEIL, COS, DIV, ELU, EQUAL, EXP, FLOOR, GELU, GREATER, GREATER_EQUAL),
        *(HARD_SWISH, LEAKY_RELU, LESS, LESS_EQUAL, LOG, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR),
        *(LOGISTIC, MAXIMUM, MINIMUM, MUL, NEG, NOT_EQUAL, POW, PRELU, RELU, RELU6, RELU_0_TO_1),
        *(RELU_N1_TO_1, ROUND, RSQRT, SELECT_V2, SIGN, SIN, SQRT, SQUARE, SQUARED_DIFFERENCE, SUB),
        TANH,
    )
}
"""The ops that it may consist of: each has a form in the .tflite format."""

Operand = int | float
"""An int is 0 for the input and i for the result of step i, from 1; a float is that number."""


@dataclass(frozen=True, slots=True)
class Step:
    """One op, its attributes and its operands."""

    op: str
    attrs: Any
    operands: tuple[Operand, ...]

    def __repr__(self) -> str:
        changed = [f for f in fields(self.attrs) if getattr(self.attrs, f.name) != f.default]
        shown = [f"{f.name}={getattr(self.attrs, f.name)}" for f in changed]
        return f"{self.op}({', '.join([*map(repr, self.operands), *shown])})"


@dataclass(frozen=True, slots=True)
class PointwiseAttrs:
    """The ops in their order; the last one's result is the output."""

    steps: tuple[Step, ...]


def infer(attrs: PointwiseAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 of any shape -> the same."""
    (y,) = infer_unary(attrs, inputs)
    if not attrs.steps:
        raise ShapeError("no steps", expected="at least one op")
    known = [TensorType(DType.FLOAT32, y.shape)]
    number = TensorType(DType.FLOAT32, (1,) if y.shape else ())
    for step in attrs.steps:
        member = MEMBERS.get(step.op)
        if member is None or not isinstance(step.attrs, member.attrs):
            raise ShapeError(f"{step} with {step.attrs}", expected=f"one of {', '.join(MEMBERS)}")
        if any(isinstance(o, int) and not 0 <= o < len(known) for o in step.operands):
            raise ShapeError(f"operands of {step}", expected="results of steps before it")
        if not member.arity[0] <= len(step.operands) <= member.arity[1]:
            raise ShapeError(f"operands of {step}", expected=f"as many as {step.op} takes")
        types = [known[o] if isinstance(o, int) else number for o in step.operands]
        known += member.infer(step.attrs, types)
    if known[-1] != known[0]:
        raise ShapeError(f"the result is {known[-1]}", expected=str(known[0]))
    return (y,)


def ref_f32(attrs: PointwiseAttrs, x: Array) -> Array:
    """One op after the other, in x's precision."""
    known = [x]
    for step in attrs.steps:
        known.append(_result(step, known, x.dtype.type))
    return known[-1]


def exact_f32(attrs: PointwiseAttrs, x: Array) -> Array:
    """As ``ref_f32`` on float32, each op's result rounded correctly, but in the rarest cases."""
    known = [x]
    for step in attrs.steps:
        y = _result(step, [_wide(k) for k in known], np.float64)
        with np.errstate(over="ignore"):
            known.append(y.astype(np.float32) if y.dtype.kind == "f" else y)
    return known[-1]


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def _result(step: Step, known: Sequence[Array], dtype: type[np.floating[Any]]) -> Array:
    operands = [known[o] if isinstance(o, int) else np.asarray(o, dtype) for o in step.operands]
    ref = MEMBERS[step.op].ref_f32
    assert ref is not None, "members have a float form"
    with np.errstate(all="ignore"):
        return np.asarray(ref(step.attrs, *operands))


def prepare_s8(node: BoundNode) -> LutS8:
    """``quantize(op(...op(dequantize(x))))`` for every int8 value, each op rounded to float32."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    real = dequantize_array(Affine(float(x_scale), x_zp), input_values())
    return LutS8.of(quantize_array(exact_f32(node.attrs, real), y_scale, y_zp))


POINTWISE = OpSpec(
    name="pointwise",
    attrs=PointwiseAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    forms={Form.INT8: IntegerForm(prepare_s8, lut_s8)},
    elementwise=True,
)
