"""broadcast_to and tile: repetition of elements along dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape, TensorType
from tinyrt.ops.shared.move import Walk, move_op
from tinyrt.ops.shared.shapes import broadcast, operand
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.traits import Dims, Traits
from tinyrt.ops.shared.walks import strides_of


@dataclass(frozen=True, slots=True)
class BroadcastToAttrs:
    """The output's shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class TileAttrs:
    """The number of repetitions along each dimension."""

    multiples: tuple[int, ...]


def infer_broadcast(
    attrs: BroadcastToAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """A shape that broadcasts to ``shape`` -> ``shape``."""
    x = operand(inputs, 0, "input")
    # Dimensions of an input are from 1, so that those below are never what both broadcast to.
    if broadcast(x.shape, attrs.shape) != attrs.shape:
        raise ShapeError(f"{x} to {list(attrs.shape)}", expected="a shape that it broadcasts to")
    return (TensorType(x.dtype, attrs.shape),)


def repeat(attrs: BroadcastToAttrs, x: Array) -> Array:
    """The input, repeated along its dimensions of 1."""
    return np.broadcast_to(x, attrs.shape)


def walk_broadcast(attrs: BroadcastToAttrs, shape: Shape) -> Walk:
    """A walk with stride 0 along the repeated dimensions."""
    aligned = (1,) * (len(attrs.shape) - len(shape)) + shape
    steps = zip(aligned, strides_of(aligned), strict=True)
    return Walk(attrs.shape, tuple(0 if d == 1 else step for d, step in steps))


def infer_tile(attrs: TileAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Each dimension times its multiple."""
    x = operand(inputs, 0, "input")
    if len(attrs.multiples) != len(x.shape) or any(m < 1 for m in attrs.multiples):
        raise ShapeError(
            f"multiples {list(attrs.multiples)} of {x}", expected="one from 1 per dimension"
        )
    grown = (d * m for d, m in zip(x.shape, attrs.multiples, strict=True))
    return (TensorType(x.dtype, tuple(grown)),)


def tile(attrs: TileAttrs, x: Array) -> Array:
    """The input, repeated along each dimension."""
    return np.tile(x, attrs.multiples)


def walk_tile(attrs: TileAttrs, shape: Shape) -> Walk:
    """A walk with two axes per dimension: the repetitions with stride 0, then the elements."""
    dims: list[int] = []
    strides: list[int] = []
    for d, m, step in zip(shape, attrs.multiples, strides_of(shape), strict=True):
        dims += [m, d]
        strides += [0, step]
    return Walk(tuple(dims), tuple(strides))


BROADCAST_TO = move_op(
    "broadcast_to",
    BroadcastToAttrs,
    infer_broadcast,
    repeat,
    walk_broadcast,
    Traits(selects=True, dims={"shape": Dims.EACH}),
)
TILE = move_op(
    "tile",
    TileAttrs,
    infer_tile,
    tile,
    walk_tile,
    Traits(selects=True, dims={"multiples": Dims.EACH}),
)
