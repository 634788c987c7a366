"""reshape, transpose, pad and concatenation in int8: bytes copied in runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.interpreter.numba_kernels.abi import Call, row_of, s8_at, s64_at, subroutine
from tinyrt.interpreter.numba_kernels.workspace import Workspace
from tinyrt.ir import BoundNode, Shape
from tinyrt.ops.concatenation import ConcatenationS8
from tinyrt.ops.emit import merge_axes, strides_of
from tinyrt.ops.move import MoveS8, Walk
from tinyrt.ops.pad import PadS8
from tinyrt.ops.reshape import ReshapeS8
from tinyrt.ops.transpose import TransposeS8


class Row(NamedTuple):
    """Arguments of ``gather_s8``: runs of ``length`` bytes, ``step`` apart in the input.

    ``sources`` holds the address of each run, ``targets`` its place in the output; ``border`` is
    written first where ``filled`` bytes of the output are not covered.
    """

    y: int
    runs: int
    sources: int
    targets: int
    length: int
    step: int
    filled: int
    border: int


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


def gather_s8(address: int) -> None:
    """Runs of the input, each to its place in the output."""
    p = row_of(address, Row)
    sources, targets, y = s64_at(p.sources), s64_at(p.targets), s8_at(p.y)
    for i in range(p.filled):
        y[i] = p.border
    for r in range(p.runs):
        if p.step == 1:
            _copy(sources[r], p.y + targets[r], p.length)
            continue
        source, target = s8_at(sources[r]), s8_at(p.y + targets[r])
        for i in range(p.length):
            target[i] = source[i * p.step]


def concatenation_s8(address: int) -> None:
    """The inputs one behind the other."""
    p = row_of(address, JoinRow)
    addresses, lengths = s64_at(p.addresses), s64_at(p.lengths)
    at = p.y
    for r in range(p.rows):
        for i in range(p.inputs):
            _copy(addresses[i] + r * lengths[i], at, lengths[i])
            at += lengths[i]


def index_offsets(shape: Shape, axes: Sequence[int]) -> NDArray[np.int64]:
    """Offsets of all elements that differ in these axes only, in row-major order."""
    strides = strides_of(shape)
    return walk([shape[i] for i in axes], [strides[i] for i in axes])


def walk(dims: Sequence[int], steps: Sequence[int]) -> NDArray[np.int64]:
    """Offsets of a walk over ``dims`` with these steps, the last axis fastest."""
    offsets = np.zeros(1, np.int64)
    for size, step in zip(dims, steps, strict=True):
        offsets = (offsets[:, None] + np.arange(size, dtype=np.int64) * step).reshape(-1)
    return offsets


def pack_reshape(node: BoundNode, p: ReshapeS8, workspace: Workspace) -> Call:
    """One run, or none where the output is a view of the input."""
    del p
    x, y = workspace.tensor(node.input(0)), workspace.tensor(node.output)
    runs = np.array([x] if x != y else [], np.int64)
    row = _row(workspace, y, runs, np.zeros(len(runs), np.int64), node.output.nbytes)
    return Call(gather_s8, row)


def pack_transpose(node: BoundNode, p: TransposeS8, workspace: Workspace) -> Call:
    """Runs along the output's last axis."""
    x, y = node.input(0), node.output
    strides = strides_of(x.shape)
    dims, (steps,) = merge_axes(y.shape, [strides[i] for i in p.perm])
    sources = workspace.tensor(x) + walk(dims[:-1], steps[:-1])
    targets = np.arange(len(sources), dtype=np.int64) * dims[-1]
    row = _row(workspace, workspace.tensor(y), sources, targets, dims[-1], steps[-1])
    return Call(gather_s8, row)


def pack_move(node: BoundNode, p: MoveS8, workspace: Workspace) -> Call:
    """Runs along the output's last axis, or single elements where there is no regular walk."""
    x, y = node.input(0), node.output
    if not isinstance(p.layout, Walk):
        positions = p.positions(x.shape).reshape(-1)
        dims, steps, begin = [len(positions), 1], [0, 1], positions
    else:
        dims, (steps,) = merge_axes(p.layout.dims, p.layout.strides)
        begin = p.layout.begin + walk(dims[:-1], steps[:-1])
    targets = np.arange(len(begin), dtype=np.int64) * dims[-1]
    sources = workspace.tensor(x) + begin
    row = _row(workspace, workspace.tensor(y), sources, targets, dims[-1], steps[-1])
    return Call(gather_s8, row)


def pack_pad(node: BoundNode, p: PadS8, workspace: Workspace) -> Call:
    """Runs of whole rows of the input inside a filled output."""
    x, y = node.input(0), node.output
    y_strides = strides_of(y.shape)
    dims, (x_steps, y_steps) = merge_axes(x.shape, strides_of(x.shape), y_strides)
    if y_steps[-1] != 1:
        dims, x_steps, y_steps = [*dims, 1], [*x_steps, 1], [*y_steps, 1]
    start = sum(pair[0] * step for pair, step in zip(p.paddings, y_strides, strict=True))
    sources = workspace.tensor(x) + walk(dims[:-1], x_steps[:-1])
    targets = start + walk(dims[:-1], y_steps[:-1])
    row = _row(workspace, workspace.tensor(y), sources, targets, dims[-1])
    return Call(gather_s8, row._replace(filled=y.size, border=p.fill))


def _row(
    workspace: Workspace,
    y: int,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    length: int,
    step: int = 1,
) -> Row:
    packed = workspace.pack(sources), workspace.pack(targets)
    return Row(y, len(sources), *packed, length, step, filled=0, border=0)


def pack_concatenation(node: BoundNode, p: ConcatenationS8, workspace: Workspace) -> Call:
    """Addresses of the inputs, and the bytes of each in one row."""
    inputs = [node.input(i) for i in range(len(node.inputs))]
    lengths = [math.prod(x.shape[p.axis :]) for x in inputs]
    row = JoinRow(
        y=workspace.tensor(node.output),
        rows=math.prod(node.output.shape[: p.axis]),
        inputs=len(inputs),
        addresses=workspace.pack(np.array([workspace.tensor(x) for x in inputs], np.int64)),
        lengths=workspace.pack(np.array(lengths, np.int64)),
    )
    return Call(concatenation_s8, row)
