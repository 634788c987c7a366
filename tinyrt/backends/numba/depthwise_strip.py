"""depthwise_conv2d in int8 along the only axis of images: neighbours share their taps."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.finishes import SIGN
from tinyrt.backends.lanes import padded_shape
from tinyrt.backends.lines import ROWS, LanesStrip
from tinyrt.backends.numba.abi import Call, row_of, subroutine
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.finish import LANE_BYTES, QUANT_BYTES
from tinyrt.backends.numba.line import depthwise_strip
from tinyrt.backends.numba.rows import Border, Images, Output
from tinyrt.backends.numba.vector import LANES
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.windowed import ConvolutionS8

_one, _two, _three, _four = (depthwise_strip(fours) for fours in (1, 2, 3, 4))


class Strip(NamedTuple):
    """The fields of ``LanesStrip``."""

    fours: int
    outputs: int
    channels: int
    w: int
    quant: int


class Row(NamedTuple):
    """Arguments of ``depthwise_strip_s8``: sizes, and addresses of what ``pack_strip`` prepared."""

    x: int
    y: int
    scratch: int
    images: Images
    border: Border
    copies: int
    strip: Strip
    out: Output


def depthwise_strip_s8(address: int) -> None:
    """Compute all samples."""
    p = row_of(address, Row)
    images, strip = p.images, p.strip
    image_bytes = images.height * images.width * images.channels
    for n in range(images.batch):
        pad_flip(p.x + n * image_bytes, images, p.copies, p.scratch, p.border)
        y = p.y + n * strip.outputs * strip.channels
        for v in range((strip.channels + LANES - 1) // LANES):
            _vector(p.scratch + v * LANES, v, y + v * LANES, strip, p.out)


@subroutine
def _vector(x: int, v: int, y: int, p: Strip, out: Output) -> None:
    """Compute one vector of channels."""
    w, quant = p.w + v * p.fours * LANE_BYTES, p.quant + v * QUANT_BYTES
    step, left = p.channels, p.channels - v * LANES
    if p.fours == 1:
        _one(x, step, w, quant, y, step, p.outputs, left, out)
    elif p.fours == 2:
        _two(x, step, w, quant, y, step, p.outputs, left, out)
    elif p.fours == 3:
        _three(x, step, w, quant, y, step, p.outputs, left, out)
    else:
        _four(x, step, w, quant, y, step, p.outputs, left, out)


def pack_strip(node: BoundNode, p: ConvolutionS8, packed: LanesStrip, workspace: Workspace) -> Call:
    """The arguments of a layer that has been packed."""
    x, c_out = node.input(0), node.output.shape[3]
    height, width = padded_shape(p.window, x.shape)
    # Fours reach behind the last window.
    workspace.need_scratch((height * width + ROWS) * c_out)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(node.output),
        scratch=0,
        images=Images(*x.shape),
        border=Border(height, width, *p.window.before, fill=p.x_zp + SIGN),
        copies=c_out // x.shape[3],
        strip=Strip(
            packed.fours,
            packed.outputs,
            c_out,
            workspace.pack(packed.w),
            workspace.pack(packed.quant),
        ),
        out=Output.of(p.requant, packed.finish),
    )
    return Call(depthwise_strip_s8, row)
