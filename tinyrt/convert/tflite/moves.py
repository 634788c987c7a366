"""How ops that only move elements, and resizing, are written to and read from a .tflite file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tinyrt.convert.tflite.codec import (
    Codec,
    Decoded,
    Encoded,
    Operands,
    constant_ints,
    i32,
    is_s16,
    of_rank,
    operand,
    plain,
    ranked,
    since_s8,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, Value
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.slice_at import SliceAtAttrs

MIRROR_MODES = ("REFLECT", "SYMMETRIC")
"""By their numbers in the schema."""


def _first(inputs: Operands, rank_of: tuple[int, ...]) -> Value:
    """The operand, checked against the lengths of lists that go with its dimensions."""
    x = operand(inputs, 0)
    if any(n != len(x.shape) for n in rank_of):
        raise ModelFormatError(
            f"lists of {', '.join(map(str, rank_of))} numbers",
            tensor=x.describe(),
            expected=f"one number for each of {len(x.shape)} dimensions",
        )
    return x


def _encode_slice(node: BoundNode) -> Encoded:
    a = node.attrs_as(SliceAttrs)
    return Encoded(extra=(("begin", i32(a.begin)), ("size", i32(a.size))))


def _decode_slice(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options
    size = constant_ints(inputs, 2, "size")
    if not operand(inputs, 1).is_constant:
        return Decoded(SliceAtAttrs(_whole(inputs, size, output)), 2, op="slice_at")
    begin = constant_ints(inputs, 1, "begin")
    x = _first(inputs, (len(begin), len(size)))
    # -1 stands for everything that is left.
    rest = (d - b if n == -1 else n for d, b, n in zip(x.shape, begin, size, strict=True))
    return Decoded(SliceAttrs(begin, tuple(rest), (1,) * len(begin)), 1)


def _whole(inputs: Operands, size: tuple[int, ...], output: Value) -> tuple[int, ...]:
    """The size, with a dimension's length in place of -1 where the part has all of it.

    Raises:
        UnsupportedError: it has not, so that what is left depends on where it begins.

    """
    x = operand(inputs, 0)
    if -1 not in size or len(size) != len(x.shape):
        return size
    whole = tuple(d if n == -1 else n for d, n in zip(x.shape, size, strict=True))
    if whole != output.shape:
        raise UnsupportedError(
            f"a slice of size {list(size)} begins at a place that is computed",
            tensor=operand(inputs, 1).describe(),
            expected=f"{output.describe()} as large as its input where the size is -1, which "
            "stands for what is left",
            hint="give the size in the model",
        )
    return whole


def _encode_slice_at(node: BoundNode) -> Encoded:
    return Encoded(extra=(("size", i32(node.attrs_as(SliceAtAttrs).size)),))


def _encode_strided_slice(node: BoundNode) -> Encoded:
    a = node.attrs_as(SliceAttrs)
    ends = [b + n * s for b, n, s in zip(a.begin, a.size, a.strides, strict=True)]
    # An end before the first element would count from the back: it is masked instead.
    masked = sum(1 << i for i, end in enumerate(ends) if end < 0)
    fields = {
        "BeginMask": 0,
        "EndMask": masked,
        "EllipsisMask": 0,
        "NewAxisMask": 0,
        "ShrinkAxisMask": sum(1 << i for i in a.dropped),
    }
    extra = (("begin", i32(a.begin)), ("end", i32(ends)), ("strides", i32(a.strides)))
    return Encoded(fields, extra)


def _encode_gather(node: BoundNode) -> Encoded:
    a = node.attrs_as(GatherAttrs)
    return Encoded(
        {"Axis": a.axis, "BatchDims": 0}, (("indices", i32(a.indices).reshape(a.shape)),)
    )


def _encode_embedding(node: BoundNode) -> Encoded:
    batch = node.attrs_as(EmbeddingAttrs).batch_dims
    return Encoded({"Axis": batch, "BatchDims": batch})


def _encode_broadcast_to(node: BoundNode) -> Encoded:
    return Encoded(extra=(("shape", i32(node.attrs_as(BroadcastToAttrs).shape)),))


def _decode_broadcast_to(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options, output
    return Decoded(BroadcastToAttrs(constant_ints(inputs, 1, "shape")), 1)


def _encode_tile(node: BoundNode) -> Encoded:
    return Encoded(extra=(("multiples", i32(node.attrs_as(TileAttrs).multiples)),))


def _decode_tile(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options, output
    return Decoded(TileAttrs(constant_ints(inputs, 1, "multiples")), 1)


def _encode_mirror_pad(node: BoundNode) -> Encoded:
    a = node.attrs_as(MirrorPadAttrs)
    return Encoded({"Mode": MIRROR_MODES.index(a.mode)}, (("paddings", i32(a.paddings)),))


def _decode_mirror_pad(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    flat, x = constant_ints(inputs, 1, "paddings"), ranked(inputs, 0)
    if len(flat) != 2 * len(x.shape) or options.Mode() not in (0, 1):
        raise ModelFormatError(
            f"{len(flat)} paddings in mode {options.Mode()}",
            expected=f"two for each of {len(x.shape)} dimensions, mode 0 or 1",
        )
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
    return Decoded(MirrorPadAttrs(pairs, MIRROR_MODES[options.Mode()]), 1)


def _encode_block(node: BoundNode) -> Encoded:
    return Encoded({"BlockSize": node.attrs_as(BlockAttrs).block})


def _decode_block(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(BlockAttrs(options.BlockSize()), len(inputs))


def _encode_resize(node: BoundNode) -> Encoded:
    a = node.attrs_as(ResizeAttrs)
    fields = {"AlignCorners": a.align_corners, "HalfPixelCenters": a.half_pixel_centers}
    return Encoded(fields, (("size", i32(a.size)),))


def _decode_resize(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    size = constant_ints(inputs, 1, "size")
    if len(size) != 2:
        raise ModelFormatError(f"a size of {list(size)}", expected="height and width")
    flags = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    return Decoded(ResizeAttrs((size[0], size[1]), *flags), 1)


def _resize_version(node: BoundNode) -> int:
    if is_s16(node):
        return 4
    attrs = node.attrs_as(ResizeAttrs)
    aligned = attrs.align_corners and node.op == "resize_nearest_neighbor"
    return 3 if attrs.half_pixel_centers or aligned else since_s8(2)(node)


SLICE = Codec("slice", "SLICE", None, _encode_slice, _decode_slice, of_rank(5, since_s8(2, s16=4)))
STRIDED_SLICE = replace(
    SLICE,
    builtin="STRIDED_SLICE",
    table="StridedSliceOptions",
    encode=_encode_strided_slice,
    version=of_rank(4, since_s8(2, boolean=3)),
)
"""For writing alone: files are read by ``index.strided_slice``."""


def slice_codec(node: BoundNode) -> Codec:
    """SLICE where that suffices."""
    attrs = node.attrs_as(SliceAttrs)
    plain = set(attrs.strides) <= {1} and not attrs.dropped
    return SLICE if plain else STRIDED_SLICE


def _block_codec(op: str, table: str, version: Callable[[BoundNode], int]) -> Codec:
    return Codec(op, op.upper(), table, _encode_block, _decode_block, version)


MOVES: tuple[Codec, ...] = (
    replace(SLICE, op="slice_at", encode=_encode_slice_at),
    SLICE,
    replace(
        plain("embedding", "GATHER", since_s8(2, s16=4)),
        table="GatherOptions",
        encode=_encode_embedding,
    ),
    replace(
        plain("gather", "GATHER", since_s8(2, s16=4, boolean=3)),
        table="GatherOptions",
        encode=_encode_gather,
    ),
    plain("dynamic_update_slice", "DYNAMIC_UPDATE_SLICE", since_s8(1, s16=4)),
    plain("gather_nd", "GATHER_ND", since_s8(1, s16=4)),
    Codec(
        "broadcast_to",
        "BROADCAST_TO",
        None,
        _encode_broadcast_to,
        _decode_broadcast_to,
        lambda node: 2 if node.output.q is None else 3,
    ),
    Codec(
        "mirror_pad",
        "MIRROR_PAD",
        "MirrorPadOptions",
        _encode_mirror_pad,
        _decode_mirror_pad,
        since_s8(2, s16=3),
    ),
    Codec("tile", "TILE", None, _encode_tile, _decode_tile, since_s8(3)),
    _block_codec("depth_to_space", "DepthToSpaceOptions", since_s8(2)),
    _block_codec("space_to_depth", "SpaceToDepthOptions", since_s8(2)),
    *(
        Codec(op, op.upper(), table, _encode_resize, _decode_resize, _resize_version)
        for op, table in (
            ("resize_nearest_neighbor", "ResizeNearestNeighborOptions"),
            ("resize_bilinear", "ResizeBilinearOptions"),
        )
    ),
)
"""Codecs of ops that move elements. GATHER is read by ``picking.gather``."""
