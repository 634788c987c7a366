"""softmax of int8, in int8 and int16."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt import fixedpoint
from tinyrt.backends.numba.abi import Call, Int, row_of, s8_at, s16_at, s64_at, subroutine
from tinyrt.backends.numba.fixedpoint import (
    rounding_divide_by_pot,
    rounding_doubling_high_mul,
    saturate,
    saturating_left_shift,
)
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT16_MAX, INT16_MIN, INT32_MAX
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.softmax import SUM_INTEGER_BITS, SoftmaxS8


class Row(NamedTuple):
    """Arguments of both kernels: two tables of int64, exponentials and their rounded shares."""

    x: int
    y: int
    rows: int
    length: int
    exponentials: int
    shares: int


@subroutine
def _reciprocal(x: Int, integer_bits: Int) -> tuple[Int, Int]:
    """``1 / x`` as ``tinyrt.fixedpoint.reciprocal`` computes it."""
    bits = 0
    while x >> bits:
        bits += 1
    headroom = 32 - bits
    total = ((x << headroom) - (1 << 31)) + INT32_MAX
    half = (total + 1) >> 1 if total >= 0 else -((1 - total) >> 1)
    r = 1515870810 + rounding_doubling_high_mul(half, -1010580540)
    for _ in range(3):
        error = (1 << 29) - rounding_doubling_high_mul(half, r)
        r += saturating_left_shift(rounding_doubling_high_mul(r, error), 2)
    return saturating_left_shift(r, 1), integer_bits - headroom


@subroutine
def _greatest_and_reciprocal(address: int, length: Int, table: int) -> tuple[Int, Int, Int]:
    """A row's greatest element, and the reciprocal of its sum as mantissa and exponent."""
    x, shares = s8_at(address), s64_at(table)
    greatest = np.int64(INT8_MIN)
    for i in range(length):
        greatest = max(greatest, np.int64(x[i]))
    total = np.int64(0)
    for i in range(length):
        total += shares[greatest - x[i]]
    scale, exponent = _reciprocal(total, SUM_INTEGER_BITS)
    return greatest, scale, exponent


def softmax_s8(address: int) -> None:
    """``exp`` by table, summed in Q12, times the sum's reciprocal."""
    p = row_of(address, Row)
    exponentials = s64_at(p.exponentials)
    for r in range(p.rows):
        x, y = s8_at(p.x + r * p.length), s8_at(p.y + r * p.length)
        greatest, scale, exponent = _greatest_and_reciprocal(p.x + r * p.length, p.length, p.shares)
        for i in range(p.length):
            share = rounding_doubling_high_mul(scale, exponentials[greatest - x[i]])
            out = rounding_divide_by_pot(share, exponent + 31 - 8) + INT8_MIN
            y[i] = saturate(out, INT8_MIN, INT8_MAX)


def softmax_s8_s16(address: int) -> None:
    """As ``softmax_s8``, with 16 bits behind the point."""
    p = row_of(address, Row)
    exponentials = s64_at(p.exponentials)
    for r in range(p.rows):
        x, y = s8_at(p.x + r * p.length), s16_at(p.y + 2 * r * p.length)
        greatest, scale, exponent = _greatest_and_reciprocal(p.x + r * p.length, p.length, p.shares)
        for i in range(p.length):
            share = rounding_doubling_high_mul(scale, exponentials[greatest - x[i]])
            out = rounding_divide_by_pot(share, exponent + 31 - 16) + INT16_MIN
            y[i] = np.int16(min(max(out, INT16_MIN), INT16_MAX))


def pack(node: BoundNode, p: SoftmaxS8, workspace: Workspace) -> Call:
    """Pack the tables and the addresses of input and output."""
    x, y = node.input(0), node.output
    exponentials = p.exponentials()
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        rows=x.size // x.shape[-1],
        length=x.shape[-1],
        exponentials=workspace.pack(exponentials),
        shares=workspace.pack(fixedpoint.rounding_divide_by_pot(exponentials, SUM_INTEGER_BITS)),
    )
    return Call(softmax_s8 if p.dtype is DType.INT8 else softmax_s8_s16, row)
