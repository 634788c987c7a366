"""average_pool2d and max_pool2d in int8: sums or maxima of whole runs of channels."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.numba.abi import Call, row_of, s8_at, s32_at, subroutine
from tinyrt.backends.numba.fixedpoint import saturate
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.pool import Pool2dS8


class Row(NamedTuple):
    """Arguments of both kernels."""

    x: int
    y: int
    scratch: int
    batch: int
    height: int
    width: int
    channels: int
    out_height: int
    out_width: int
    kernel_height: int
    kernel_width: int
    stride_height: int
    stride_width: int
    top: int
    left: int
    act_min: int
    act_max: int


@subroutine
def reach(at: int, stride: int, before: int, kernel: int, size: int) -> tuple[int, int]:
    """First and one past the last element under window ``at`` that lie inside the input."""
    start = at * stride - before
    return max(start, 0), min(start + kernel, size)


def average_pool2d_s8(address: int) -> None:
    """``clamp(round(sum / count))`` of raw values, halves away from zero."""
    p = row_of(address, Row)
    sums = s32_at(p.scratch)
    for n in range(p.batch):
        for i in range(p.out_height):
            top, bottom = reach(i, p.stride_height, p.top, p.kernel_height, p.height)
            for j in range(p.out_width):
                left, right = reach(j, p.stride_width, p.left, p.kernel_width, p.width)
                for c in range(p.channels):
                    sums[c] = 0
                for h in range(top, bottom):
                    for w in range(left, right):
                        x = s8_at(p.x + ((n * p.height + h) * p.width + w) * p.channels)
                        for c in range(p.channels):
                            sums[c] += x[c]
                count = (bottom - top) * (right - left)
                y = s8_at(p.y + ((n * p.out_height + i) * p.out_width + j) * p.channels)
                for c in range(p.channels):
                    rounded = (abs(sums[c]) + count // 2) // count
                    mean = -rounded if sums[c] < 0 else rounded
                    y[c] = saturate(mean, p.act_min, p.act_max)


def max_pool2d_s8(address: int) -> None:
    """``clamp(max)`` of raw values."""
    p = row_of(address, Row)
    for n in range(p.batch):
        for i in range(p.out_height):
            top, bottom = reach(i, p.stride_height, p.top, p.kernel_height, p.height)
            for j in range(p.out_width):
                left, right = reach(j, p.stride_width, p.left, p.kernel_width, p.width)
                y = s8_at(p.y + ((n * p.out_height + i) * p.out_width + j) * p.channels)
                for c in range(p.channels):
                    y[c] = INT8_MIN
                for h in range(top, bottom):
                    for w in range(left, right):
                        x = s8_at(p.x + ((n * p.height + h) * p.width + w) * p.channels)
                        for c in range(p.channels):
                            y[c] = max(x[c], y[c])
                for c in range(p.channels):
                    y[c] = saturate(y[c], p.act_min, p.act_max)


def pack_average(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Scratch memory for one sum per channel."""
    workspace.need_scratch(4 * node.output.shape[3])
    return Call(average_pool2d_s8, _row(node, p, workspace))


def pack_max(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Nothing to prepare."""
    return Call(max_pool2d_s8, _row(node, p, workspace))


def _row(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Row:
    x, y = node.input(0), node.output
    batch, height, width, channels = x.shape
    return Row(
        workspace.tensor(x),
        workspace.tensor(y),
        0,
        batch,
        height,
        width,
        channels,
        *p.window.out,
        *p.window.kernel,
        *p.window.stride,
        *p.window.before,
        p.act_min,
        p.act_max,
    )
