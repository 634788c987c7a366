"""unidirectional_sequence_lstm on int8 and int16."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import (
    Call,
    Int,
    row_of,
    s8_at,
    s16_at,
    s64_at,
    subroutine,
)
from tinyrt.backends.numba.fixedpoint import requant
from tinyrt.backends.numba.wide_tables import logistic, tanh
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.shared.table_s16 import sigmoid_table
from tinyrt.ops.unidirectional_sequence_lstm import CELL, HIDDEN, LstmInteger


class Row(NamedTuple):
    """Arguments of ``lstm``.

    Attributes:
        wide: whether activations are int16.
        scratch: int64: the input's row and the hidden state, without their zero points, and gates.
        gates: mantissa and right (wide) or left shift of each gate, for the input, then the state.
        products: mantissa and left shift of forget, update and output.

    """

    x: int
    y: int
    h_before: int
    h_after: int
    c_before: int
    c_after: int
    w: int
    r: int
    bias: int
    scratch: int
    samples: int
    steps: int
    c_in: int
    units: int
    time_major: int
    wide: int
    x_zp: int
    h_zp: int
    h_min: int
    h_max: int
    gates: int
    products: int
    cell_clip: int
    tanh_mult: int
    tanh_right: int
    table: int


@subroutine
def _saturate(x: Int) -> Int:
    return min(max(x, INT16_MIN), INT16_MAX)


@subroutine
def _load(source: int, wide: int, zero_point: int, target: int, length: int) -> None:
    """Elements without their zero point, as int64."""
    to = s64_at(target)
    if wide:
        words = s16_at(source)
        for i in range(length):
            to[i] = np.int64(words[i]) - zero_point
    else:
        values = s8_at(source)
        for i in range(length):
            to[i] = np.int64(values[i]) - zero_point


@subroutine
def _product(p: Row, gate: int, values: int, weights: int, length: int, start: Int) -> Int:
    """A row of weights times a row of values, at the gates' scale."""
    acc, a, b = np.int64(start), s64_at(values), s8_at(weights)
    for i in range(length):
        acc += a[i] * b[i]
    constants = s64_at(p.gates + 16 * gate)
    mult, shift = constants[0], constants[1]
    if p.wide:
        return _saturate((acc * mult + (np.int64(1) << (shift - 1))) >> shift)
    left = max(shift, 0)
    return _saturate(requant(acc, mult, left, left - shift))


@subroutine
def _times(p: Row, which: int, value: Int) -> Int:
    """A product of two states of 16 bits, rescaled."""
    constants = s64_at(p.products + 16 * which)
    left = max(constants[1], 0)
    return requant(value, constants[0], left, left - constants[1])


@subroutine
def _unit(p: Row, u: int, before: Int) -> tuple[Int, Int]:
    """The cell state and the hidden state of a unit, by its gates."""
    gates = s64_at(p.scratch + 8 * (p.c_in + p.units))
    i, f, g, o = gates[u], gates[p.units + u], gates[2 * p.units + u], gates[3 * p.units + u]
    kept = _saturate(_times(p, 0, logistic(p.table, 3, 0, f) * before))
    update = _saturate(_times(p, 1, logistic(p.table, 3, 0, i) * tanh(p.table, 3, 0, g)))
    cell = _saturate(kept + update)
    if p.cell_clip > 0:
        cell = min(max(cell, -p.cell_clip), p.cell_clip)
    shown = logistic(p.table, 3, 0, o) * tanh(p.table, p.tanh_mult, p.tanh_right, cell)
    hidden = min(max(_times(p, 2, shown) + p.h_zp, p.h_min), p.h_max)
    return cell, hidden


@subroutine
def _step(p: Row, hidden: int, target: int, cells: int, next_cells: int) -> None:
    """One step of one sample, whose input is loaded."""
    values, states = p.scratch, p.scratch + 8 * p.c_in
    gates, bias = s64_at(states + 8 * p.units), s64_at(p.bias)
    _load(hidden, p.wide, p.h_zp, states, p.units)
    for gate in range(4):
        for row in range(gate * p.units, (gate + 1) * p.units):
            from_x = _product(p, gate, values, p.w + row * p.c_in, p.c_in, bias[row])
            from_h = _product(p, 4 + gate, states, p.r + row * p.units, p.units, 0)
            gates[row] = _saturate(from_x + from_h)
    c_old, c_new = s16_at(cells), s16_at(next_cells)
    for u in range(p.units):
        cell, value = _unit(p, u, np.int64(c_old[u]))
        c_new[u] = np.int16(cell)
        if p.wide:
            s16_at(target)[u] = np.int16(value)
        else:
            s8_at(target)[u] = np.int8(value)


def lstm(address: int) -> None:
    """Sample by sample, step by step."""
    p = row_of(address, Row)
    size = 2 if p.wide else 1
    for n in range(p.samples):
        hidden, cells = p.h_before + size * n * p.units, p.c_before + 2 * n * p.units
        next_cells = p.c_after + 2 * n * p.units
        for t in range(p.steps):
            place = t * p.samples + n if p.time_major else n * p.steps + t
            _load(p.x + size * place * p.c_in, p.wide, p.x_zp, p.scratch, p.c_in)
            target = p.y + size * place * p.units
            _step(p, hidden, target, cells, next_cells)
            hidden, cells = target, next_cells
        last, kept = s8_at(hidden), s8_at(p.h_after + size * n * p.units)
        for i in range(size * p.units):
            kept[i] = last[i]


def pack(node: BoundNode, p: LstmInteger, workspace: Workspace) -> Call:
    """The gates' weights one behind the other, and everything else by address."""
    first, second, c_in = node.input(0).shape
    samples, steps = (second, first) if p.time_major else (first, second)
    units = node.output.shape[2]
    w, r, bias = (
        np.concatenate([np.asarray(node.input(i).data) for i in range(at, at + 4)])
        for at in (1, 5, 9)
    )
    least, most = limits_of(p.h_dtype)
    workspace.need_scratch(8 * (c_in + 5 * units))
    row = Row(
        x=workspace.tensor(node.input(0)),
        y=workspace.tensor(node.output),
        h_before=workspace.tensor(node.input(HIDDEN)),
        h_after=workspace.tensor(node.outputs[1]),
        c_before=workspace.tensor(node.input(CELL)),
        c_after=workspace.tensor(node.outputs[2]),
        w=workspace.pack(w),
        r=workspace.pack(r),
        bias=workspace.pack(bias.astype(np.int64)),
        scratch=0,
        samples=samples,
        steps=steps,
        c_in=c_in,
        units=units,
        time_major=int(p.time_major),
        wide=int(p.h_dtype is DType.INT16),
        x_zp=p.x_zp,
        h_zp=p.h_zp,
        h_min=least,
        h_max=most,
        gates=workspace.pack(np.array([_pair(g) for g in (*p.from_x, *p.from_h)], np.int64)),
        products=workspace.pack(np.array([p.forget, p.update, p.output], np.int64)),
        cell_clip=p.cell_clip,
        tanh_mult=p.cell_tanh.mult,
        tanh_right=p.cell_tanh.right,
        table=workspace.pack(sigmoid_table()),
    )
    return Call(lstm, row)


def _pair(requant: Requant | WideRequant) -> tuple[int, int]:
    shift = requant.right if isinstance(requant, WideRequant) else requant.shift
    return int(requant.mult[0]), int(shift[0])
