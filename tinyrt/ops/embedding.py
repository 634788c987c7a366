"""embedding: rows of a table, picked by indices that are computed at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.move import picking_vjp
from tinyrt.ops.shared.places import inside
from tinyrt.ops.shared.shapes import operand, size_of
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, prepare_moved

MOVED = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32)


@dataclass(frozen=True, slots=True)
class EmbeddingAttrs:
    """TFLite's GatherOptions where the rows follow the batch's dimensions.

    Attributes:
        batch_dims: how many leading dimensions table and indices share: each such part of the
            table has indices of its own.
        from_end: whether indices below 0 count from the table's end, as ONNX has it. Files have
            arithmetic in front of the op instead.

    """

    batch_dims: int = 0
    from_end: bool = False


def infer(attrs: EmbeddingAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(*batch, rows, ...), indices int32 (*batch, *picked) -> (*batch, *picked, ...)."""
    table, indices = operand(inputs, 0, "table"), operand(inputs, 1, "indices")
    batch = attrs.batch_dims
    if table.dtype not in MOVED or not 0 <= batch < len(table.shape):
        raise ShapeError(
            f"table is {table}, behind {batch} dimensions of a batch",
            expected="rows of float32, int8, int16 or int32",
        )
    if indices.dtype is not DType.INT32 or indices.shape[:batch] != table.shape[:batch]:
        raise ShapeError(
            f"indices are {indices}", expected=f"int32 that begins with {list(table.shape[:batch])}"
        )
    return (TensorType(table.dtype, (*indices.shape, *table.shape[batch + 1 :])),)


def ref(attrs: EmbeddingAttrs, table: Array, indices: Array) -> Array:
    """The rows; an index outside the table picks the nearest row (LiteRT reports an error)."""
    batch = attrs.batch_dims
    outer, rows = size_of(table.shape[:batch]), table.shape[batch]
    tables = table.reshape(outer, rows, *table.shape[batch + 1 :])
    picked = inside(indices, rows, attrs.from_end).reshape(outer, -1)
    found = tables[np.arange(outer)[:, None], picked]
    return np.asarray(found.reshape(*indices.shape, *table.shape[batch + 1 :]))


def prepare(node: BoundNode) -> EmbeddingAttrs:
    """The attributes; table and rows share dtype, scale and zero point."""
    prepare_moved(node, (0,))
    return node.attrs_as(EmbeddingAttrs)


EMBEDDING = OpSpec(
    name="embedding",
    attrs=EmbeddingAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.SAME_AS_INPUT,
    ref_f32=ref,
    vjp=partial(picking_vjp, ref),
    forms=both_forms(prepare, ref),
)
