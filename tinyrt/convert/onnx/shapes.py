"""Shapes that ONNX ops give, and what constants of a shape cost, before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinyrt import budget
from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.weights import checked_shape, listed
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape

WIDEST = 8
"""Bytes of the widest element type."""


def sized(shape: Sequence[int], what: str = "a constant", copies: int = 2) -> Shape:
    """The shape of a constant that is about to be computed, once there is room and time for it.

    Args:
        shape: its shape, or that of the largest array on the way to it.
        what: what it is, as messages name it.
        copies: how many such arrays there are at once.

    Raises:
        ModelFormatError: no tensor can have the shape.
        BudgetError: computing it would take more memory or work than is left.

    """
    checked = checked_shape(shape, what)
    elements, limits = copies * math.prod(checked), budget.current()
    limits.reserve(WIDEST * elements, f"{what} of shape {listed(checked)}")
    limits.spend(elements, f"{what} of shape {listed(checked)}")
    return checked


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front.

    Raises:
        ModelFormatError: an axis does not exist or is named twice.

    """
    normal = tuple(a + rank if a < 0 else a for a in axes)
    if any(not 0 <= a < rank for a in normal) or len(set(normal)) != len(normal):
        raise ModelFormatError(
            f"axes {list(axes)} of {rank} dimensions", expected="different axes that exist"
        )
    return normal


def reshaped(call: Call) -> Shape:
    """Reshape's output shape: 0 copies a dimension (unless ``allowzero``), -1 fills up."""
    shape, target = call.shape(0), call.ints(1, "the shape")
    keep_zero = call.node.get_int("allowzero", 0) != 0
    if not keep_zero and any(d == 0 and i >= len(shape) for i, d in enumerate(target)):
        raise ModelFormatError(
            f"shape {list(target)} copies more dimensions than {list(shape)}",
            expected=f"0 only among the first {len(shape)} numbers",
        )
    sizes = [shape[i] if d == 0 and not keep_zero else d for i, d in enumerate(target)]
    count, product = math.prod(shape), math.prod(d for d in sizes if d != -1)
    if sizes.count(-1) == 1 and product > 0 and count % product == 0:
        sizes[sizes.index(-1)] = count // product
    if any(d < 0 for d in sizes) or math.prod(sizes) != count:
        raise ModelFormatError(
            f"{list(shape)} can't take shape {list(target)}",
            expected=f"a shape of {count:,} elements, with one -1 at most",
        )
    return tuple(sizes)


def flattened(call: Call) -> Shape:
    """Flatten's output shape: the dimensions before ``axis``, and the others."""
    shape, axis = call.shape(0), call.node.get_int("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ModelFormatError(
            f"axis {axis} of {len(shape)} dimensions", expected=f"{-len(shape)} to {len(shape)}"
        )
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])


def squeezed(call: Call) -> Shape:
    """Squeeze's output shape; without axes, all dimensions of size 1 go."""
    shape, axes = call.shape(0), call.axes(input_since=13)
    if axes is None:
        return tuple(d for d in shape if d != 1)
    unit_axes = normal_axes(axes, len(shape))
    if any(shape[a] != 1 for a in unit_axes):
        raise ModelFormatError(f"axes {list(axes)} of {list(shape)}", expected="dimensions of 1")
    return tuple(d for i, d in enumerate(shape) if i not in unit_axes)


def unsqueezed(call: Call) -> Shape:
    """Unsqueeze's output shape; axes count in the output."""
    shape, axes = call.shape(0), call.axes(input_since=13)
    if axes is None:
        raise ModelFormatError("axes are missing", expected="the places of the new dimensions")
    new = normal_axes(axes, len(shape) + len(axes))
    rest = iter(shape)
    return tuple(1 if i in new else next(rest) for i in range(len(shape) + len(axes)))


