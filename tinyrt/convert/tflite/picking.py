"""TFLite's GATHER and EMBEDDING_LOOKUP: rows of a table, by indices of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError
from tinyrt.ir import DType, Value
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.transpose import TransposeAttrs


def gather(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Constant indices along any axis; computed ones of rows, which move to where the batch ends.

    Raises:
        ModelFormatError: the axis or the batch does not exist, or a constant index lies outside.

    """
    table, indices, y = operand(inputs, 0), operand(inputs, 1), only(outputs)
    rank, axis, batch = len(table.shape), options.Axis(), options.BatchDims()
    axis += rank if axis < 0 else 0
    batch += len(indices.shape) if batch < 0 else 0
    if not 0 <= batch <= min(axis, len(indices.shape)) or axis >= rank:
        raise ModelFormatError(
            f"axis {options.Axis()} behind {options.BatchDims()} dimensions of a batch",
            tensor=table.describe(),
            expected="an axis of the table that is not one of the batch's",
        )
    if indices.is_constant and not batch:
        numbers = constant_ints(inputs, 1, "indices")
        parts.add("gather", [table], y, GatherAttrs(axis, numbers, indices.shape))
        return
    picked, moved = len(indices.shape) - batch, axis - batch
    if moved:
        order = (*range(batch), axis, *range(batch, axis), *range(axis + 1, rank))
        table = _transposed(parts, table, order, parts.new(f"{y.name}/rows", table))
    shape = (*indices.shape, *table.shape[batch + 1 :])
    rows = parts.new(f"{y.name}/picked", table, shape) if moved else y
    if indices.is_constant:
        _pick_constant(parts, table, inputs, batch, rows)
    else:
        parts.add("embedding", [table, indices], rows, EmbeddingAttrs(batch))
    if moved:
        behind = range(batch + picked, batch + picked + moved)
        rest = range(batch + picked + moved, len(shape))
        _transposed(parts, rows, (*range(batch), *behind, *range(batch, behind[0]), *rest), y)


def _transposed(parts: Parts, x: Value, order: tuple[int, ...], y: Value) -> Value:
    y = parts.state_shape(y, tuple(x.shape[i] for i in order))
    return parts.add("transpose", [x], y, TransposeAttrs(order))


def _pick_constant(parts: Parts, table: Value, inputs: Operands, batch: int, y: Value) -> None:
    """Rows of each sample's own part of the table, which become rows of one table."""
    indices = operand(inputs, 1)
    numbers = np.asarray(constant_ints(inputs, 1, "indices"), np.int64)
    samples, rows = math.prod(table.shape[:batch]), table.shape[batch]
    if (
        indices.shape[:batch] != table.shape[:batch]
        or not ((numbers >= 0) & (numbers < rows)).all()
    ):
        raise ModelFormatError(
            f"indices of shape {list(indices.shape)}",
            tensor=table.describe(),
            expected=f"shape {[*table.shape[:batch], '...']}, numbers from 0 to {rows - 1}",
        )
    whole = parts.new(f"{y.name}/table", table, (samples * rows, *table.shape[batch + 1 :]))
    parts.reshape(table, whole)
    numbers = numbers.reshape(samples, -1) + np.arange(samples)[:, None] * rows
    attrs = GatherAttrs(0, tuple(numbers.reshape(-1).tolist()), indices.shape)
    parts.add("gather", [whole], y, attrs)


def embedding_lookup(
    parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]
) -> None:
    """Rows of a table; the indices come first. A float row of integers is dequantised."""
    del options
    indices, table, y = operand(inputs, 0), operand(inputs, 1), only(outputs)
    rows = y
    if y.dtype is DType.FLOAT32 and table.dtype is not DType.FLOAT32 and table.q is not None:
        rows = parts.new(f"{y.name}/stored", table, (*indices.shape, *table.shape[1:]))
    parts.add("embedding", [table, indices], rows, EmbeddingAttrs())
    if rows is not y:
        parts.add("dequantize", [rows], y, NoAttrs())
