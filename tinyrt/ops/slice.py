"""slice: a strided part of each dimension; strides may be negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape, TensorType
from tinyrt.ops.shared.move import Walk, move_op
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.traits import Dims, Traits
from tinyrt.ops.shared.walks import strides_of


@dataclass(frozen=True, slots=True)
class SliceAttrs:
    """TFLite's SLICE and STRIDED_SLICE, with everything resolved.

    Attributes:
        begin: the first element along each dimension, counted from the front.
        size: number of elements taken along each dimension.
        strides: step between these elements, not 0.
        dropped: dimensions of size 1 that the output leaves out, ascending.

    """

    begin: tuple[int, ...]
    size: tuple[int, ...]
    strides: tuple[int, ...]
    dropped: tuple[int, ...] = ()

    @property
    def shape(self) -> Shape:
        """The output's shape."""
        return tuple(n for i, n in enumerate(self.size) if i not in self.dropped)


def infer(attrs: SliceAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Any shape -> ``size``, without the dropped dimensions."""
    x = operand(inputs, 0, "input")
    rank = len(x.shape)
    parts = (attrs.begin, attrs.size, attrs.strides)
    fits = all(len(part) == rank for part in parts) and all(
        count >= 1 and stride != 0 and 0 <= first < d and 0 <= first + (count - 1) * stride < d
        for d, first, count, stride in zip(x.shape, *parts, strict=True)
    )
    drops = all(0 <= i < rank and attrs.size[i] == 1 for i in attrs.dropped) if fits else False
    if not drops:
        raise ShapeError(
            f"{attrs.size} elements from {attrs.begin} in steps of {attrs.strides}, of {x}",
            expected="at least one element in each dimension, and none outside",
        )
    return (TensorType(x.dtype, attrs.shape),)


def move(attrs: SliceAttrs, x: Array) -> Array:
    """The elements of the slice."""
    index = []
    for first, count, stride in zip(attrs.begin, attrs.size, attrs.strides, strict=True):
        end = first + count * stride
        index.append(slice(first, None if end < 0 else end, stride))
    return x[tuple(index)].reshape(attrs.shape)


def walk(attrs: SliceAttrs, shape: Shape) -> Walk:
    """A walk with the slice's stride along each dimension."""
    steps = strides_of(shape)
    strides = tuple(step * stride for step, stride in zip(steps, attrs.strides, strict=True))
    begin = sum(step * first for step, first in zip(steps, attrs.begin, strict=True))
    return Walk(attrs.size, strides, begin)


def rebatch(attrs: SliceAttrs, old: int, new: int) -> SliceAttrs:
    """The attributes for batch size ``new`` instead of ``old``; the slice must take all samples."""
    whole = (attrs.begin[:1], attrs.size[:1], attrs.strides[:1]) == ((0,), (old,), (1,))
    return (
        replace(attrs, size=(new, *attrs.size[1:])) if whole and 0 not in attrs.dropped else attrs
    )


DIMS = dict.fromkeys(("begin", "size", "strides"), Dims.EACH) | {"dropped": Dims.AXES}

SLICE = replace(
    move_op(
        "slice",
        SliceAttrs,
        infer,
        move,
        walk,
        Traits(selects=True, dims=DIMS),
    ),
    rebatch=rebatch,
)
