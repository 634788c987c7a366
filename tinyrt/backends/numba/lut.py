"""Ops that are tables of 256 entries: logistic, tanh, the ReLU family, int8 to int8."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.numba.abi import Call, row_of, s8_at, u8_at
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.lut import LutS8


class Row(NamedTuple):
    """Arguments of ``lut_s8``."""

    x: int
    y: int
    size: int
    table: int


def lut_s8(address: int) -> None:
    """``table[x]``, indexed by the byte read as unsigned."""
    p = row_of(address, Row)
    x, y, table = u8_at(p.x), s8_at(p.y), s8_at(p.table)
    for i in range(p.size):
        y[i] = table[x[i]]


def pack(node: BoundNode, p: LutS8, workspace: Workspace) -> Call:
    """Pack the table and the addresses of input and output."""
    x, y = node.input(0), node.output
    row = Row(workspace.tensor(x), workspace.tensor(y), x.size, workspace.pack(p.table))
    return Call(lut_s8, row)
