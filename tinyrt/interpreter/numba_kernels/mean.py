"""mean in int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.interpreter.numba_kernels.abi import Call, row_of, s8_at, s64_at
from tinyrt.interpreter.numba_kernels.fixedpoint import requant, saturate
from tinyrt.interpreter.numba_kernels.movement import index_offsets
from tinyrt.interpreter.numba_kernels.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.mean import MeanS8


class Row(NamedTuple):
    """Arguments of ``mean_s8``; ``kept`` and ``summed`` are tables of offsets into the input."""

    x: int
    y: int
    outputs: int
    kept: int
    summed: int
    per_output: int
    x_zp: int
    mult: int
    left: int
    right: int
    y_zp: int


def mean_s8(address: int) -> None:
    """``clamp(requant(sum(x - x_zp)) + y_zp)``."""
    p = row_of(address, Row)
    y, kept, summed = s8_at(p.y), s64_at(p.kept), s64_at(p.summed)
    for i in range(p.outputs):
        x = s8_at(p.x + kept[i])
        total = np.int64(0)
        for j in range(p.per_output):
            total += x[summed[j]]
        scaled = requant(total - p.x_zp * p.per_output, p.mult, p.left, p.right)
        y[i] = saturate(scaled + p.y_zp, INT8_MIN, INT8_MAX)


def pack(node: BoundNode, p: MeanS8, workspace: Workspace) -> Call:
    """Where the outputs start in the input, and what each adds up from there."""
    x, y = node.input(0), node.output
    kept = index_offsets(x.shape, [i for i in range(len(x.shape)) if i not in p.axes])
    summed = index_offsets(x.shape, sorted(p.axes))
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        outputs=y.size,
        kept=workspace.pack(kept),
        summed=workspace.pack(summed),
        per_output=p.count,
        x_zp=p.x_zp,
        mult=p.mult,
        left=max(p.shift, 0),
        right=max(-p.shift, 0),
        y_zp=p.y_zp,
    )
    return Call(mean_s8, row)
