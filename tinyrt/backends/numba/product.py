"""Sums of products with weights: the loop over pixels and channels that conv2d and dense share."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.lanes import AVX2, AVX512, LanesProduct
from tinyrt.backends.numba.abi import subroutine, u8_at
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.rows import Output, Product
from tinyrt.backends.numba.tile import product_tile
from tinyrt.backends.numba.vector import LANES, WIDE
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ops.shared.requant import Requant

SHAPES = AVX512 if WIDE else AVX2
_PIXELS = tuple(shape.pixels for shape in SHAPES)
_VECTORS = tuple(shape.vectors for shape in SHAPES)

_tile = product_tile(SHAPES)


@subroutine
def product(x: int, w: int, quant: int, y: int, p: Product) -> None:
    """``clamp(requant(bias + sum(x * w)) + y_zp)`` for all pixels and channels; see ``tile``."""
    tiles = u8_at(p.tiles)
    left = p.channels
    for k in range(p.tile_count):
        which = np.int64(tiles[k])
        pixels, vectors = _PIXELS[which], _VECTORS[which]
        for start in range(0, p.pixels, pixels):
            # The last tile overlaps the one before it rather than leave single pixels.
            i = min(start, p.pixels - pixels)
            at, y_at = p.offsets + 4 * i, y + i * p.stride
            _tile(which, x, at, p.steps, p.step_count, w, quant, y_at, p.stride, left, p.out)
        w += vectors * p.step_count * LANE_BYTES
        quant += vectors * QUANT_BYTES
        y += vectors * LANES
        left -= vectors * LANES


def product_of(
    packed: LanesProduct, requant: Requant, channels: int, groups: int, workspace: Workspace
) -> Product:
    """The arguments of a product; ``channels`` is the number of output channels of all groups."""
    return Product(
        pixels=len(packed.offsets),
        offsets=workspace.pack(packed.offsets),
        steps=workspace.pack(packed.steps),
        step_count=len(packed.steps),
        tiles=workspace.pack(packed.tiles),
        tile_count=len(packed.tiles),
        channels=channels // groups,
        stride=channels,
        out=Output.of(requant, packed.finish),
    )
