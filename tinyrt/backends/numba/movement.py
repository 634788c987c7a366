"""reshape, transpose, pad and concatenation in int8: bytes copied in runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba.abi import Call, Int, row_of, s8_at, s64_at, subroutine
from tinyrt.backends.numba.rows import Axes, Side
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.concatenation import ConcatenationS8
from tinyrt.ops.pad import PadS8
from tinyrt.ops.reshape import ReshapeS8
from tinyrt.ops.shared.move import MoveS8, Walk
from tinyrt.ops.shared.walks import merge_axes, strides_of
from tinyrt.ops.transpose import TransposeS8


class WalkRow(NamedTuple):
    """Arguments of ``walk_s8``: blocks of ``rows`` runs of ``length`` bytes.

    The output begins ``start`` bytes behind its address; its elements are neighbours. ``border`` is
    written first where ``filled`` bytes of the output are not covered.
    """

    x: Side
    y: Side
    start: int
    blocks: int
    rows: int
    length: int
    filled: int
    border: int


class PickRow(NamedTuple):
    """Arguments of ``pick_s8``: images of rows and columns, each of which is somewhere in ``x``."""

    x: int
    y: int
    images: int
    image_bytes: int
    rows: int
    row_at: int
    columns: int
    column_at: int
    run: int


class JoinRow(NamedTuple):
    """Arguments of ``concatenation_s8``: for each row of the output, a piece of every input."""

    y: int
    rows: int
    inputs: int
    addresses: int
    lengths: int


@subroutine
def _copy(x: int, y: int, count: int) -> None:
    source, target = s8_at(x), s8_at(y)
    for i in range(count):
        target[i] = source[i]


@subroutine
def place_of(block: Int, axes: Axes) -> Int:
    """Offset of a block: its index along each of these axes, times the axis's step."""
    sizes, distances = s64_at(axes.dims), s64_at(axes.steps)
    place, left = np.int64(0), np.uint64(block)
    for i in range(axes.rank):
        axis = axes.rank - 1 - i
        size = np.uint64(sizes[axis])
        place += np.int64(left % size) * distances[axis]
        left //= size
    return place


def walk_s8(address: int) -> None:
    """Copy each run of the input to its place in the output."""
    p = row_of(address, WalkRow)
    border = s8_at(p.y.at)
    for i in range(p.filled):
        border[i] = p.border
    for block in range(p.blocks):
        x = p.x.at + place_of(block, p.x.axes)
        y = p.y.at + p.start + place_of(block, p.y.axes)
        for r in range(p.rows):
            if p.x.step == 1:
                _copy(x + r * p.x.row, y + r * p.y.row, p.length)
                continue
            source, target = s8_at(x + r * p.x.row), s8_at(y + r * p.y.row)
            for i in range(p.length):
                target[i] = source[i * p.x.step]


def pick_s8(address: int) -> None:
    """Copy each row column by column, from the places in the tables."""
    p = row_of(address, PickRow)
    rows, columns = s64_at(p.row_at), s64_at(p.column_at)
    y = p.y
    for n in range(p.images):
        for i in range(p.rows):
            x = p.x + n * p.image_bytes + rows[i]
            if p.run == 1:
                source, target = s8_at(x), s8_at(y)
                for j in range(p.columns):
                    target[j] = source[columns[j]]
                y += p.columns
                continue
            for j in range(p.columns):
                _copy(x + columns[j], y, p.run)
                y += p.run


def concatenation_s8(address: int) -> None:
    """Copy the inputs one behind the other."""
    p = row_of(address, JoinRow)
    addresses, lengths = s64_at(p.addresses), s64_at(p.lengths)
    at = p.y
    for r in range(p.rows):
        for i in range(p.inputs):
            _copy(addresses[i] + r * lengths[i], at, lengths[i])
            at += lengths[i]


def pack_reshape(node: BoundNode, p: ReshapeS8, workspace: Workspace) -> Call:
    """One run, or none where the output is a view of the input."""
    del p
    x, y = workspace.tensor(node.input(0)), workspace.tensor(node.output)
    length = node.output.nbytes if x != y else 0
    return Call(walk_s8, _walk(workspace, x, y, [length], [1], [1]))


def pack_transpose(node: BoundNode, p: TransposeS8, workspace: Workspace) -> Call:
    """Runs along the output's last axis."""
    x, y = node.input(0), node.output
    strides = strides_of(x.shape)
    steps = [strides[i] for i in p.perm]
    at = workspace.tensor(x), workspace.tensor(y)
    return Call(walk_s8, _walk(workspace, *at, y.shape, steps, strides_of(y.shape)))


def pack_move(node: BoundNode, p: MoveS8, workspace: Workspace) -> Call:
    """Runs along the output's last axis, or rows and columns by tables."""
    x, y, layout = workspace.tensor(node.input(0)), workspace.tensor(node.output), p.layout
    if isinstance(layout, Walk):
        dense = strides_of(layout.dims)
        return Call(
            walk_s8, _walk(workspace, x + layout.begin, y, layout.dims, layout.strides, dense)
        )
    rows, columns = workspace.pack(layout.rows), workspace.pack(layout.columns)
    sizes = len(layout.rows), rows, len(layout.columns), columns
    return Call(pick_s8, PickRow(x, y, layout.n, layout.x_size, *sizes, layout.run))


def pack_pad(node: BoundNode, p: PadS8, workspace: Workspace) -> Call:
    """Runs of whole rows of the input inside a filled output."""
    x, y = node.input(0), node.output
    y_steps = strides_of(y.shape)
    start = sum(pair[0] * step for pair, step in zip(p.paddings, y_steps, strict=True))
    at = workspace.tensor(x), workspace.tensor(y)
    row = _walk(workspace, *at, x.shape, strides_of(x.shape), y_steps)
    return Call(walk_s8, row._replace(start=start, filled=y.size, border=p.fill))


def _walk(
    workspace: Workspace,
    x: int,
    y: int,
    dims: Sequence[int],
    x_steps: Sequence[int],
    y_steps: Sequence[int],
) -> WalkRow:
    """A walk over all of these axes; the last two are loops, those before them are counted."""
    sizes, (sources, targets) = merge_axes(dims, x_steps, y_steps)
    if targets[-1] != 1:
        sizes, sources, targets = [*sizes, 1], [*sources, 1], [*targets, 1]
    *outer, rows, length = [1, *sizes]
    *x_outer, x_row, step = [0, *sources]
    *y_outer, y_row, _ = [0, *targets]
    dims_at, x_at, y_at = (workspace.pack(np.array(t, np.int64)) for t in (outer, x_outer, y_outer))
    return WalkRow(
        x=Side(x, Axes(len(outer), dims_at, x_at), x_row, step),
        y=Side(y, Axes(len(outer), dims_at, y_at), y_row, 1),
        start=0,
        blocks=math.prod(outer),
        rows=rows,
        length=length,
        filled=0,
        border=0,
    )


def pack_concatenation(node: BoundNode, p: ConcatenationS8, workspace: Workspace) -> Call:
    """Addresses of the inputs, and the bytes of each in one row."""
    inputs = node.operands
    lengths = [math.prod(x.shape[p.axis :]) for x in inputs]
    row = JoinRow(
        y=workspace.tensor(node.output),
        rows=math.prod(node.output.shape[: p.axis]),
        inputs=len(inputs),
        addresses=workspace.pack(np.array([workspace.tensor(x) for x in inputs], np.int64)),
        lengths=workspace.pack(np.array(lengths, np.int64)),
    )
    return Call(concatenation_s8, row)
