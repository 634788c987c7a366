"""select_v2: of two tensors, the element that a truth value names; all three broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.emit import merge_axes, repeating_strides
from tinyrt.ops.shapes import broadcast, infer_binary, operand
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    no_rows,
    prepare_moved,
)
from tinyrt.ops.sweep import elementwise


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Truth values, and two inputs of one dtype -> the shape that all broadcast to."""
    del attrs
    condition = operand(inputs, 0, "the condition")
    if condition.dtype is not DType.BOOL:
        raise ShapeError(f"the condition is {condition}", expected="bool")
    (y,) = infer_binary(inputs[1:])
    return (TensorType(y.dtype, broadcast(condition.shape, y.shape)),)


def ref(attrs: NoAttrs, condition: Array, a: Array, b: Array) -> Array:
    """``condition ? a : b``, of real or raw values."""
    del attrs
    return np.asarray(np.where(condition, a, b))


prepare = partial(prepare_moved, inputs=(1, 2))


def emit(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_select_s8``, or of ``tinyrt_select`` for wider elements."""
    y = node.output
    inputs = [node.input(i) for i in range(3)]
    dims, steps = merge_axes(y.shape, *(repeating_strides(v.shape, y.shape) for v in inputs))
    fields: dict[str, object] = {"rank": len(dims), "dims": dims}
    for name, value, step in zip(("condition", "a", "b"), inputs, steps, strict=True):
        fields[f"{name}_strides"] = [s * value.dtype.itemsize for s in step]
    params = c.params("tinyrt_select_params", fields | {"bytes": y.dtype.itemsize})
    kernel = "tinyrt_select_s8" if y.dtype is DType.INT8 else "tinyrt_select"
    c.call(kernel, params, *(c.pointer(v) for v in inputs), c.pointer(y))


def emit_c(node: BoundNode, p: NoAttrs, c: CWriter) -> None:
    """Write the integer forms' call."""
    del p
    emit(node, c)


SELECT_V2 = OpSpec(
    name="select_v2",
    attrs=NoAttrs,
    arity=(3, 3),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    prepare_s8=prepare,
    ref_s8=ref,
    sweep=elementwise,
    rows=no_rows,
    emit_c=emit_c,
    emit_f32=emit,
    int16x8=IntegerForm(prepare, ref, emit_c=emit_c),
)
