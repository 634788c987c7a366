"""softmax, logistic and tanh on int16: tables, and lines between their entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba import softmax
from tinyrt.backends.numba.abi import Call, Int, row_of, s16_at, s64_at, subroutine
from tinyrt.backends.numba.fixedpoint import requant
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.table_s16 import SigmoidS16, sigmoid_table
from tinyrt.ops.softmax import SoftmaxS8, SoftmaxS16


class SoftmaxRow(NamedTuple):
    """Arguments of ``softmax_s16``; tables and scratch are int64."""

    x: int
    y: int
    scratch: int
    rows: int
    length: int
    mult: int
    left: int
    right: int
    exponentials: int
    reciprocals: int


class SigmoidRow(NamedTuple):
    """Arguments of ``logistic_s16`` and ``tanh_s16``; the table is int64."""

    x: int
    y: int
    size: int
    mult: int
    right: int
    table: int


@subroutine
def _between(table: int, x: Int) -> Int:
    """The interpolated table at a position of int16."""
    entries = s64_at(table)
    index = 256 + (x >> 7)
    slope = entries[index + 1] - entries[index]
    return np.int64(entries[index] + ((slope * (x & 0x7F) + 64) >> 7))


@subroutine
def _saturate(x: Int) -> Int:
    return min(max(x, INT16_MIN), INT16_MAX)


def softmax_s16(address: int) -> None:
    """``exp`` by table, summed in Q16.15, times the sum's reciprocal, also by table."""
    p = row_of(address, SoftmaxRow)
    raised = s64_at(p.scratch)
    for r in range(p.rows):
        x, y = s16_at(p.x + 2 * r * p.length), s16_at(p.y + 2 * r * p.length)
        greatest = np.int64(INT16_MIN)
        for i in range(p.length):
            greatest = max(greatest, np.int64(x[i]))
        total = np.int64(0)
        for i in range(p.length):
            scaled = requant(np.int64(x[i]) - greatest, p.mult, p.left, p.right) + INT16_MAX
            raised[i] = _between(p.exponentials, _saturate(scaled))
            total += raised[i]
        bits = 0
        while total >> bits:
            bits += 1
        headroom = 31 - bits
        shifted = total << headroom if headroom >= 0 else total >> -headroom
        position = _saturate(((shifted + (1 << 13)) >> 14) - (1 << 15) - (1 << 16))
        reciprocal, right = _between(p.reciprocals, position), 30 - headroom
        for i in range(p.length):
            out = (raised[i] * reciprocal + ((np.int64(1) << right) >> 1)) >> right
            y[i] = np.int16(min(max(out, 0), INT16_MAX))


@subroutine
def sigmoid_at(table: int, magnitude: Int, bits: int, beyond: int) -> Int:
    """The sigmoid's table between its entries, ``beyond`` behind its end."""
    entries = s64_at(table)
    index = magnitude >> bits
    if index >= 255:
        return np.int64(beyond)
    rest = magnitude & ((1 << bits) - 1)
    return np.int64((entries[index] << bits) + rest * (entries[index + 1] - entries[index]))


@subroutine
def logistic(table: int, mult: int, right: int, x: Int) -> Int:
    """``1 / (1 + exp(-x))`` in Q0.15."""
    position = (x * mult + ((np.int64(1) << right) >> 1)) >> right
    value = sigmoid_at(table, max(position, -position), 9, 0x7FFF << 10)
    return (value + 512 if position >= 0 else (1 << 25) - value + 511) >> 10


@subroutine
def tanh(table: int, mult: int, right: int, x: Int) -> Int:
    """Hyperbolic tangent in Q0.15."""
    position = (x * mult + ((np.int64(1) << right) >> 1)) >> right
    value = sigmoid_at(table, max(position, -position), 8, 0xFFFF << 8) - (1 << 23)
    return (value + 128 if position >= 0 else 127 - value) >> 8


def logistic_s16(address: int) -> None:
    """Interpolate each element in the table."""
    p = row_of(address, SigmoidRow)
    x, y = s16_at(p.x), s16_at(p.y)
    for i in range(p.size):
        y[i] = np.int16(logistic(p.table, p.mult, p.right, np.int64(x[i])))


def tanh_s16(address: int) -> None:
    """Interpolate each element in the table."""
    p = row_of(address, SigmoidRow)
    x, y = s16_at(p.x), s16_at(p.y)
    for i in range(p.size):
        y[i] = np.int16(tanh(p.table, p.mult, p.right, np.int64(x[i])))


def pack_softmax(node: BoundNode, p: SoftmaxS16 | SoftmaxS8, workspace: Workspace) -> Call:
    """Both tables, and room for one row's exponentials; of int8, its own kernel."""
    if isinstance(p, SoftmaxS8):
        return softmax.pack(node, p, workspace)
    x = node.input(0)
    workspace.need_scratch(8 * x.shape[-1])
    row = SoftmaxRow(
        x=workspace.tensor(x),
        y=workspace.tensor(node.output),
        scratch=0,
        rows=x.size // x.shape[-1],
        length=x.shape[-1],
        mult=p.mult,
        left=max(p.shift, 0),
        right=max(-p.shift, 0),
        exponentials=workspace.pack(p.exponentials.astype(np.int64)),
        reciprocals=workspace.pack(p.reciprocals.astype(np.int64)),
    )
    return Call(softmax_s16, row)


def _sigmoid_row(node: BoundNode, p: SigmoidS16, workspace: Workspace) -> SigmoidRow:
    x, y = workspace.tensor(node.input(0)), workspace.tensor(node.output)
    return SigmoidRow(x, y, node.output.size, p.mult, p.right, workspace.pack(sigmoid_table()))


def pack_logistic(node: BoundNode, p: SigmoidS16, workspace: Workspace) -> Call:
    """The table, and where to read and write."""
    return Call(logistic_s16, _sigmoid_row(node, p, workspace))


def pack_tanh(node: BoundNode, p: SigmoidS16, workspace: Workspace) -> Call:
    """Pack the table and the addresses, as for logistic."""
    return Call(tanh_s16, _sigmoid_row(node, p, workspace))
