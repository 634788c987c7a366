"""Sums of products with weights: the loop over pixels and channels that conv2d and dense share."""

from __future__ import annotations

from tinyrt.backends.lanes import AVX2, AVX512, LanesProduct
from tinyrt.backends.numba.abi import subroutine
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.rows import Output, Product
from tinyrt.backends.numba.tile import product_tile
from tinyrt.backends.numba.vector import LANES, WIDE
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ops.shared.requant import Requant

TILING = AVX512 if WIDE else AVX2
COLUMN_PIXELS = 10 if WIDE else 4
"""Pixels of a tile of a single vector: as many as there are registers for their addresses."""

_block = product_tile(TILING.pixels, TILING.vectors)
_column = product_tile(COLUMN_PIXELS, 1)
_row = product_tile(1, TILING.row_vectors)
_single = product_tile(1, 1)


@subroutine
def product(x: int, w: int, quant: int, y: int, p: Product) -> None:
    """``clamp(requant(bias + sum(x * w)) + y_zp)`` for all pixels and channels; see ``tile``."""
    pixels, offsets, steps, count = p.pixels, p.offsets, p.steps, p.step_count
    stride, channels = p.stride, p.channels
    many = pixels >= TILING.pixels
    along = TILING.vectors if many else TILING.row_vectors
    c = 0
    while c < channels:
        left, v = channels - c, c // LANES
        w_at, q_at = w + v * count * LANE_BYTES, quant + v * QUANT_BYTES
        whole = left > (along - 1) * LANES
        columns = not whole and pixels >= COLUMN_PIXELS
        tile = TILING.pixels if whole and many else COLUMN_PIXELS if columns else 1
        for start in range(0, pixels, tile):
            # The last tile overlaps the one before it rather than leave single pixels.
            i = min(start, pixels - tile)
            at, y_at = offsets + 4 * i, y + i * stride + c
            if columns:
                _column(x, at, steps, count, w_at, q_at, y_at, stride, left, p.out)
            elif not whole:
                _single(x, at, steps, count, w_at, q_at, y_at, stride, left, p.out)
            elif many:
                _block(x, at, steps, count, w_at, q_at, y_at, stride, left, p.out)
            else:
                _row(x, at, steps, count, w_at, q_at, y_at, stride, left, p.out)
        c += along * LANES if whole else LANES


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
