"""add, sub, mul, minimum and maximum in int8, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinyrt.backends.linear_sum import SUM_BITS, linear_sum_of
from tinyrt.backends.numba import lanes
from tinyrt.backends.numba.abi import Call, flat, row_of, s8_at, subroutine
from tinyrt.backends.numba.fixedpoint import requant, saturate
from tinyrt.backends.numba.movement import place_of
from tinyrt.backends.numba.rows import Axes, Side
from tinyrt.backends.numba.vector import LANES
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN
from tinyrt.ir import BoundNode
from tinyrt.ops.add import LEFT_SHIFT, AddS8
from tinyrt.ops.mul import MulS8
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.walks import broadcast_fields

MIN_LINEAR = 1024
"""Elements of an add or a sub from which on a linear sum is looked for: that takes milliseconds."""


class Walk(NamedTuple):
    """How two inputs are walked over: blocks of ``rows`` runs along the last axis."""

    a: Side
    b: Side
    y: int
    blocks: int
    rows: int
    length: int


class AddRow(NamedTuple):
    """Arguments of ``add_s8`` and ``sub_s8``: a walk, then the record's fields; shifts right."""

    walk: int
    a_zp: int
    a_mult: int
    a_right: int
    b_zp: int
    b_mult: int
    b_right: int
    y_mult: int
    y_right: int
    y_zp: int
    act_min: int
    act_max: int


class LinearRow(NamedTuple):
    """Arguments of ``linear_sum_s8``: a walk, then factors, addend and clamp."""

    walk: int
    a_factor: int
    b_factor: int
    addend: int
    act_min: int
    act_max: int


class MulRow(NamedTuple):
    """Arguments of ``mul_s8``: a walk, then the record's fields."""

    walk: int
    a_zp: int
    b_zp: int
    mult: int
    left: int
    right: int
    y_zp: int
    act_min: int
    act_max: int


class SelectRow(NamedTuple):
    """Arguments of ``minimum_s8`` and ``maximum_s8``."""

    walk: int


def _binary(compute: lanes.Compute) -> Callable[[Callable[..., Any]], Callable[[Any], None]]:
    """A loop over a walk: ``compute`` on sixteen pairs where they are dense, else one by one."""

    def decorate(function: Callable[..., Any]) -> Callable[[Any], None]:
        single, sixteen = subroutine(function), lanes.on_lanes(compute)

        def run(p: Any) -> None:
            walk = row_of(p.walk, Walk)
            dense = walk.a.step == 1 and walk.b.step == 1
            y = walk.y
            for block in range(walk.blocks):
                a = walk.a.at + place_of(block, walk.a.axes)
                b = walk.b.at + place_of(block, walk.b.axes)
                for _ in range(walk.rows):
                    i0 = 0
                    while dense and i0 + LANES <= walk.length:
                        sixteen(a + i0, b + i0, y + i0, p)
                        i0 += LANES
                    for i in range(i0, walk.length):
                        element = single(s8_at(a)[i * walk.a.step], s8_at(b)[i * walk.b.step], p)
                        s8_at(y)[i] = element
                    a += walk.a.row
                    b += walk.b.row
                    y += walk.length

        run.__qualname__ = f"{function.__qualname__}_{compute.__name__}"
        return subroutine(run)

    return decorate


@_binary(lanes.add)
def _add(a: int, b: int, p: AddRow) -> np.int8:
    first = requant((np.int64(a) - p.a_zp) << LEFT_SHIFT, p.a_mult, 0, p.a_right)
    second = requant((np.int64(b) - p.b_zp) << LEFT_SHIFT, p.b_mult, 0, p.b_right)
    total = requant(first + second, p.y_mult, 0, p.y_right)
    return saturate(total + p.y_zp, p.act_min, p.act_max)


@_binary(lanes.sub)
def _sub(a: int, b: int, p: AddRow) -> np.int8:
    first = requant((np.int64(a) - p.a_zp) << LEFT_SHIFT, p.a_mult, 0, p.a_right)
    second = requant((np.int64(b) - p.b_zp) << LEFT_SHIFT, p.b_mult, 0, p.b_right)
    total = requant(first - second, p.y_mult, 0, p.y_right)
    return saturate(total + p.y_zp, p.act_min, p.act_max)


@subroutine
def _linear(a: int, b: int, p: LinearRow) -> np.int8:
    total = (np.int64(a) * p.a_factor + np.int64(b) * p.b_factor + p.addend) >> SUM_BITS
    return saturate(total, p.act_min, p.act_max)


@_binary(lanes.linear_sum)
def _linear_sum(a: int, b: int, p: LinearRow) -> np.int8:
    return _linear(a, b, p)


@_binary(lanes.clamped_linear_sum)
def _clamped_linear_sum(a: int, b: int, p: LinearRow) -> np.int8:
    return _linear(a, b, p)


@_binary(lanes.mul)
def _mul(a: int, b: int, p: MulRow) -> np.int8:
    product = (np.int64(a) - p.a_zp) * (np.int64(b) - p.b_zp)
    scaled = requant(product, p.mult, p.left, p.right)
    return saturate(scaled + p.y_zp, p.act_min, p.act_max)


