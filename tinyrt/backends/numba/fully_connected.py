"""fully_connected in int8."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.lanes import lanes_dense
from tinyrt.backends.numba.abi import Call, row_of
from tinyrt.backends.numba.border import flip
from tinyrt.backends.numba.product import product
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.fully_connected import FullyConnectedS8


class Row(NamedTuple):
    """Arguments of ``fully_connected_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    rows: int
    length: int
    offsets: int
    steps: int
    step_count: int
    w: int
    quant: int
    c_out: int
    y_zp: int
    act_min: int
    act_max: int


def fully_connected_s8(address: int) -> None:
    """All rows."""
    p = row_of(address, Row)
    flip(p.x, p.scratch, p.rows * p.length)
    product(
        p.scratch,
        p.rows,
        p.offsets,
        p.steps,
        p.step_count,
        p.w,
        p.quant,
        p.y,
        p.c_out,
        p.c_out,
        p.y_zp,
        p.act_min,
        p.act_max,
    )


def pack(node: BoundNode, p: FullyConnectedS8, workspace: Workspace) -> Call:
    """Weights in the order of the tiles."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out, length = weights.shape
    rows = x.size // length
    workspace.need_scratch(x.size)
    packed = lanes_dense(rows, weights, workspace.bias(node), p.x_zp, p.requant)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        rows=rows,
        length=length,
        offsets=workspace.pack(packed.offsets),
        steps=workspace.pack(packed.steps),
        step_count=len(packed.steps),
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        c_out=c_out,
        y_zp=p.requant.y_zp,
        act_min=p.requant.act_min,
        act_max=p.requant.act_max,
    )
    return Call(fully_connected_s8, row)
