"""SCATTER_ND at constant places: rows are gathered from what is written and a row of zeros."""

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
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gather import GatherAttrs

SUMMED = (DType.FLOAT32, DType.INT32, DType.INT64)
"""Element types whose stored numbers may be added."""

LISTED = 48
"""Bytes that a place takes in an op's attributes, generously."""


def scatter_nd(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Zeros, to which each row is added at its place: stored numbers, whatever the zero point.

    Raises:
        UnsupportedError: the places are computed while the model runs, or integers that are
            quantised would have to be added.
        ModelFormatError: indices, rows and shape do not fit together.
        BudgetError: the places cost more than the file may.

    """
    del options
    updates, y = operand(inputs, 1), only(outputs)
    shape = constant_ints(inputs, 2, "the shape")
    places, inner = _places(inputs, updates, shape)
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


def _places(inputs: Operands, updates: Value, shape: Shape) -> tuple[Places, Shape]:
    """Where each row goes, counted along the first dimensions; and the shape of a row."""
    indices = operand(inputs, 0)
    if not indices.is_constant:
        raise UnsupportedError(
            "the places are computed while the model runs",
            tensor=indices.describe(),
            expected="constant indices",
            hint="write this part as a choice (SELECT_V2) or a sum of products with one-hot rows",
        )
    depth = indices.shape[-1] if indices.shape else 0
    rows = np.asarray(constant_ints(inputs, 0, "the indices"), np.int64)
    inner = shape[depth:]
    fits = 1 <= depth <= len(shape) and updates.shape == (*indices.shape[:-1], *inner)
    if not fits:
        raise ModelFormatError(
            f"rows {updates.describe()} at {indices.describe()} of {list(shape)}",
            expected="for each row as many indices as dimensions before it, and the others' shape",
        )
    rows = rows.reshape(-1, depth)
    if (rows < 0).any() or (rows >= shape[:depth]).any():
        raise ModelFormatError("an index lies outside", expected=f"below {list(shape[:depth])}")
    return np.asarray(np.ravel_multi_index(tuple(rows.T), shape[:depth]), np.int64), inner


def _with_zeros(parts: Parts, rows: Value, y: Value) -> Value:
    """The rows, and a row of zeros behind them."""
    zeros = parts.new(f"{y.name}/zeros", rows, (1, *rows.shape[1:]))
    current().hold(zeros.nbytes, f"the constant {zeros.describe()}")
    zeros = replace(zeros, data=np.zeros(zeros.shape, zeros.dtype.numpy))
    parts.values[zeros.name] = zeros
    joined = parts.new(f"{y.name}/joined", rows, (rows.shape[0] + 1, *rows.shape[1:]))
    return parts.add("concatenation", [rows, zeros], joined, ConcatenationAttrs(0))
