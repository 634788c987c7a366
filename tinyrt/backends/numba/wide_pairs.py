"""add, sub and mul on int16, with broadcasting."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.numba import elementwise
from tinyrt.backends.numba.abi import Call, Int, row_of, s16_at, subroutine
from tinyrt.backends.numba.elementwise import AddRow, MulRow, Walk
from tinyrt.backends.numba.fixedpoint import requant
from tinyrt.backends.numba.movement import place_of
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.add import LEFT_SHIFT_S16, AddS8
from tinyrt.ops.mul import MulS8

TWO_BYTES = 2


@subroutine
def _sum(a: Int, b: Int, sign: Int, p: AddRow) -> np.int16:
    first = requant(np.int64(a) << LEFT_SHIFT_S16, p.a_mult, 0, p.a_right)
    second = requant(np.int64(b) << LEFT_SHIFT_S16, p.b_mult, 0, p.b_right)
    total = requant(first + sign * second, p.y_mult, 0, p.y_right)
    return np.int16(min(max(total, p.act_min), p.act_max))


@subroutine
def _sums(p: AddRow, sign: Int) -> None:
    walk = row_of(p.walk, Walk)
    for r in range(walk.blocks * walk.rows):
        first, second = _starts(walk, r)
        a, b = s16_at(first), s16_at(second)
        y = s16_at(walk.y + TWO_BYTES * r * walk.length)
        for i in range(walk.length):
            y[i] = _sum(a[i * walk.a.step], b[i * walk.b.step], sign, p)


@subroutine
def _starts(walk: Walk, r: Int) -> tuple[Int, Int]:
    """Where both inputs of a run begin."""
    block, row = r // walk.rows, r % walk.rows
    a = place_of(block, walk.a.axes) + row * walk.a.row
    b = place_of(block, walk.b.axes) + row * walk.b.row
    return walk.a.at + TWO_BYTES * a, walk.b.at + TWO_BYTES * b


def add_s16(address: int) -> None:
    """``clamp(requant(rescale(a) + rescale(b)))``."""
    _sums(row_of(address, AddRow), np.int64(1))


def sub_s16(address: int) -> None:
    """``clamp(requant(rescale(a) - rescale(b)))``."""
    _sums(row_of(address, AddRow), np.int64(-1))


def mul_s16(address: int) -> None:
    """``clamp(requant(a * b))``."""
    p = row_of(address, MulRow)
    walk = row_of(p.walk, Walk)
    for r in range(walk.blocks * walk.rows):
        first, second = _starts(walk, r)
        a, b = s16_at(first), s16_at(second)
        y = s16_at(walk.y + TWO_BYTES * r * walk.length)
        for i in range(walk.length):
            product = np.int64(a[i * walk.a.step]) * np.int64(b[i * walk.b.step])
            scaled = requant(product, p.mult, p.left, p.right)
            y[i] = np.int16(min(max(scaled, p.act_min), p.act_max))


def pack_add(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``add_s16`` and its arguments."""
    return Call(add_s16, elementwise.add_row(node, p, workspace))


def pack_sub(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``sub_s16`` and its arguments."""
    return Call(sub_s16, elementwise.add_row(node, p, workspace))


def pack_mul(node: BoundNode, p: MulS8, workspace: Workspace) -> Call:
    """``mul_s16`` and its arguments."""
    return Call(mul_s16, elementwise.pack_mul(node, p, workspace).row)
