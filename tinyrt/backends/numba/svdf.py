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
from tinyrt.backends.numba.rows import Scale
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.spec import limits_of
from tinyrt.ops.svdf import STATE, SvdfS8


class Sizes(NamedTuple):
    """Sizes of an svdf: ``rank`` filters for each unit, each with a memory of so many steps."""

    batches: int
    c_in: int
    units: int
    rank: int
    memory: int


class State(NamedTuple):
    """Addresses of the state before and after a run, its dtype and its limits."""

    before: int
    after: int
    wide: int
    zero_point: int
    low: int
    high: int


class Row(NamedTuple):
    """Arguments of ``svdf_s8``; time weights and biases are int64."""

    x: int
    y: int
    sizes: Sizes
    state: State
    features: int
    feature_scale: Scale
    time: int
    time_scale: Scale
    bias: int
    x_zp: int
    y_zp: int


@subroutine
def _feature(p: Row, n: int, f: int) -> Int:
    """The feature that one filter computes from the input, at the state's scale."""
    x, w = s8_at(p.x + n * p.sizes.c_in), s8_at(p.features + f * p.sizes.c_in)
    acc = np.int64(0)
    for i in range(p.sizes.c_in):
        acc += (np.int64(x[i]) - p.x_zp) * w[i]
    value = requant(acc, p.feature_scale.mult, p.feature_scale.left, p.feature_scale.right)
    return min(max(value, p.state.low), p.state.high) + p.state.zero_point


@subroutine
def _moved_on(p: Row, filter: int, newest: Int, time: int) -> Int:
    """The filter's row, moved on by one, and its products with the time weights."""
    weights = s64_at(p.time + 8 * time * p.sizes.memory)
    at, last = filter * p.sizes.memory, p.sizes.memory - 1
    acc = np.int64(0)
    if p.state.wide:
        before, after = s16_at(p.state.before + 2 * at), s16_at(p.state.after + 2 * at)
        for i in range(last):
            after[i] = before[i + 1]
        after[last] = np.int16(newest)
        for i in range(p.sizes.memory):
            acc += (np.int64(after[i]) - p.state.zero_point) * weights[i]
    else:
        old, new = s8_at(p.state.before + at), s8_at(p.state.after + at)
        for i in range(last):
            new[i] = old[i + 1]
        new[last] = np.int8(newest)
        for i in range(p.sizes.memory):
            acc += (np.int64(new[i]) - p.state.zero_point) * weights[i]
    return acc


def svdf_s8(address: int) -> None:
    """Compute filter by filter: the newest feature, the state's row, the share of the output."""
    p = row_of(address, Row)
    bias, y = s64_at(p.bias), s8_at(p.y)
    filters = p.sizes.units * p.sizes.rank
    for n in range(p.sizes.batches):
        for unit in range(p.sizes.units):
            acc = bias[unit]
            for f in range(unit * p.sizes.rank, (unit + 1) * p.sizes.rank):
                acc += _moved_on(p, n * filters + f, _feature(p, n, f), f)
            value = requant(acc, p.time_scale.mult, p.time_scale.left, p.time_scale.right)
            y[n * p.sizes.units + unit] = saturate(value + p.y_zp, INT8_MIN, INT8_MAX)


def pack(node: BoundNode, p: SvdfS8, workspace: Workspace) -> Call:
    """Addresses and multipliers."""
    x, time, bias = node.input(0), node.input(2), node.optional(3)
    filters, memory = time.shape
    units = filters // p.rank
    biases = np.zeros(units) if bias is None else bias.data
    least, most = limits_of(p.state_dtype)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(node.output),
        sizes=Sizes(x.shape[0], x.shape[1], units, p.rank, memory),
        state=State(
            before=workspace.tensor(node.input(STATE)),
            after=workspace.tensor(node.outputs[1]),
            wide=int(p.state_dtype is DType.INT16),
            zero_point=p.state_zp,
            low=least,
            high=most,
        ),
        features=workspace.pack(workspace.weights(node)),
        feature_scale=Scale.of(*p.feature),
        time=workspace.pack(np.asarray(time.data, np.int64)),
        time_scale=Scale.of(*p.time),
        bias=workspace.pack(np.asarray(biases, np.int64)),
        x_zp=p.x_zp,
        y_zp=p.y_zp,
    )
    return Call(svdf_s8, row)
