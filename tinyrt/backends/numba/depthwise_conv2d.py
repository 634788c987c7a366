"""depthwise_conv2d in int8: four taps at a time for sixteen channels of several pixels."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.finishes import SIGN, Weighted
from tinyrt.backends.lanes import lanes_depthwise, padded_shape
from tinyrt.backends.lines import lanes_lines, lanes_strip
from tinyrt.backends.numba.abi import Call, row_of, subroutine
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.depthwise_lines import pack_lines
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.rows import Border, Images, Output
from tinyrt.backends.numba.tile import depthwise_tile
from tinyrt.backends.numba.vector import LANES, WIDE
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.windowed import ConvolutionS8

TILE_PIXELS = 8 if WIDE else 4

_column = depthwise_tile(TILE_PIXELS)
_single = depthwise_tile(1)


class Windows(NamedTuple):
    """Tables of each pixel's window start, and of the taps' offsets from it, in fours."""

    pixels: int
    offsets: int
    taps: int
    tap_fours: int


class Row(NamedTuple):
    """Arguments of ``depthwise_conv2d_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    images: Images
    border: Border
    windows: Windows
    w: int
    quant: int
    c_out: int
    out: Output


def depthwise_conv2d_s8(address: int) -> None:
    """Compute all samples."""
    p = row_of(address, Row)
    images = p.images
    image_bytes = images.height * images.width * images.channels
    copies = p.c_out // images.channels
    for n in range(images.batch):
        pad_flip(p.x + n * image_bytes, images, copies, p.scratch, p.border)
        for v in range((p.c_out + LANES - 1) // LANES):
            _channels(p, v, p.y + n * p.windows.pixels * p.c_out)


@subroutine
def _channels(p: Row, v: int, y: int) -> None:
    """Compute one vector of channels for all pixels."""
    c = v * LANES
    pixels, offsets, taps, fours = p.windows
    x, w, quant = p.scratch + c, p.w + v * fours * LANE_BYTES, p.quant + v * QUANT_BYTES
    stride, left = p.c_out, p.c_out - c
    tiled = pixels if pixels >= TILE_PIXELS else 0
    for start in range(0, tiled, TILE_PIXELS):
        # The last tile overlaps the one before it rather than leave single pixels.
        i = min(start, pixels - TILE_PIXELS)
        at, y_at = offsets + 4 * i, y + i * stride + c
        _column(x, at, taps, fours, w, quant, y_at, stride, left, p.out)
    for i in range(tiled, pixels):
        at, y_at = offsets + 4 * i, y + i * stride + c
        _single(x, at, taps, fours, w, quant, y_at, stride, left, p.out)


def pack(node: BoundNode, p: ConvolutionS8, workspace: Workspace) -> Call:
    """Line by line where windows allow it, else pixel by pixel; weights in the kernels' order."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out = weights.shape[3]
    layer = Weighted(weights, workspace.bias(node), p.x_zp, p.requant)
    lines = lanes_lines(p.window, x.shape, layer) or lanes_strip(p.window, x.shape, layer)
    if lines is not None:
        return pack_lines(node, p, lines, workspace)
    height, width = padded_shape(p.window, x.shape)
    workspace.need_scratch(height * width * c_out)
    packed = lanes_depthwise(p.window, x.shape, layer)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        images=Images(*x.shape),
        border=Border(height, width, *p.window.before, fill=p.x_zp + SIGN),
        windows=Windows(
            pixels=len(packed.offsets),
            offsets=workspace.pack(packed.offsets),
            taps=workspace.pack(packed.taps),
            tap_fours=packed.w.shape[1],
        ),
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        c_out=c_out,
        out=Output.of(p.requant, packed.finish),
    )
    return Call(depthwise_conv2d_s8, row)
