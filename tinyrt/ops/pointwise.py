"""pointwise: a chain of element-wise ops on one tensor; int8 models compute it as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.quantize import Affine, dequantize_array, quantize_array
from tinyrt.ops.shared.lut import LutS8, infer_unary, input_values, lut_s8
from tinyrt.ops.shared.spec import Array, Form, IntegerForm, OpSpec, Quant, qparams, require_s8
from tinyrt.ops.shared.traits import Traits

Operand = int | float
"""An int is a tensor: 0 the input, i the result of step i, from 1. A float is a constant."""


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


@dataclass(frozen=True, slots=True)
class _Steps:
    """Shape rule and kernels of the steps.

    Attributes:
        table: the op table; steps name ops in it.

    """

    table: Mapping[str, OpSpec[Any]]

    def infer(
        self, attrs: PointwiseAttrs, inputs: Sequence[TensorType | None]
    ) -> tuple[TensorType, ...]:
        """float32 or int8 of any shape -> the same."""
        (y,) = infer_unary(attrs, inputs)
        if not attrs.steps:
            raise ShapeError("no steps", expected="at least one op")
        results = [TensorType(DType.FLOAT32, y.shape)]
        number = TensorType(DType.FLOAT32, (1,) if y.shape else ())
        for step in attrs.steps:
            member = self._member(step)
            if any(isinstance(o, int) and not 0 <= o < len(results) for o in step.operands):
                raise ShapeError(f"operands of {step}", expected="results of steps before it")
            if not member.arity[0] <= len(step.operands) <= member.arity[1]:
                raise ShapeError(f"operands of {step}", expected=f"as many as {step.op} takes")
            types = [results[o] if isinstance(o, int) else number for o in step.operands]
            results += member.infer(step.attrs, types)
        if results[-1] != results[0]:
            raise ShapeError(f"the result is {results[-1]}", expected=str(results[0]))
        return (y,)

    def _member(self, step: Step) -> OpSpec[Any]:
        member = self.table.get(step.op)
        if member is None or not member.pointwise or not isinstance(step.attrs, member.attrs):
            members = ", ".join(name for name, spec in self.table.items() if spec.pointwise)
            raise ShapeError(f"{step} with {step.attrs}", expected=f"one of {members}")
        return member

    def ref_f32(self, attrs: PointwiseAttrs, x: Array) -> Array:
        """One op after the other, in x's precision."""
        results = [x]
        for step in attrs.steps:
            results.append(self._result(step, results, x.dtype.type))
        return results[-1]

    def exact_f32(self, attrs: PointwiseAttrs, x: Array) -> Array:
        """As ``ref_f32`` on float32; each op's result is correctly rounded but in rare cases."""
        results = [x]
        for step in attrs.steps:
            y = self._result(step, [_wide(k) for k in results], np.float64)
            with np.errstate(over="ignore"):
                results.append(y.astype(np.float32) if y.dtype.kind == "f" else y)
        return results[-1]

    def _result(self, step: Step, results: Sequence[Array], dtype: type[np.floating[Any]]) -> Array:
        operands = [
            results[o] if isinstance(o, int) else np.asarray(o, dtype) for o in step.operands
        ]
        ref = self.table[step.op].ref_f32
        assert ref is not None, "members have a float form"
        with np.errstate(all="ignore"):
            return np.asarray(ref(step.attrs, *operands))

    def prepare_s8(self, node: BoundNode) -> LutS8:
        """``quantize(op(...op(dequantize(x))))`` of every int8, each op rounded to float32."""
        x, y = node.input(0), node.output
        require_s8(x, y)
        (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
        real = dequantize_array(Affine(float(x_scale), x_zp), input_values())
        exact = self.exact_f32(node.attrs_as(PointwiseAttrs), real)
        return LutS8.of(quantize_array(exact, y_scale, y_zp))


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def pointwise_of(table: Mapping[str, OpSpec[Any]]) -> OpSpec[PointwiseAttrs]:
    """The record of pointwise. Its steps are looked up in ``table`` only when they are computed."""
    steps = _Steps(table)
    return OpSpec(
        name="pointwise",
        attrs=PointwiseAttrs,
        arity=(1, 1),
        infer=steps.infer,
        quant=Quant.OWN_RANGE,
        ref_f32=steps.ref_f32,
        forms={Form.INT8: IntegerForm(steps.prepare_s8, lut_s8)},
        traits=Traits(
            elementwise=True,
            in_tflite=False,
            not_on_devices="in float, it is only there while a model is quantised; "
            "files hold its ops",
        ),
    )
