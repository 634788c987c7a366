"""embedding: rows of a table, picked by indices that are computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant, both_forms, prepare_moved

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
    """The rows; an index outside the table picks the nearest row (LiteRT reports an error)."""
    del attrs
    return np.asarray(table[np.clip(indices, 0, len(table) - 1)])


prepare = partial(prepare_moved, inputs=(0,))


EMBEDDING = OpSpec(
    name="embedding",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    forms=both_forms(prepare, ref),
)