@_binary(lanes.minimum)
def _minimum(a: int, b: int, p: SelectRow) -> np.int8:
    return np.int8(min(a, b))


@_binary(lanes.maximum)
def _maximum(a: int, b: int, p: SelectRow) -> np.int8:
    return np.int8(max(a, b))


def add_s8(address: int) -> None:
    """``clamp(requant(rescale(a - a_zp) + rescale(b - b_zp)) + y_zp)``."""
    _add(row_of(address, AddRow))


def sub_s8(address: int) -> None:
    """``clamp(requant(rescale(a - a_zp) - rescale(b - b_zp)) + y_zp)``."""
    _sub(row_of(address, AddRow))


def linear_sum_s8(address: int) -> None:
    """``(a_factor * a + b_factor * b + addend) >> SUM_BITS``, the nearest int8."""
    _linear_sum(row_of(address, LinearRow))


def clamped_linear_sum_s8(address: int) -> None:
    """The same, clamped."""
    _clamped_linear_sum(row_of(address, LinearRow))


def mul_s8(address: int) -> None:
    """``clamp(requant((a - a_zp) * (b - b_zp)) + y_zp)``."""
    _mul(row_of(address, MulRow))


def minimum_s8(address: int) -> None:
    """``min(a, b)`` of raw values."""
    _minimum(row_of(address, SelectRow))


def maximum_s8(address: int) -> None:
    """``max(a, b)`` of raw values."""
    _maximum(row_of(address, SelectRow))


def _walk(node: BoundNode, workspace: Workspace) -> int:
    """The address of the node's walk."""
    fields: Any = broadcast_fields(node)
    dims: list[int] = [1, *fields["dims"]]
    a_steps: list[int] = [0, *fields["a_strides"]]
    b_steps: list[int] = [0, *fields["b_strides"]]
    dims_at, *steps_at = (
        workspace.pack(np.array(t[:-2], np.int64)) for t in (dims, a_steps, b_steps)
    )
    a_axes, b_axes = (Axes(len(dims) - 2, dims_at, at) for at in steps_at)
    walk = Walk(
        a=Side(workspace.tensor(node.input(0)), a_axes, *a_steps[-2:]),
        b=Side(workspace.tensor(node.input(1)), b_axes, *b_steps[-2:]),
        y=workspace.tensor(node.output),
        blocks=math.prod(dims[:-2]),
        rows=dims[-2],
        length=dims[-1],
    )
    return workspace.pack(np.array(flat(walk), np.int64))


def pack_add(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``linear_sum_s8`` or ``add_s8``, and its arguments."""
    linear = _linear_row(node, p, workspace)
    return Call(add_s8, add_row(node, p, workspace)) if linear is None else linear


def pack_sub(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``linear_sum_s8`` or ``sub_s8``, and its arguments."""
    linear = _linear_row(node, p, workspace)
    return Call(sub_s8, add_row(node, p, workspace)) if linear is None else linear


def _linear_row(node: BoundNode, p: AddS8, workspace: Workspace) -> Call | None:
    """``linear_sum_s8`` where it gives every output and saves more than the search takes."""
    if node.output.size < MIN_LINEAR:
        return None
    linear = linear_sum_of(p, node.op, dsp=False)
    if linear is None:
        return None
    row = LinearRow(
        walk=_walk(node, workspace),
        a_factor=linear.a_factor,
        b_factor=linear.b_factor,
        addend=linear.addend,
        act_min=p.act_min,
        act_max=p.act_max,
    )
    whole = (p.act_min, p.act_max) == (INT8_MIN, INT8_MAX)
    return Call(linear_sum_s8 if whole else clamped_linear_sum_s8, row)


def add_row(node: BoundNode, p: AddS8, workspace: Workspace) -> AddRow:
    """The arguments of ``add_s8`` and of kernels like it."""
    return AddRow(
        walk=_walk(node, workspace),
        a_zp=p.a_zp,
        a_mult=p.a_mult,
        a_right=-p.a_shift,
        b_zp=p.b_zp,
        b_mult=p.b_mult,
        b_right=-p.b_shift,
        y_mult=p.y_mult,
        y_right=-p.y_shift,
        y_zp=p.y_zp,
        act_min=p.act_min,
        act_max=p.act_max,
    )


def pack_mul(node: BoundNode, p: MulS8, workspace: Workspace) -> Call:
    """``mul_s8`` and its arguments."""
    row = MulRow(
        walk=_walk(node, workspace),
        a_zp=p.a_zp,
        b_zp=p.b_zp,
        mult=p.mult,
        left=max(p.shift, 0),
        right=max(-p.shift, 0),
        y_zp=p.y_zp,
        act_min=p.act_min,
        act_max=p.act_max,
    )
    return Call(mul_s8, row)


def pack_minimum(node: BoundNode, p: NoAttrs, workspace: Workspace) -> Call:
    """``minimum_s8`` and its arguments."""
    del p
    return Call(minimum_s8, SelectRow(_walk(node, workspace)))


def pack_maximum(node: BoundNode, p: NoAttrs, workspace: Workspace) -> Call:
    """``maximum_s8`` and its arguments."""
    del p
    return Call(maximum_s8, SelectRow(_walk(node, workspace)))
