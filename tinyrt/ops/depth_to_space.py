"""depth_to_space and space_to_depth: channels to blocks of pixels, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.errors import ShapeError
from tinyrt.ir import Shape, TensorType
from tinyrt.ops.shared.move import Walk, move_op
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import Array
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.walks import strides_of


@dataclass(frozen=True, slots=True)
class BlockAttrs:
    """TFLite's options of both ops: the height and width of a block."""

    block: int


def _checked(attrs: BlockAttrs, inputs: Sequence[TensorType | None], *divided: int) -> TensorType:
    x = operand(inputs, 0, "input", rank=4)
    factors = {3: attrs.block**2, 1: attrs.block, 2: attrs.block}
    if attrs.block < 1 or any(x.shape[i] % factors[i] for i in divided):
        raise ShapeError(f"blocks of {attrs.block} of {x}", expected="a size that divides it")
    return x


def infer_depth_to_space(
    attrs: BlockAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(n, h, w, b b c) -> (n, b h, b w, c)."""
    x = _checked(attrs, inputs, 3)
    n, h, w, c = x.shape
    b = attrs.block
    return (TensorType(x.dtype, (n, h * b, w * b, c // (b * b))),)


def _spread(attrs: BlockAttrs, shape: Shape) -> Shape:
    n, h, w, c = shape
    return n, h, w, attrs.block, attrs.block, c // attrs.block**2


def depth_to_space(attrs: BlockAttrs, x: Array) -> Array:
    """The channels of each pixel, in groups, become the pixels of a block in row-major order."""
    n, h, w, c = x.shape
    b = attrs.block
    spread = x.reshape(_spread(attrs, x.shape)).transpose(0, 1, 3, 2, 4, 5)
    return spread.reshape(n, h * b, w * b, c // (b * b))


def walk_depth_to_space(attrs: BlockAttrs, shape: Shape) -> Walk:
    """A transposition of six dimensions."""
    spread = _spread(attrs, shape)
    strides, order = strides_of(spread), (0, 1, 3, 2, 4, 5)
    return Walk(tuple(spread[i] for i in order), tuple(strides[i] for i in order))


def infer_space_to_depth(
    attrs: BlockAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(n, b h, b w, c) -> (n, h, w, b b c)."""
    x = _checked(attrs, inputs, 1, 2)
    n, h, w, c = x.shape
    b = attrs.block
    return (TensorType(x.dtype, (n, h // b, w // b, c * b * b)),)


def _split(attrs: BlockAttrs, shape: Shape) -> Shape:
    n, h, w, c = shape
    return n, h // attrs.block, attrs.block, w // attrs.block, attrs.block, c


def space_to_depth(attrs: BlockAttrs, x: Array) -> Array:
    """The pixels of each block, in row-major order, become the channels of one pixel."""
    n, h, w, c = x.shape
    b = attrs.block
    split = x.reshape(_split(attrs, x.shape)).transpose(0, 1, 3, 2, 4, 5)
    return split.reshape(n, h // b, w // b, c * b * b)


def walk_space_to_depth(attrs: BlockAttrs, shape: Shape) -> Walk:
    """A transposition of six dimensions."""
    split = _split(attrs, shape)
    strides, order = strides_of(split), (0, 1, 3, 2, 4, 5)
    return Walk(tuple(split[i] for i in order), tuple(strides[i] for i in order))


DEPTH_TO_SPACE = move_op(
    "depth_to_space",
    BlockAttrs,
    infer_depth_to_space,
    depth_to_space,
    walk_depth_to_space,
    Traits(selects=True),
    int16=False,
)
SPACE_TO_DEPTH = move_op(
    "space_to_depth",
    BlockAttrs,
    infer_space_to_depth,
    space_to_depth,
    walk_space_to_depth,
    Traits(selects=True),
    int16=False,
)
