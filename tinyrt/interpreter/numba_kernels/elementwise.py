"""add, sub, mul, minimum and maximum in int8, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinyrt.interpreter.numba_kernels import lanes
from tinyrt.interpreter.numba_kernels.abi import Call, row_of, s8_at, s64_at, subroutine
from tinyrt.interpreter.numba_kernels.fixedpoint import requant, saturate
from tinyrt.interpreter.numba_kernels.vector import LANES
from tinyrt.interpreter.numba_kernels.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.add import LEFT_SHIFT, AddS8
from tinyrt.ops.emit import broadcast_fields
from tinyrt.ops.mul import MulS8
from tinyrt.ops.spec import NoAttrs


class Walk(NamedTuple):
    """How two inputs are walked over: runs along the last axis, starting at tabled offsets."""

    a: int
    b: int
    y: int
    runs: int
    starts: int
    length: int
    a_step: int
    b_step: int


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
            starts = s64_at(walk.starts)
            dense = walk.a_step == 1 and walk.b_step == 1
            for r in range(walk.runs):
                a, b = walk.a + starts[2 * r], walk.b + starts[2 * r + 1]
                y = walk.y + r * walk.length
                done = 0
                while dense and done + LANES <= walk.length:
                    sixteen(a + done, b + done, y + done, p)
                    done += LANES
                for i in range(done, walk.length):
                    element = single(s8_at(a)[i * walk.a_step], s8_at(b)[i * walk.b_step], p)
                    s8_at(y)[i] = element

        run.__qualname__ = f"{function.__qualname__}_run"
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
    *outer, length = fields["dims"]
    steps = np.array([fields["a_strides"], fields["b_strides"]], np.int64)
    indices = np.indices(outer).reshape(len(outer), int(np.prod(outer, dtype=np.int64)))
    starts = (steps[:, :-1] @ indices).T
    walk = Walk(
        a=workspace.tensor(node.input(0)),
        b=workspace.tensor(node.input(1)),
        y=workspace.tensor(node.output),
        runs=len(starts),
        starts=workspace.pack(starts),
        length=length,
        a_step=int(steps[0, -1]),
        b_step=int(steps[1, -1]),
    )
    return workspace.pack(np.array(walk, np.int64))


def pack_add(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``add_s8`` and its arguments."""
    return Call(add_s8, _add_row(node, p, workspace))


def pack_sub(node: BoundNode, p: AddS8, workspace: Workspace) -> Call:
    """``sub_s8`` and its arguments."""
    return Call(sub_s8, _add_row(node, p, workspace))


def _add_row(node: BoundNode, p: AddS8, workspace: Workspace) -> AddRow:
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
