"""gather: elements of one dimension, picked by constant indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape, TensorType
from tinyrt.ops.shared.move import Picks, move_op
from tinyrt.ops.shared.shapes import axis_of, operand, size_of
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.traits import Dims, Traits


@dataclass(frozen=True, slots=True)
class GatherAttrs:
    """TFLite's GatherOptions with its indices.

    Attributes:
        axis: the dimension that the indices refer to.
        indices: the flattened indices, counted from the front.
        shape: shape of the indices; it replaces the indexed dimension in the output's shape.

    """

    axis: int
    indices: tuple[int, ...]
    shape: Shape


def infer(attrs: GatherAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., d, ...) -> (..., *indices' shape, ...)."""
    x = operand(inputs, 0, "input")
    axis = axis_of(attrs.axis, len(x.shape))
    fits = all(d >= 1 for d in attrs.shape) and size_of(attrs.shape) == len(attrs.indices)
    if not fits or not all(0 <= i < x.shape[axis] for i in attrs.indices):
        raise ShapeError(
            f"indices {list(attrs.indices[:8])} of shape {list(attrs.shape)} into {x}",
            expected=f"0 to {x.shape[axis] - 1}",
        )
    return (TensorType(x.dtype, (*x.shape[:axis], *attrs.shape, *x.shape[axis + 1 :])),)


def move(attrs: GatherAttrs, x: Array) -> Array:
    """The picked elements."""
    indices = np.asarray(attrs.indices, np.int64).reshape(attrs.shape)
    return np.asarray(np.take(x, indices, axis=attrs.axis))


def picks(attrs: GatherAttrs, shape: Shape) -> Picks:
    """One row per image, its columns along the axis."""
    axis = axis_of(attrs.axis, len(shape))
    run = size_of(shape[axis + 1 :])
    columns = np.asarray(attrs.indices, np.int64) * run
    return Picks(size_of(shape[:axis]), shape[axis] * run, np.zeros(1, np.int64), columns, run)


GATHER = move_op(
    "gather",
    GatherAttrs,
    infer,
    move,
    picks,
    Traits(selects=True, dims={"axis": Dims.AXIS}),
)
