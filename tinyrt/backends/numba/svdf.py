"""svdf in int8, its state in int8 or int16."""

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
from tinyrt.backends.numba.fixedpoint import requant, saturate
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.svdf import STATE, SvdfS8


class Row(NamedTuple):
    """Arguments of ``svdf_s8``; time weights and biases are int64."""

    x: int
    y: int
    before: int
    after: int
    features: int
    time: int
    bias: int
    batches: int
    c_in: int
    units: int
    rank: int
    memory: int
    wide: int
    x_zp: int
    feature_mult: int
    feature_left: int
    feature_right: int
    state_min: int
    state_max: int
    state_zp: int
    time_mult: int
    time_left: int
    time_right: int
    y_zp: int


@subroutine
def _feature(p: Row, n: int, f: int) -> Int:
    """What one filter makes of the input, as the state holds it."""
    x, w = s8_at(p.x + n * p.c_in), s8_at(p.features + f * p.c_in)
    acc = np.int64(0)
    for i in range(p.c_in):
        acc += (np.int64(x[i]) - p.x_zp) * w[i]
    value = requant(acc, p.feature_mult, p.feature_left, p.feature_right)
    return min(max(value, p.state_min), p.state_max) + p.state_zp


@subroutine
def _moved_on(p: Row, filter: int, newest: Int, time: int) -> Int:
    """The filter's row, moved on by one, and its products with the time weights."""
    weights = s64_at(p.time + 8 * time * p.memory)
    at, last = filter * p.memory, p.memory - 1
    acc = np.int64(0)
    if p.wide:
        before, after = s16_at(p.before + 2 * at), s16_at(p.after + 2 * at)
        for i in range(last):
            after[i] = before[i + 1]
        after[last] = np.int16(newest)
        for i in range(p.memory):
            acc += (np.int64(after[i]) - p.state_zp) * weights[i]
    else:
        old, new = s8_at(p.before + at), s8_at(p.after + at)
        for i in range(last):
            new[i] = old[i + 1]
        new[last] = np.int8(newest)
        for i in range(p.memory):
            acc += (np.int64(new[i]) - p.state_zp) * weights[i]
    return acc


def svdf_s8(address: int) -> None:
    """Filter by filter: its newest feature, its row, its share of the output."""
    p = row_of(address, Row)
    bias, y = s64_at(p.bias), s8_at(p.y)
    filters = p.units * p.rank
    for n in range(p.batches):
        for unit in range(p.units):
            acc = bias[unit]
            for f in range(unit * p.rank, (unit + 1) * p.rank):
                acc += _moved_on(p, n * filters + f, _feature(p, n, f), f)
            wrapped = np.int64(np.int32(acc))
            value = requant(wrapped, p.time_mult, p.time_left, p.time_right) + p.y_zp
            y[n * p.units + unit] = saturate(value, INT8_MIN, INT8_MAX)


def pack(node: BoundNode, p: SvdfS8, workspace: Workspace) -> Call:
    """Addresses and multipliers."""
    x, time, bias = node.input(0), node.input(2), node.optional(3)
    filters, memory = time.shape
    units = filters // p.rank
    biases = np.zeros(units) if bias is None or bias.data is None else bias.data
    least, most = limits_of(p.state_dtype)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(node.output),
        before=workspace.tensor(node.input(STATE)),
        after=workspace.tensor(node.outputs[1]),
        features=workspace.pack(workspace.weights(node)),
        time=workspace.pack(np.asarray(time.data, np.int64)),
        bias=workspace.pack(np.asarray(biases, np.int64)),
        batches=x.shape[0],
        c_in=x.shape[1],
        units=units,
        rank=p.rank,
        memory=memory,
        wide=int(p.state_dtype is DType.INT16),
        x_zp=p.x_zp,
        feature_mult=p.feature[0],
        feature_left=max(p.feature[1], 0),
        feature_right=max(-p.feature[1], 0),
        state_min=least,
        state_max=most,
        state_zp=p.state_zp,
        time_mult=p.time[0],
        time_left=max(p.time[1], 0),
        time_right=max(-p.time[1], 0),
        y_zp=p.y_zp,
    )
    return Call(svdf_s8, row)
