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


class Sizes(NamedTuple):
    """Sizes of an LSTM, and whether steps, rather than samples, are the first axis."""

    samples: int
    steps: int
    c_in: int
    units: int
    time_major: int


class Hidden(NamedTuple):
    """Addresses of the hidden state before and after a run, and the limits of its values."""

    before: int
    after: int
    zero_point: int
    low: int
    high: int


class Cell(NamedTuple):
    """Where the cell state lies; what it is clipped to, if not 0; how tanh's table reads it."""

    before: int
    after: int
    clip: int
    tanh_mult: int
    tanh_right: int


class Constants(NamedTuple):
    """Addresses of weights, biases and tables.

    Attributes:
        w: weights of the input, all gates one behind the other; ``r``: of the hidden state.
        gates: mantissa and right (wide) or left shift of each gate, for the input, then the state.
        products: mantissa and left shift of forget, update and output.
        table: of sigmoid and tanh.

    """

    w: int
    r: int
    bias: int
    gates: int
    products: int
    table: int


class Row(NamedTuple):
    """Arguments of ``lstm``.

    Attributes:
        wide: whether activations are int16.
        scratch: int64: the input's row and the hidden state, without their zero points, and gates.

    """

    x: int
    y: int
    scratch: int
    x_zp: int
    wide: int
    sizes: Sizes
    hidden: Hidden
    cell: Cell
    constants: Constants


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
    constants = s64_at(p.constants.gates + 16 * gate)
    mult, shift = constants[0], constants[1]
    if p.wide:
        return _saturate((acc * mult + (np.int64(1) << (shift - 1))) >> shift)
    left = max(shift, 0)
    return _saturate(requant(acc, mult, left, left - shift))


@subroutine
def _times(p: Row, which: int, value: Int) -> Int:
    """A product of two states of 16 bits, rescaled."""
    constants = s64_at(p.constants.products + 16 * which)
    left = max(constants[1], 0)
    return requant(value, constants[0], left, left - constants[1])


@subroutine
def _unit(p: Row, u: int, before: Int) -> tuple[Int, Int]:
    """The cell state and the hidden state of a unit, computed from its gates."""
    units, table, state = p.sizes.units, p.constants.table, p.cell
    gates = s64_at(p.scratch + 8 * (p.sizes.c_in + units))
    i, f, g, o = gates[u], gates[units + u], gates[2 * units + u], gates[3 * units + u]
    memory = _saturate(_times(p, 0, logistic(table, 3, 0, f) * before))
    update = _saturate(_times(p, 1, logistic(table, 3, 0, i) * tanh(table, 3, 0, g)))
    cell = _saturate(memory + update)
    if state.clip > 0:
        cell = min(max(cell, -state.clip), state.clip)
    shown = logistic(table, 3, 0, o) * tanh(table, state.tanh_mult, state.tanh_right, cell)
    hidden = min(max(_times(p, 2, shown) + p.hidden.zero_point, p.hidden.low), p.hidden.high)
    return cell, hidden


@subroutine
def _step(p: Row, hidden: int, target: int, cells: int, next_cells: int) -> None:
    """One step of one sample, whose input is loaded."""
    c_in, units, weights = p.sizes.c_in, p.sizes.units, p.constants
    values, states = p.scratch, p.scratch + 8 * c_in
    gates, bias = s64_at(states + 8 * units), s64_at(weights.bias)
    _load(hidden, p.wide, p.hidden.zero_point, states, units)
    for gate in range(4):
        for row in range(gate * units, (gate + 1) * units):
            from_x = _product(p, gate, values, weights.w + row * c_in, c_in, bias[row])
            from_h = _product(p, 4 + gate, states, weights.r + row * units, units, 0)
            gates[row] = _saturate(from_x + from_h)
    c_old, c_new = s16_at(cells), s16_at(next_cells)
    for u in range(units):
        cell, value = _unit(p, u, np.int64(c_old[u]))
        c_new[u] = np.int16(cell)
        if p.wide:
            s16_at(target)[u] = np.int16(value)
        else:
            s8_at(target)[u] = np.int8(value)


def lstm(address: int) -> None:
    """Compute sample by sample, step by step."""
    p = row_of(address, Row)
    size = 2 if p.wide else 1
    samples, steps, c_in, units = p.sizes.samples, p.sizes.steps, p.sizes.c_in, p.sizes.units
    for n in range(samples):
        hidden, cells = p.hidden.before + size * n * units, p.cell.before + 2 * n * units
        next_cells = p.cell.after + 2 * n * units
        for t in range(steps):
            place = t * samples + n if p.sizes.time_major else n * steps + t
            _load(p.x + size * place * c_in, p.wide, p.x_zp, p.scratch, c_in)
            target = p.y + size * place * units
            _step(p, hidden, target, cells, next_cells)
            hidden, cells = target, next_cells
        last, state = s8_at(hidden), s8_at(p.hidden.after + size * n * units)
        for i in range(size * units):
            state[i] = last[i]


def pack(node: BoundNode, p: LstmInteger, workspace: Workspace) -> Call:
    """Pack the gates' weights one behind the other; pass all other tensors by address."""
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
        scratch=0,
        x_zp=p.x_zp,
        wide=int(p.h_dtype is DType.INT16),
        sizes=Sizes(samples, steps, c_in, units, int(p.time_major)),
        hidden=Hidden(
            before=workspace.tensor(node.input(HIDDEN)),
            after=workspace.tensor(node.outputs[1]),
            zero_point=p.h_zp,
            low=least,
            high=most,
        ),
        cell=Cell(
            before=workspace.tensor(node.input(CELL)),
            after=workspace.tensor(node.outputs[2]),
            clip=p.cell_clip,
            tanh_mult=p.cell_tanh.mult,
            tanh_right=p.cell_tanh.right,
        ),
        constants=Constants(
            w=workspace.pack(w),
            r=workspace.pack(r),
            bias=workspace.pack(bias.astype(np.int64)),
            gates=workspace.pack(np.array([_pair(g) for g in (*p.from_x, *p.from_h)], np.int64)),
            products=workspace.pack(np.array([p.forget, p.update, p.output], np.int64)),
            table=workspace.pack(sigmoid_table()),
        ),
    )
    return Call(lstm, row)


def _pair(requant: Requant | WideRequant) -> tuple[int, int]:
    shift = requant.right if isinstance(requant, WideRequant) else requant.shift
    return int(requant.mult[0]), int(shift[0])
