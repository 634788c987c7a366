"""average_pool2d, max_pool2d and mean on int16."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.numba import mean, pool
from tinyrt.backends.numba.abi import Call, row_of, s16_at, s64_at
from tinyrt.backends.numba.fixedpoint import requant
from tinyrt.backends.numba.movement import place_of
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.mean import MeanS8
from tinyrt.ops.shared.pool import Pool2dS8

TWO_BYTES = 2


def average_pool2d_s16(address: int) -> None:
    """``clamp(round(sum / count))`` of raw values, halves away from zero."""
    p = row_of(address, pool.Row)
    sums = s64_at(p.scratch)
    for n in range(p.batch):
        for i in range(p.rows.outputs):
            top, bottom = pool.reach(i, p.rows)
            for j in range(p.columns.outputs):
                left, right = pool.reach(j, p.columns)
                for c in range(p.channels):
                    sums[c] = 0
                for h in range(top, bottom):
                    for w in range(left, right):
                        at = ((n * p.rows.inputs + h) * p.columns.inputs + w) * p.channels
                        x = s16_at(p.x + TWO_BYTES * at)
                        for c in range(p.channels):
                            sums[c] += x[c]
                count = (bottom - top) * (right - left)
                place = ((n * p.rows.outputs + i) * p.columns.outputs + j) * p.channels
                y = s16_at(p.y + TWO_BYTES * place)
                for c in range(p.channels):
                    rounded = (abs(sums[c]) + count // 2) // count
                    mean = -rounded if sums[c] < 0 else rounded
                    y[c] = np.int16(min(max(mean, p.low), p.high))


def max_pool2d_s16(address: int) -> None:
    """``clamp(max)`` of raw values."""
    p = row_of(address, pool.Row)
    for n in range(p.batch):
        for i in range(p.rows.outputs):
            top, bottom = pool.reach(i, p.rows)
            for j in range(p.columns.outputs):
                left, right = pool.reach(j, p.columns)
                place = ((n * p.rows.outputs + i) * p.columns.outputs + j) * p.channels
                y = s16_at(p.y + TWO_BYTES * place)
                for c in range(p.channels):
                    y[c] = np.int16(INT16_MIN)
                for h in range(top, bottom):
                    for w in range(left, right):
                        at = ((n * p.rows.inputs + h) * p.columns.inputs + w) * p.channels
                        x = s16_at(p.x + TWO_BYTES * at)
                        for c in range(p.channels):
                            y[c] = max(x[c], y[c])
                for c in range(p.channels):
                    y[c] = np.int16(min(max(np.int64(y[c]), p.low), p.high))


def mean_s16(address: int) -> None:
    """``clamp(requant(sum(x - x_zp)) + y_zp)``."""
    p = row_of(address, mean.Row)
    y = s16_at(p.y)
    for i in range(p.outputs):
        first = place_of(i, p.outer)
        total = np.int64(0)
        for r in range(p.summed.runs):
            place = first + place_of(r, p.summed.axes)
            x = s16_at(p.x + TWO_BYTES * place)
            for j in range(p.summed.length):
                total += x[j * p.summed.step]
        total -= p.x_zp * p.summed.runs * p.summed.length
        scaled = requant(total, p.scale.mult, p.scale.left, p.scale.right)
        y[i] = np.int16(min(max(scaled + p.y_zp, INT16_MIN), INT16_MAX))


def pack_average(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Scratch memory for one sum per channel."""
    workspace.need_scratch(8 * node.output.shape[3])
    return pool.pack_max(node, p, workspace)._replace(kernel=average_pool2d_s16)


def pack_max(node: BoundNode, p: Pool2dS8, workspace: Workspace) -> Call:
    """Pack the arguments; the kernel needs no scratch memory."""
    return pool.pack_max(node, p, workspace)._replace(kernel=max_pool2d_s16)


def pack_mean(node: BoundNode, p: MeanS8, workspace: Workspace) -> Call:
    """As for int8."""
    return mean.pack(node, p, workspace)._replace(kernel=mean_s16)
