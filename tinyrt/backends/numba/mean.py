"""mean in int8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, row_of, s8_at
from tinyrt.backends.numba.fixedpoint import requant, saturate
from tinyrt.backends.numba.movement import place_of
from tinyrt.backends.numba.rows import Axes, Scale
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.mean import MeanS8
from tinyrt.ops.shared.walks import merge_axes, strides_of


class Summed(NamedTuple):
    """The elements that one output sums: runs of ``length`` elements, ``step`` apart."""

    runs: int
    axes: Axes
    length: int
    step: int


class Row(NamedTuple):
    """Arguments of ``mean_s8``: axes that are kept, and axes that are summed up, of the input.

    The addresses of outputs' first elements, and of runs, follow from their indices along these.
    """

    x: int
    y: int
    outputs: int
    outer: Axes
    summed: Summed
    x_zp: int
    scale: Scale
    y_zp: int


def mean_s8(address: int) -> None:
    """``clamp(requant(sum(x - x_zp)) + y_zp)``."""
    p = row_of(address, Row)
    y = s8_at(p.y)
    for i in range(p.outputs):
        first = p.x + place_of(i, p.outer)
        total = np.int64(0)
        for r in range(p.summed.runs):
            x = s8_at(first + place_of(r, p.summed.axes))
            for j in range(p.summed.length):
                total += x[j * p.summed.step]
        total -= p.x_zp * p.summed.runs * p.summed.length
        scaled = requant(total, p.scale.mult, p.scale.left, p.scale.right)
        y[i] = saturate(scaled + p.y_zp, INT8_MIN, INT8_MAX)


def pack(node: BoundNode, p: MeanS8, workspace: Workspace) -> Call:
    """Pack tables of the kept axes and of the reduced axes."""
    x, y = node.input(0), node.output
    strides = strides_of(x.shape)
    outer = [i for i in range(len(x.shape)) if i not in p.axes]
    outer_dims, (outer_steps,) = _axes(x.shape, strides, outer)
    (*dims, run), ((*steps, step),) = _axes(x.shape, strides, p.axes)
    tables = [workspace.pack(np.array(t, np.int64)) for t in (outer_dims, outer_steps, dims, steps)]
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        outputs=y.size,
        outer=Axes(len(outer_dims), *tables[:2]),
        summed=Summed(math.prod(dims), Axes(len(dims), *tables[2:]), run, step),
        x_zp=p.x_zp,
        scale=Scale.of(p.mult, p.shift),
        y_zp=p.y_zp,
    )
    return Call(mean_s8, row)


def _axes(
    shape: Shape, strides: Sequence[int], axes: Sequence[int]
) -> tuple[list[int], tuple[list[int], ...]]:
    return merge_axes([shape[i] for i in axes], [strides[i] for i in axes])