def permutation(call: Call) -> tuple[int, ...]:
    """Transpose's permutation; without one, the order is reversed."""
    rank = len(call.shape(0))
    perm = call.node.get_ints("perm", rank) or tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)):
        raise ModelFormatError(
            f"permutation {list(perm)} of {rank} dimensions", expected="each dimension once"
        )
    return perm


def reduced_axes(call: Call, input_since: int) -> tuple[int, ...]:
    """A reduction's axes from the front; all of them where none are given."""
    rank, axes = len(call.shape(0)), call.axes(input_since)
    if axes:
        return normal_axes(axes, rank)
    is_noop = call.node.get_int("noop_with_empty_axes", 0) != 0
    return () if is_noop else tuple(range(rank))


def split_sizes(call: Call, length: int, count: int) -> tuple[int, ...]:
    """The sizes of Split's parts of a dimension of that length.

    Raises:
        UnsupportedError: they do not make up the whole.

    """
    sizes = call.node.get_ints("split") if call.opset < 13 else None
    if call.opset >= 13 and call.has(1):
        sizes = call.ints(1, "the sizes of the parts")
    if sizes is None:
        each = math.ceil(length / count)
        sizes = (*[each] * (count - 1), length - each * (count - 1))
    if len(sizes) != count or sum(sizes) != length or min(sizes) < 0:
        raise UnsupportedError(
            f"parts of {list(sizes)} of a dimension of {length}",
            expected=f"{count} parts that make up the whole",
            hint="export the model again with parts that fit",
        )
    return sizes


def broadcast(call: Call) -> Shape:
    """The shape that all inputs broadcast to."""
    count = len(call.node.inputs)
    return np.broadcast_shapes(*(call.shape(i) for i in range(count) if call.has(i)))


def of_first(call: Call) -> Shape:
    """The shape of the first input."""
    return call.shape(0)


def of_rank(call: Call) -> Shape:
    """One element for each dimension."""
    return (len(call.shape(0)),)


def filled(call: Call) -> Shape:
    """ConstantOfShape's output shape."""
    return call.ints(0, "the shape")


def expanded(call: Call) -> Shape:
    """Expand's output shape."""
    return np.broadcast_shapes(call.shape(0), call.ints(1, "the shape"))


def tiled(call: Call) -> Shape:
    """Tile's output shape."""
    repeats = call.ints(1, "repeats")
    return tuple(d * r for d, r in zip(call.shape(0), repeats, strict=True))


def joined(call: Call) -> Shape:
    """Concat's output shape; that parts fit is checked where they are joined."""
    shapes = [call.shape(i) for i in range(len(call.node.inputs))]
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(shapes[0]))
    first = shapes[0]
    if any(len(s) != len(first) for s in shapes):
        raise ModelFormatError("parts of different ranks are joined", expected="one rank")
    return (*first[:axis], sum(s[axis] for s in shapes), *first[axis + 1 :])


def gathered(call: Call) -> Shape:
    """Gather's output shape: the indices' in place of one dimension."""
    shape = call.shape(0)
    (axis,) = normal_axes([call.node.get_int("axis", 0)], len(shape))
    return (*shape[:axis], *call.shape(1), *shape[axis + 1 :])


def gathered_nd(call: Call) -> Shape:
    """GatherND's output shape: what the indices leave of each place, for each of them."""
    *outer, depth = call.shape(1)
    return (*outer, *call.shape(0)[call.node.get_int("batch_dims", 0) + depth :])


def places(call: Call) -> Shape:
    """The most that NonZero may find."""
    shape = call.shape(0)
    return (max(len(shape), 1), math.prod(shape))


def steps(call: Call) -> Shape:
    """Range's output shape."""
    start, limit, delta = (float(call.scalar(i, "an end or step of Range")) for i in range(3))
    count = (limit - start) / delta
    if not math.isfinite(count):
        raise ModelFormatError(f"a range from {start} to {limit} by {delta}", expected="an end")
    return (max(math.ceil(count), 0),)
