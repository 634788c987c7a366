"""depthwise_conv2d in int8 where windows along a line share what they read."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.finishes import SIGN
from tinyrt.backends.lanes import padded_shape
from tinyrt.backends.lines import ROWS, LanesLines
from tinyrt.backends.numba.abi import Call, row_of, subroutine
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.finish import QUANT_BYTES
from tinyrt.backends.numba.line import depthwise_line, depthwise_strip
from tinyrt.backends.numba.rows import Border, Images, Output
from tinyrt.backends.numba.vector import LANES
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.windowed import ConvolutionS8

_one = depthwise_line(stride=2, together=1)
_two = depthwise_line(stride=1, together=2)
_two_of_pairs = depthwise_line(stride=2, together=2)
_strip1, _strip2, _strip3, _strip4 = (depthwise_strip(fours) for fours in (1, 2, 3, 4))


class Lines(NamedTuple):
    """The fields of ``LanesLines``."""

    fours: int
    together: int
    stride: int
    height: int
    width: int
    channels: int
    rows: int
    column: int
    row_step: int
    w: int
    w_bytes: int
    quant: int


class Row(NamedTuple):
    """Arguments of ``depthwise_lines_s8``: sizes, and addresses of what ``pack_lines`` prepared.

    Each input channel has ``copies`` output channels.
    """

    x: int
    y: int
    scratch: int
    images: Images
    border: Border
    copies: int
    lines: Lines
    out: Output


def depthwise_lines_s8(address: int) -> None:
    """Compute all samples."""
    p = row_of(address, Row)
    images, lines = p.images, p.lines
    image_bytes = images.height * images.width * images.channels
    for n in range(images.batch):
        pad_flip(p.x + n * image_bytes, images, p.copies, p.scratch, p.border)
        y = p.y + n * lines.height * lines.width * lines.channels
        for v in range((lines.channels + LANES - 1) // LANES):
            if lines.fours:
                _strip(p.scratch + v * LANES, v, y + v * LANES, lines, p.out)
            else:
                _columns(p.scratch + v * LANES, v, y + v * LANES, lines, p.out)


@subroutine
def _strip(x: int, v: int, y: int, p: Lines, out: Output) -> None:
    """Compute one vector of channels of a strip."""
    w, quant = p.w + v * p.w_bytes, p.quant + v * QUANT_BYTES
    left, step = p.channels - v * LANES, p.channels
    if p.fours == 1:
        _strip1(x, p.column, w, quant, y, step, p.width, left, out)
    elif p.fours == 2:
        _strip2(x, p.column, w, quant, y, step, p.width, left, out)
    elif p.fours == 3:
        _strip3(x, p.column, w, quant, y, step, p.width, left, out)
    else:
        _strip4(x, p.column, w, quant, y, step, p.width, left, out)


@subroutine
def _columns(x: int, v: int, y: int, p: Lines, out: Output) -> None:
    """Compute one vector of channels for all lines."""
    w, quant = p.w + v * p.w_bytes, p.quant + v * QUANT_BYTES
    left, step = p.channels - v * LANES, p.channels
    y_line = p.width * step
    for start in range(0, p.height, p.together):
        # The last two lines overlap those before them rather than leave a single one.
        i = min(start, p.height - p.together)
        at, y_at = x + i * p.row_step, y + i * y_line
        if p.together == 1:
            _one(at, p.rows, p.column, w, quant, y_at, y_line, step, p.width, left, out)
        elif p.stride == 1:
            _two(at, p.rows, p.column, w, quant, y_at, y_line, step, p.width, left, out)
        else:
            _two_of_pairs(at, p.rows, p.column, w, quant, y_at, y_line, step, p.width, left, out)


def pack_lines(node: BoundNode, p: ConvolutionS8, packed: LanesLines, workspace: Workspace) -> Call:
    """The arguments of a layer that has been packed."""
    x, c_out = node.input(0), node.output.shape[3]
    height, width = padded_shape(p.window, x.shape)
    # Fours reach behind the last window of a strip.
    workspace.need_scratch((height * width + (ROWS if packed.fours else 0)) * c_out)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(node.output),
        scratch=0,
        images=Images(*x.shape),
        border=Border(height, width, *p.window.before, fill=p.x_zp + SIGN),
        copies=c_out // x.shape[3],
        lines=Lines(
            packed.fours,
            packed.together,
            packed.stride,
            packed.height,
            packed.width,
            packed.channels,
            workspace.pack(packed.rows),
            packed.column,
            packed.row_step,
            workspace.pack(packed.w),
            packed.w[0].nbytes,
            workspace.pack(packed.quant),
        ),
        out=Output.of(p.requant, packed.finish),
    )
    return Call(depthwise_lines_s8, row)
