"""average_pool2d and max_pool2d in int8: sums or maxima of whole runs of channels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, row_of, s8_at, s32_at, subroutine
from tinyrt.backends.numba.fixedpoint import saturate
from tinyrt.backends.numba.rows import Slide
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
    rows: Slide
    columns: Slide
    channels: int
    low: int
    high: int
    legacy: int


@subroutine
def reach(at: int, slide: Slide) -> tuple[int, int]:
    """First and one past the last element under window ``at`` that lie inside the input."""
    start = at * slide.stride - slide.before
    return max(start, 0), min(start + slide.kernel, slide.inputs)


def average_pool2d_s8(address: int) -> None:
    """``clamp(round(sum / count))`` of raw values, halves away from zero, or up."""
    p = row_of(address, Row)
    sums = s32_at(p.scratch)
    for n in range(p.batch):
        for i in range(p.rows.outputs):
            top, bottom = reach(i, p.rows)
            for j in range(p.columns.outputs):
                left, right = reach(j, p.columns)
                for c in range(p.channels):
                    sums[c] = 0
                for h in range(top, bottom):
                    for w in range(left, right):
                        at = ((n * p.rows.inputs + h) * p.columns.inputs + w) * p.channels
                        x = s8_at(p.x + at)
                        for c in range(p.channels):
                            sums[c] += x[c]
                count = (bottom - top) * (right - left)
                y = s8_at(p.y + ((n * p.rows.outputs + i) * p.columns.outputs + j) * p.channels)
                # Half a unit more never reaches the next multiple: the quotient is exact.
                half, scale = count // 2 + 0.5, 1.0 / count
                for c in range(p.channels):
                    rounded = np.int64(np.int32((abs(sums[c]) + half) * scale))
                    mean = -rounded if sums[c] < 0 else rounded
                    if p.legacy:
                        mean = np.int64(np.floor((sums[c] + half) * scale))
                    y[c] = saturate(mean, p.low, p.high)


def max_pool2d_s8(address: int) -> None:
    """``clamp(max)`` of raw values."""
    p = row_of(address, Row)
    for n in range(p.batch):
        for i in range(p.rows.outputs):
            top, bottom = reach(i, p.rows)
            for j in range(p.columns.outputs):
                left, right = reach(j, p.columns)
                y = s8_at(p.y + ((n * p.rows.outputs + i) * p.columns.outputs + j) * p.channels)
                for c in range(p.channels):
                    y[c] = INT8_MIN
                for h in range(top, bottom):
                    for w in range(left, right):
                        at = ((n * p.rows.inputs + h) * p.columns.inputs + w) * p.channels
                        x = s8_at(p.x + at)
                        for c in range(p.channels):
                            y[c] = max(x[c], y[c])
                for c in range(p.channels):
                    y[c] = saturate(y[c], p.low, p.high)


def pack_average(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Scratch memory for one sum per channel."""
    workspace.need_scratch(4 * node.output.shape[3])
    return Call(average_pool2d_s8, _row(node, p, workspace))


def pack_max(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Pack the arguments; the kernel needs no scratch memory."""
    return Call(max_pool2d_s8, _row(node, p, workspace))


def _row(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Row:
    x, y = node.input(0), node.output
    return Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        batch=x.shape[0],
        rows=Slide.of(p.window, x.shape[1], y.shape[1], 0),
        columns=Slide.of(p.window, x.shape[2], y.shape[2], 1),
        channels=x.shape[3],
        low=p.act_min,
        high=p.act_max,
        legacy=p.legacy,
    )
