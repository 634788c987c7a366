"""mirror_pad: a border that mirrors the elements next to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape, TensorType
from tinyrt.ops.shared.move import Picks, move_op
from tinyrt.ops.shared.shapes import operand, size_of
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.traits import Dims, Traits

MODES = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
"""TFLite's names -> NumPy's."""


@dataclass(frozen=True, slots=True)
class MirrorPadAttrs:
    """TFLite's MirrorPadOptions with its paddings.

    Attributes:
        paddings: for each dimension, the number of elements added before and after.
        mode: REFLECT mirrors without the edge element, SYMMETRIC repeats the edge element.

    """

    paddings: tuple[tuple[int, int], ...]
    mode: str = "REFLECT"


def infer(attrs: MirrorPadAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Each dimension grows by its paddings, which may not exceed the elements to mirror."""
    x = operand(inputs, 0, "input")
    if attrs.mode not in MODES:
        raise ShapeError(f"mode {attrs.mode!r}", expected=" or ".join(MODES))
    spare = attrs.mode == "REFLECT"
    fits = len(attrs.paddings) == len(x.shape) and all(len(pair) == 2 for pair in attrs.paddings)
    if not fits or any(
        min(pair) < 0 or max(pair) > d - spare
        for pair, d in zip(attrs.paddings, x.shape, strict=True)
    ):
        raise ShapeError(
            f"paddings {list(attrs.paddings)} of {x} in mode {attrs.mode}",
            expected="two for each dimension, no larger than what there is to mirror",
        )
    grown = (d + a + b for d, (a, b) in zip(x.shape, attrs.paddings, strict=True))
    return (TensorType(x.dtype, tuple(grown)),)


def move(attrs: MirrorPadAttrs, x: Array) -> Array:
    """The input inside its mirrored border."""
    for axis in range(x.ndim):
        x = np.take(x, _index(attrs, axis, x.shape[axis]), axis=axis)
    return np.asarray(x)


def _index(attrs: MirrorPadAttrs, axis: int, size: int) -> Array:
    places = np.arange(size)
    pair = attrs.paddings[axis]
    return np.pad(places, pair, mode=MODES[attrs.mode])  # type: ignore[call-overload,no-any-return]


def picks(attrs: MirrorPadAttrs, shape: Shape) -> Picks:
    """One image: the last padded dimension gives the columns, the dimensions before it the rows."""
    padded = [i for i, pair in enumerate(attrs.paddings) if pair != (0, 0)] or [0]
    last = padded[-1] if shape else 0
    run = size_of(shape[last + 1 :])
    columns = (_index(attrs, last, shape[last]) if shape else np.zeros(1, np.int64)) * run
    rows: Array = np.zeros(1, np.int64)
    step = size_of(shape[last:])
    for axis in reversed(range(last)):
        starts = _index(attrs, axis, shape[axis]) * step
        rows = (starts[:, None] + rows).reshape(-1)
        step *= shape[axis]
    return Picks(1, size_of(shape), rows.astype(np.int64), columns.astype(np.int64), run)


MIRROR_PAD = move_op(
    "mirror_pad", MirrorPadAttrs, infer, move, picks, Traits(dims={"paddings": Dims.EACH})
)
