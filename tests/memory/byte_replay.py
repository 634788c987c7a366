"""A plain check of arena plans, with a number for each byte: what the real one is held against."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.memory.byte_replay_rows import replay_segment
from tests.memory.targets import SCALAR
from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.segments import Segment
from tinyrt.memory.sweep import Step
from tinyrt.ops import OPS

_NOBODY, _SCRATCH = -1, -2


def replay_bytes(
    graph: Graph,
    offsets: Mapping[str, int],
    arena_bytes: int,
    kernels: Kernels = SCALAR,
    *,
    overlap: bool = True,
    idle: Collection[int] = (),
    outside: Collection[str] = (),
    segments: Sequence[Segment] = (),
) -> None:
    """Replay the graph's writes and reads on an arena that records what each byte holds.

    It shares no reasoning with the planner: no lifetimes and no distances, only what each step of
    each op touches.

    Args:
        graph: the model.
        offsets: value or scratch name -> byte offset.
        arena_bytes: size of the arena.
        kernels: whose scratch memory counts.
        overlap: whether kernels keep to their declared order of reads and writes; else each op may
            touch its tensors in any order.
        idle: nodes that the program leaves out, as their output's bytes are there already.
        outside: values that are not in the arena.
        segments: ops that run row by row.

    Raises:
        VerifyError: a tensor lies outside the arena, or was overwritten before its last reader.

    """
    replay = _Replay(offsets, arena_bytes, outside)
    for value in graph.input_values:
        replay.where = "model input"
        replay.define(value)
        replay.write(value, (0, value.nbytes))
    starts = {s.first: s for s in segments}
    inside = {i for s in segments for i in range(s.first, s.stop)}
    for node in graph.bound():
        if node.index in starts:
            replay_segment(graph, starts[node.index], kernels, replay)
        if node.index in inside:
            continue
        replay.where = node.describe()
        if node.index in idle or _is_view(node, offsets):
            replay.leave_out(node)
        else:
            steps = (kernels.sweep(node) if overlap else None) or _in_any_order(node)
            replay.run(node, steps, kernels.scratch_bytes(node))
    for value in graph.output_values:
        if not value.is_constant:
            replay.where = "model output"
            replay.read(value, (0, value.nbytes))


class _Replay:
    """The arena, with a number for what was last written to each byte."""

    def __init__(
        self, offsets: Mapping[str, int], arena_bytes: int, outside: Collection[str]
    ) -> None:
        self.where = ""
        self._offsets = offsets
        self.outside = outside
        self.found = np.full(arena_bytes, _NOBODY, np.int64)
        self.wanted: dict[str, NDArray[np.int64]] = {}
        self._next = 0

    def define(self, value: Value) -> None:
        """Give the bytes of a tensor that is about to be written numbers of their own."""
        self.number(value.name, value.nbytes)
        if value.name not in self.outside:
            self.span(value.name, 0, value.nbytes)

    def number(self, name: str, nbytes: int) -> NDArray[np.int64]:
        """New numbers for so many bytes, under a name."""
        self.wanted[name] = np.arange(self._next, self._next + nbytes)
        self._next += nbytes
        return self.wanted[name]

    def leave_out(self, node: BoundNode) -> None:
        """An op that moves bytes to where they lie already: they keep their numbers."""
        parts = [value for value in node.inputs if value is not None]
        for value in parts:
            self.read(value, (0, value.nbytes))
        self.wanted[node.output.name] = _moved(node, [self.wanted[v.name] for v in parts])
        self.read(node.output, (0, node.output.nbytes))

    def write(self, value: Value, span: tuple[int, int]) -> None:
        """Write some bytes of a tensor."""
        if value.name not in self.outside:
            self.found[self.span(value.name, *span)] = self.wanted[value.name][slice(*span)]

    def read(self, value: Value, span: tuple[int, int]) -> None:
        """Read some bytes of a tensor, which must still be its own."""
        if value.name in self.outside:
            return
        found = self.found[self.span(value.name, *span)]
        if not np.array_equal(found, self.wanted[value.name][slice(*span)]):
            raise VerifyError(
                "the tensor was overwritten before this step reads it",
                op=self.where,
                tensor=value.describe(),
            )

    def run(self, node: BoundNode, steps: tuple[Step, ...], nbytes: int) -> None:
        """One op: its kernel's steps, beside its scratch memory."""
        scratch = slice(0, 0)
        if nbytes:
            scratch = self.span(scratch_name(node.index), 0, nbytes)
            self.found[scratch] = _SCRATCH
        for value in node.outputs:
            self.define(value)
        for value in node.outputs[1:]:
            self.write(value, (0, value.nbytes))
        self._check_planes(node, steps)
        for step in steps:
            if step.reads_first:
                self._reads(node, step)
            self.write(node.output, step.writes)
            if not step.reads_first:
                # Reads and writes interleave: what is read must survive what is written.
                self._reads(node, step)
        for value in node.outputs:
            self.read(value, (0, value.nbytes))
        if not (self.found[scratch] == _SCRATCH).all():
            raise VerifyError("the op's scratch memory lies on its output", op=self.where)

    def _check_planes(self, node: BoundNode, steps: tuple[Step, ...]) -> None:
        """Planes that keep apart may as well be swept together: see that they do keep apart."""
        y = node.output
        if y.name in self.outside:
            return
        y_at = self._offsets[y.name]
        for value in node.inputs:
            if value is None or value.is_constant or value.name in self.outside:
                continue
            x_at = self._offsets[value.name]
            overlap = x_at < y_at + y.nbytes and y_at < x_at + value.nbytes
            if overlap and any((y_at - x_at) % step.planes for step in steps):
                raise VerifyError(
                    "a plane of the output lies on another plane of the input",
                    op=self.where,
                    tensor=y.describe(),
                )

    def _reads(self, node: BoundNode, step: Step) -> None:
        for value, span in zip(node.inputs, step.reads, strict=True):
            if value is not None and span is not None:
                self.read(value, span)

    def span(self, name: str, start: int, stop: int) -> slice:
        start, stop = self._offsets[name] + start, self._offsets[name] + stop
        if start < 0 or stop > len(self.found):
            raise VerifyError(
                f"'{name}' takes bytes {start} to {stop} of {len(self.found)}", op=self.where
            )
        return slice(start, stop)


def _moved(node: BoundNode, parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The numbers of the output's bytes, from the inputs': those that the reference would move."""
    arrays = [
        numbers.reshape(*value.shape, value.dtype.itemsize)[..., 0]
        for value, numbers in zip(filter(None, node.inputs), parts, strict=True)
    ]
    move = OPS[node.op].ref_f32
    assert move is not None, "ops that are left out move elements of any dtype"
    first: NDArray[np.int64] = np.asarray(move(node.attrs, *arrays), np.int64)
    return (first.reshape(-1, 1) + np.arange(node.output.dtype.itemsize)).reshape(-1)


def _in_any_order(node: BoundNode) -> tuple[Step, ...]:
    """One step that reads and writes everything."""
    reads = tuple(
        (0, v.nbytes) if v is not None and not v.is_constant else None for v in node.inputs
    )
    return (Step(reads, (0, node.output.nbytes)),)


def _is_view(node: BoundNode, offsets: Mapping[str, int]) -> bool:
    if node.op != "reshape" or node.input(0).is_constant:
        return False
    return offsets.get(node.input(0).name) == offsets.get(node.output.name)
