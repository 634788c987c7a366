"""Sums of products with weights: the loop over pixels and channels that conv2d and dense share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.backends.lanes import AVX2, AVX512, LanesProduct, TileShape
from tinyrt.backends.numba.abi import u8_at, subroutine
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.rows import Output, Product
from tinyrt.backends.numba.tile import product_tile
from tinyrt.backends.numba.vector import LANES, WIDE
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ops.shared.requant import Requant

SHAPES = AVX512 if WIDE else AVX2
ROW_SHAPES = tuple(shape for shape in SHAPES if shape.pixels == 1)
"""Those of a single pixel, which read the input as it comes."""


def _product(shapes: Sequence[TileShape], name: str, *, is_signed: bool) -> Any:
    """``name(x, w, quant, y, p)``: all pixels and channels of a ``Product``; see ``tile``."""
    all_pixels = tuple(shape.pixels for shape in shapes)
    all_vectors = tuple(shape.vectors for shape in shapes)
    tile = product_tile(shapes, is_signed=is_signed)

    def run(x: int, w: int, quant: int, y: int, p: Product) -> None:
        tiles = u8_at(p.tiles)
        left = p.channels
        for k in range(p.tile_count):
            which = np.int64(tiles[k])
            pixels, vectors = all_pixels[which], all_vectors[which]
            for start in range(0, p.pixels, pixels):
                # The last tile overlaps the one before it rather than leave single pixels.
                i = min(start, p.pixels - pixels)
                at, y_at = p.offsets + 4 * i, y + i * p.stride
                tile(which, x, at, p.steps, p.step_count, w, quant, y_at, p.stride, left, p.out)
            w += vectors * p.step_count * LANE_BYTES
            quant += vectors * QUANT_BYTES
            y += vectors * LANES
            left -= vectors * LANES

    run.__qualname__ = name
    return subroutine(run)


product = _product(SHAPES, "product", is_signed=False)
row_product = _product(ROW_SHAPES, "row_product", is_signed=True)


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
