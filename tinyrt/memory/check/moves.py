"""The part of the independent check that follows bytes through ops that only move them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode
from tinyrt.memory.check.contents import Run, Runs, joined, part
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.slice import SliceAttrs


def moved_runs(node: BoundNode, parts: Sequence[Runs]) -> Iterator[Run]:
    """The contents of the output if the op moves bytes from its inputs, as its reference does.

    Args:
        node: a reshape, a slice, or a concatenation.
        parts: the contents of each input's bytes.

    Raises:
        VerifyError: the op does more than move bytes, so the program cannot leave it out.

    """
    if node.op == "reshape":
        return joined(parts[0])
    if node.op == "slice":
        return joined(_cut(node, parts[0]))
    if node.op == "concatenation":
        return joined(_rows(node, parts))
    raise VerifyError("the op is left out, and has work to do", op=node.describe())


def _rows(node: BoundNode, parts: Sequence[Runs]) -> Iterator[Run]:
    """For every index along the dimensions before the axis: a piece of each input in turn."""
    y = node.output
    axis = node.attrs_as(ConcatenationAttrs).axis
    rows, at = math.prod(y.shape[:axis]), 0
    sizes = [node.input(i).nbytes // rows for i in range(len(parts))]
    for row in range(rows):
        for runs, nbytes in zip(parts, sizes, strict=True):
            yield from part(runs, row * nbytes, (row + 1) * nbytes, to=at)
            at += nbytes


def _cut(node: BoundNode, runs: Runs) -> Iterator[Run]:
    """For every index along the outer dimensions: one piece of neighbouring bytes."""
    x, attrs = node.input(0), node.attrs_as(SliceAttrs)
    ranges = [
        range(first, first + count * step, step)
        for first, count, step in zip(attrs.begin, attrs.size, attrs.strides, strict=True)
    ]
    nbytes = [math.prod(x.shape[i + 1 :]) * x.dtype.itemsize for i in range(len(x.shape))]
    outer = len(ranges)
    while outer and ranges[outer - 1] == range(x.shape[outer - 1]):
        outer -= 1
    piece = nbytes[outer - 1] if outer else x.nbytes
    if outer and ranges[outer - 1].step == 1:
        piece *= len(ranges[outer - 1])
        ranges[outer - 1] = ranges[outer - 1][:1]
    for place, index in enumerate(product(*ranges[:outer])):
        start = sum(i * step for i, step in zip(index, nbytes, strict=False))
        yield from part(runs, start, start + piece, to=place * piece)
