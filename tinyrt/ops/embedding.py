"""embedding: rows of a table, picked by indices that are not known before the model runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shapes import operand
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    prepare_moved,
)

MOVED = (DType.FLOAT32, DType.INT8, DType.INT16)


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(rows, ...), indices int32 (...) -> (*indices, ...)."""
    del attrs
    table, indices = operand(inputs, 0, "table"), operand(inputs, 1, "indices")
    if table.dtype not in MOVED or not table.shape:
        raise ShapeError(f"table is {table}", expected="rows of float32, int8 or int16")
    if indices.dtype is not DType.INT32:
        raise ShapeError(f"indices are {indices}", expected="int32")
    return (TensorType(table.dtype, (*indices.shape, *table.shape[1:])),)


def ref(attrs: NoAttrs, table: Array, indices: Array) -> Array:
    """The rows; an index beyond the table takes the nearest (LiteRT refuses to run there)."""
    del attrs
    return np.asarray(table[np.clip(indices, 0, len(table) - 1)])


prepare = partial(prepare_moved, inputs=(0,))


def emit(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_embedding``."""
    table, indices = node.input(0), node.input(1)
    run = math.prod(table.shape[1:]) * table.dtype.itemsize
    fields = {"n": indices.size, "rows": table.shape[0], "run": run}
    params = c.params("tinyrt_embedding_params", fields)
    pointers = [c.pointer(v) for v in (table, indices, node.output)]
    c.call("tinyrt_embedding", params, *pointers)


def emit_integer(node: BoundNode, p: NoAttrs, c: CWriter) -> None:
    """As ``emit``."""
    del p
    emit(node, c)


EMBEDDING = OpSpec(
    name="embedding",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    prepare_s8=prepare,
    ref_s8=ref,
    emit_c=emit_integer,
    emit_f32=emit,
    int16x8=IntegerForm(prepare, ref, emit_c=emit_integer),
)
