"""ONE_HOT: rows of a table, by indices that are constant or computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.budget import current
from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.transpose import TransposeAttrs

MAX_CLASSES = 4096
"""Most classes: with more, the table is better folded into the layer behind it."""


def one_hot(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Rows of the identity; an index outside of it has a row that is off everywhere.

    Raises:
        UnsupportedError: the depth, or what stands for on or off, is computed at run time.
        ModelFormatError: these or the axis are none.

    """
    indices, y = operand(inputs, 0), only(outputs)
    (depth,) = constant_ints(inputs, 1, "the depth")[:1] or (0,)
    on, off = (_state(operand(inputs, i), y) for i in (2, 3))
    rank = len(indices.shape)
    axis = rank if options is None or options.Axis() == -1 else options.Axis()
    if not 1 <= depth <= MAX_CLASSES or not 0 <= axis <= rank:
        raise ModelFormatError(
            f"ONE_HOT of {depth:,} classes along dimension {axis}",
            tensor=y.describe(),
            expected=f"1 to {MAX_CLASSES:,} classes, and a dimension from 0 to {rank}, or -1",
        )
    table = parts.new(f"{y.name}/rows", y, (depth + 2, depth))
    current().hold(table.nbytes, f"the constant {table.describe()}")
    rows = np.full(table.shape, off, y.dtype.numpy)
    np.fill_diagonal(rows[1:], on)
    table = parts.set(table, rows)
    if indices.dtype is not DType.INT32:
        index = replace(parts.new(f"{y.name}/index", indices), dtype=DType.INT32)
        parts.values[index.name] = index
        indices = parts.add("cast", [indices], index, CastAttrs(DType.INT32))
    row = indices
    for op, what, number, attrs in (
        ("add", "next", 1, AddAttrs()),
        ("maximum", "first", 0, None),
        ("minimum", "last", depth + 1, None),
    ):
        constant = replace(parts.new(f"{y.name}/{what}", indices, (1,)), q=None)
        constant = parts.set(constant, np.full(1, number, np.int32))
        row = parts.add(op, [row, constant], parts.new(f"{y.name}/row", indices), attrs)
    shape = (*indices.shape, depth)
    perm = (*range(axis), rank, *range(axis, rank))
    y = parts.state_shape(y, tuple(shape[i] for i in perm))
    if axis == rank:
        parts.add("embedding", [table, row], y, EmbeddingAttrs())
        return
    turned = parts.new(f"{y.name}/turned", y, shape)
    picked = parts.add("embedding", [table, row], turned, EmbeddingAttrs())
    parts.add("transpose", [picked], y, TransposeAttrs(perm))


def _state(value: Value, y: Value) -> Any:
    """What stands for on, or for off."""
    if value.data is None:
        raise UnsupportedError(
            "what ONE_HOT answers with is computed at run time",
            tensor=value.describe(),
            expected="a constant",
            hint="compute with 0 and 1, and scale them behind it",
        )
    if value.size != 1 or value.dtype is not y.dtype:
        raise ModelFormatError(
            f"ONE_HOT answers with {value.describe()}", expected=f"one {y.dtype.value}"
        )
    return value.data.item()
