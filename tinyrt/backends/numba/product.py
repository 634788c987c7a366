"""Sums of products with weights: the loop over pixels and channels that conv2d and dense share."""

from __future__ import annotations

from tinyrt.backends.lanes import LanesProduct
from tinyrt.backends.numba.abi import subroutine
from tinyrt.backends.numba.rows import Output, Product
from tinyrt.backends.numba.tile import LANE_BYTES, QUANT_BYTES, product_tile
from tinyrt.backends.numba.vector import LANES, WIDE
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ops.shared.requant import Requant

# A block of sums that stays in registers with the weights and the input it needs.
TILE_PIXELS, TILE_VECTORS = (8, 2) if WIDE else (4, 1)
ROW_VECTORS = 8 if WIDE else 4

_block = product_tile(TILE_PIXELS, TILE_VECTORS)
_column = product_tile(TILE_PIXELS, 1)
_row = product_tile(1, ROW_VECTORS)
_single = product_tile(1, 1)


@subroutine
def product(x: int, w: int, quant: int, y: int, p: Product) -> None:
    """``clamp(requant(bias + sum(x * w)) + y_zp)`` for all pixels and channels; see ``tile``."""
    pixels, offsets, steps, count = p.pixels, p.offsets, p.steps, p.step_count
    stride, channels = p.stride, p.channels
    w_bytes = count * LANE_BYTES
    tiled = pixels if pixels >= TILE_PIXELS else 0
    c = 0
    while c < channels:
        left = channels - c
        v = c // LANES
        w_at, q_at = w + v * w_bytes, quant + v * QUANT_BYTES
        wide = left > (TILE_VECTORS - 1) * LANES
        for start in range(0, tiled, TILE_PIXELS):
            # The last tile overlaps the one before it rather than leave single pixels.
            i = min(start, pixels - TILE_PIXELS)
            at, y_at = offsets + 4 * i, y + i * stride + c
            if wide:
                _block(
                    x, at, steps, count, w_at, w_bytes, q_at, y_at, stride, left, p.out
                )
            else:
                _column(
                    x, at, steps, count, w_at, w_bytes, q_at, y_at, stride, left, p.out
                )
        if tiled:
            c += TILE_VECTORS * LANES if wide else LANES
            continue
        wide = left > (ROW_VECTORS - 1) * LANES
        for i in range(pixels):
            at, y_at = offsets + 4 * i, y + i * stride + c
            if wide:
                _row(x, at, steps, count, w_at, w_bytes, q_at, y_at, stride, left, p.out)
            else:
                _single(
                    x, at, steps, count, w_at, w_bytes, q_at, y_at, stride, left, p.out
                )
        c += ROW_VECTORS * LANES if wide else LANES


def product_of(
    packed: LanesProduct, requant: Requant, channels: int, groups: int, workspace: Workspace
) -> Product:
    """The arguments of a product; ``channels`` is the number of output channels of all groups."""
    return Product(
        pixels=len(packed.offsets),
        offsets=workspace.pack(packed.offsets),
        steps=workspace.pack(packed.steps),
        step_count=len(packed.steps),
        channels=channels // groups,
        stride=channels,
        out=Output.of(requant, packed.finish),
    )
