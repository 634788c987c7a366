"""SCATTER_ND: at constant places, rows are gathered from what is written and a row of zeros.

At places that are computed, each row is written into zeros, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.budget import current
from tinyrt.convert.scatter import Places, most_alike, rounds
from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Shape, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.slice import SliceAttrs

SUMMED = (DType.FLOAT32, DType.INT32, DType.INT64)
"""Element types whose stored numbers may be added."""

LISTED = 48
"""Bytes that a place takes in an op's attributes, generously."""


MAX_ROWS = 16
"""Most rows at computed places: each is several ops, and another tensor as large as the output."""


def scatter_nd(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Zeros, to which each row is added at its place: stored numbers, whatever the zero point.

    Raises:
        UnsupportedError: places of many rows are computed while the model runs, or integers that
            are quantised would have to be added.
        ModelFormatError: indices, rows and shape do not fit together.
        BudgetError: the places cost more than the file may.

    """
    del options
    updates, y = operand(inputs, 1), only(outputs)
    shape = constant_ints(inputs, 2, "the shape")
    inner = _inner(inputs, updates, shape)
    if not operand(inputs, 0).is_constant:
        _at_computed_places(parts, inputs, y, shape, inner)
        return
    places = _places(inputs, shape)
    count, n = math.prod(shape) // math.prod(inner), len(places)
    times = most_alike(places)
    if times > 1 and updates.dtype not in SUMMED:
        raise UnsupportedError(
            f"{times} rows have one place, where their integers are added",
            tensor=updates.describe(),
            expected="a place for each row",
            hint="keep this op in float",
        )
    current().reserve(LISTED * times * count, f"the places of '{y.name}'")
    current().spend(times * (count + math.prod(shape)), f"the places of '{y.name}'")
    rows = parts.reshape(updates, parts.new(f"{y.name}/rows", updates, (n, *inner)))
    turns = rounds(places, count)
    if any(n in turn for turn in turns):
        rows = _with_zeros(parts, rows, y)
    total = None
    for turn in turns:
        picked = parts.new(f"{y.name}/placed", updates, (count, *inner))
        current().reserve(LISTED * count, f"the places of '{picked.name}'")
        attrs = GatherAttrs(0, tuple(turn.tolist()), (count,))
        picked = parts.add("gather", [rows], picked, attrs)
        if total is not None:
            both = parts.new(f"{y.name}/sum", updates, picked.shape)
            picked = parts.add("add", [total, picked], both, AddAttrs())
        total = picked
    assert total is not None, "there is at least one row"
    parts.reshape(total, parts.state_shape(y, shape))


def _inner(inputs: Operands, updates: Value, shape: Shape) -> Shape:
    """The shape of a row."""
    indices = operand(inputs, 0)
    depth = indices.shape[-1] if indices.shape else 0
    inner = shape[depth:]
    fits = 1 <= depth <= len(shape) and updates.shape == (*indices.shape[:-1], *inner)
    if not fits or not math.prod(shape):
        raise ModelFormatError(
            f"rows {updates.describe()} at {indices.describe()} of {list(shape)}",
            expected="for each row as many indices as dimensions before it, and the others' shape",
        )
    return inner


def _places(inputs: Operands, shape: Shape) -> Places:
    """Where each row goes, counted along the first dimensions."""
    depth = operand(inputs, 0).shape[-1]
    rows = np.asarray(constant_ints(inputs, 0, "the indices"), np.int64).reshape(-1, depth)
    if (rows < 0).any() or (rows >= shape[:depth]).any():
        raise ModelFormatError("an index lies outside", expected=f"below {list(shape[:depth])}")
    return np.asarray(np.ravel_multi_index(tuple(rows.T), shape[:depth]), np.int64)


def _at_computed_places(
    parts: Parts, inputs: Operands, y: Value, shape: Shape, inner: Shape
) -> None:
    """Zeros, into which one row after the other is written; each is added to what is there."""
    indices, updates = operand(inputs, 0), operand(inputs, 1)
    n, depth = math.prod(indices.shape[:-1]), indices.shape[-1]
    _check_computed(indices, updates, n)
    rows = parts.reshape(updates, parts.new(f"{y.name}/rows", updates, (n, *inner)))
    places = parts.reshape(indices, parts.new(f"{y.name}/places", indices, (n, depth)))
    if places.dtype is not DType.INT32:
        narrow = replace(parts.new(f"{y.name}/index", places), dtype=DType.INT32)
        parts.values[narrow.name] = narrow
        places = parts.add("cast", [places], narrow, CastAttrs(DType.INT32))
    total = _zeros(parts, updates, shape, y)
    for i in range(n):
        place, row = _row(parts, places, i, y), _row(parts, rows, i, y)
        if i:
            before = parts.new(f"{y.name}/before", row)
            parts.add("gather_nd", [total, place], before, GatherNdAttrs())
            row = parts.add("add", [before, row], parts.new(f"{y.name}/sum", row), AddAttrs())
        part = parts.reshape(row, parts.new(f"{y.name}/part", row, (1,) * depth + inner))
        begin = _begin(parts, place, len(shape), y)
        written = parts.new(f"{y.name}/written", total)
        total = parts.add("dynamic_update_slice", [total, part, begin], written)
    parts.reshape(total, parts.state_shape(y, shape))


def _check_computed(indices: Value, updates: Value, n: int) -> None:
    """Raise ``UnsupportedError`` unless so many rows can be written at computed places."""
    if n > MAX_ROWS:
        raise UnsupportedError(
            f"the places of {n} rows are computed while the model runs",
            tensor=indices.describe(),
            expected=f"constant indices, or those of {MAX_ROWS} rows at most",
            hint="write this part as a choice (SELECT_V2) or a sum of products with one-hot rows",
        )
    if n > 1 and updates.dtype not in SUMMED:
        raise UnsupportedError(
            f"the computed places of {n} rows may be one, where their integers are added",
            tensor=updates.describe(),
            expected="one row, or numbers that are not quantised",
            hint="keep this op in float",
        )


def _row(parts: Parts, rows: Value, i: int, y: Value) -> Value:
    """One of the rows, still in a dimension of its own."""
    if rows.shape[0] == 1:
        return rows
    shape = (1, *rows.shape[1:])
    attrs = SliceAttrs((i, *(0,) * len(shape[1:])), shape, (1,) * len(shape))
    return parts.add("slice", [rows], parts.new(f"{y.name}/row", rows, shape), attrs)


def _begin(parts: Parts, place: Value, rank: int, y: Value) -> Value:
    """Where a row begins in all dimensions: at 0 in its own ones."""
    depth = place.shape[-1]
    begin = parts.reshape(place, parts.new(f"{y.name}/place", place, (depth,)))
    if depth == rank:
        return begin
    origin = _zeros(parts, begin, (rank - depth,), y)
    joined = parts.new(f"{y.name}/begin", begin, (rank,))
    return parts.add("concatenation", [begin, origin], joined, ConcatenationAttrs(0))


def _zeros(parts: Parts, like: Value, shape: Shape, y: Value) -> Value:
    """A constant of stored zeros."""
    zeros = parts.new(f"{y.name}/zeros", like, shape)
    current().hold(zeros.nbytes, f"the constant {zeros.describe()}")
    zeros = replace(zeros, data=np.zeros(zeros.shape, zeros.dtype.numpy))
    parts.values[zeros.name] = zeros
    return zeros


def _with_zeros(parts: Parts, rows: Value, y: Value) -> Value:
    """The rows, and a row of zeros behind them."""
    zeros = _zeros(parts, rows, (1, *rows.shape[1:]), y)
    joined = parts.new(f"{y.name}/joined", rows, (rows.shape[0] + 1, *rows.shape[1:]))
    return parts.add("concatenation", [rows, zeros], joined, ConcatenationAttrs(0))
