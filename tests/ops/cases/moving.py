"""Random cases of ops that only move elements, and of resizing."""

from __future__ import annotations

from functools import partial

from tests.ops.build import Case, Rng
from tests.ops.cases.windowed import ints, pair
from tinyrt.ir import DType
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.slice_at import SliceAtAttrs


def slice_(rng: Rng) -> Case:
    """Runs from the front; or in steps, also backwards, with dimensions that go."""
    shape = ints(rng, 1, 7, int(rng.integers(1, 5)))
    plain = bool(rng.random() < 0.4)
    begin, size, strides = [], [], []
    for d in shape:
        stride = 1 if plain else int(rng.choice([1, 2, 3, -1, -2]))
        first = int(rng.integers(0, d))
        most = (d - 1 - first if stride > 0 else first) // abs(stride) + 1
        begin.append(first)
        size.append(int(rng.integers(1, most + 1)))
        strides.append(stride)
    dropped = () if plain else tuple(i for i, n in enumerate(size) if n == 1 and i % 2)
    kept = [1 if i in dropped else s for i, s in enumerate(strides)]
    return Case("slice", SliceAttrs(tuple(begin), tuple(size), tuple(kept), dropped), (shape,))


def gather(rng: Rng) -> Case:
    """Indices of one or two dimensions, also repeated."""
    shape = ints(rng, 1, 6, int(rng.integers(1, 4)))
    axis = int(rng.integers(0, len(shape)))
    picked = ints(rng, 1, 4, int(rng.integers(1, 3)))
    count = picked[0] * (picked[1] if len(picked) > 1 else 1)
    return Case("gather", GatherAttrs(axis, ints(rng, 0, shape[axis] - 1, count), picked), (shape,))


def embedding(rng: Rng) -> Case:
    """Rows of up to two dimensions, by indices of up to three; also of a table for each sample."""
    table, picked = (ints(rng, 1, 9, int(rng.integers(*d))) for d in ((2, 4), (1, 4)))
    batch = int(rng.integers(0, min(len(table), len(picked) + 1)))
    shapes = table, (*table[:batch], *picked[batch:])
    held, dtypes = frozenset({0} if not batch else ()), (DType.FLOAT32, DType.INT32)
    attrs = EmbeddingAttrs(batch, from_end=bool(rng.normal() > 0))
    return Case("embedding", attrs, shapes, held, input_dtypes=dtypes)


def gather_nd(rng: Rng) -> Case:
    """Places in some of the first dimensions, or in all of them."""
    shape = ints(rng, 1, 6, int(rng.integers(1, 4)))
    places = (*ints(rng, 1, 4, int(rng.integers(1, 3))), int(rng.integers(1, len(shape) + 1)))
    dtypes = (DType.FLOAT32, DType.INT32)
    attrs = GatherNdAttrs(from_end=bool(rng.normal() > 0))
    return Case("gather_nd", attrs, (shape, places), input_dtypes=dtypes)


def slice_at(rng: Rng) -> Case:
    """Parts of any size, also the whole."""
    shape = ints(rng, 1, 6, int(rng.integers(1, 5)))
    size = tuple(int(rng.integers(1, d + 1)) for d in shape)
    dtypes = (DType.FLOAT32, DType.INT32)
    return Case("slice_at", SliceAtAttrs(size), (shape, (len(shape),)), input_dtypes=dtypes)


def dynamic_update_slice(rng: Rng) -> Case:
    """Parts of any size, also the whole."""
    shape = ints(rng, 1, 6, int(rng.integers(1, 5)))
    part = tuple(int(rng.integers(1, d + 1)) for d in shape)
    dtypes = (DType.FLOAT32, DType.FLOAT32, DType.INT32)
    shapes = (shape, part, (len(shape),))
    return Case("dynamic_update_slice", NoAttrs(), shapes, input_dtypes=dtypes)


def broadcast_to(rng: Rng) -> Case:
    """Dimensions of 1, and leading ones that the input lacks."""
    full = ints(rng, 1, 5, int(rng.integers(1, 5)))
    small = tuple(1 if rng.random() < 0.5 else d for d in full)[int(rng.integers(0, len(full))) :]
    return Case("broadcast_to", BroadcastToAttrs(full), (small,))


def tile(rng: Rng) -> Case:
    """Up to three times along each dimension."""
    shape = ints(rng, 1, 4, int(rng.integers(1, 4)))
    return Case("tile", TileAttrs(ints(rng, 1, 3, len(shape))), (shape,))


def depth_to_space(rng: Rng) -> Case:
    """Blocks of up to 3."""
    block = int(rng.integers(1, 4))
    n, h, w, c = ints(rng, 1, 3, 4)
    return Case("depth_to_space", BlockAttrs(block), ((n, h, w, c * block**2),))


def space_to_depth(rng: Rng) -> Case:
    """Blocks of up to 3."""
    block = int(rng.integers(1, 4))
    n, h, w, c = ints(rng, 1, 3, 4)
    return Case("space_to_depth", BlockAttrs(block), ((n, h * block, w * block, c),))


def _resize(op: str, rng: Rng) -> Case:
    """Larger and smaller, in all three modes."""
    mode = int(rng.integers(0, 3))
    attrs = ResizeAttrs(pair(rng, 1, 9), align_corners=mode == 1, half_pixel_centers=mode == 2)
    return Case(op, attrs, ((*ints(rng, 1, 2, 1), *pair(rng, 1, 6), int(rng.integers(1, 4))),))


resize_nearest_neighbor = partial(_resize, "resize_nearest_neighbor")
resize_bilinear = partial(_resize, "resize_bilinear")


def mirror_pad(rng: Rng) -> Case:
    """Both modes, up to as much as there is to mirror."""
    shape = ints(rng, 2, 5, int(rng.integers(1, 5)))
    mode = "REFLECT" if rng.random() < 0.5 else "SYMMETRIC"
    most = [d - (mode == "REFLECT") for d in shape]
    paddings = tuple((int(rng.integers(0, n + 1)), int(rng.integers(0, n + 1))) for n in most)
    return Case("mirror_pad", MirrorPadAttrs(paddings, mode), (shape,))
