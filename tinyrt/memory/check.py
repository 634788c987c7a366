"""An independent check of an arena plan: replay the model and watch every byte."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory.lifetimes import scratch_bytes, scratch_name
from tinyrt.ops import OPS
from tinyrt.ops.isa import InstructionSet
from tinyrt.ops.sweep import Step

_NOBODY, _SCRATCH = -1, -2


def check_plan(
    graph: Graph,
    offsets: Mapping[str, int],
    arena_bytes: int,
    isa: InstructionSet = InstructionSet.SCALAR,
) -> None:
    """Replay the graph's writes and reads on an arena that records who wrote each byte.

    It shares no reasoning with the planner: no lifetimes and no distances, only what each step of
    each op touches.

    Args:
        graph: the model.
        offsets: value or scratch name -> byte offset.
        arena_bytes: size of the arena.
        isa: whose scratch memory counts.

    Raises:
        VerifyError: a tensor lies outside the arena, or was overwritten before its last reader.

    """
    replay = _Replay(offsets, arena_bytes)
    for value in graph.input_values:
        replay.where = "model input"
        replay.define(value)
        replay.write(value, (0, value.nbytes))
    for node in graph.bound():
        replay.where = node.describe()
        if _is_view(node, offsets):
            replay.share(node.input(0), node.output)
        else:
            steps = _steps(node, isa)
            replay.run(node, steps, scratch_bytes(node, isa))
    for value in graph.output_values:
        if not value.is_constant:
            replay.where = "model output"
            replay.read(value, (0, value.nbytes))


class _Replay:
    """The arena, with the number of the tensor that wrote each byte last."""

    def __init__(self, offsets: Mapping[str, int], arena_bytes: int) -> None:
        self.where = ""
        self._offsets = offsets
        self._writer = np.full(arena_bytes, _NOBODY, np.int32)
        self._number: dict[str, int] = {}

    def define(self, value: Value) -> None:
        """Give a tensor that is about to be written a number of its own."""
        self._number[value.name] = len(self._number)
        self._span(value.name, 0, value.nbytes)

    def share(self, source: Value, view: Value) -> None:
        """Make ``view`` another name of ``source``'s bytes."""
        self._number[view.name] = self._number[source.name]

    def write(self, value: Value, span: tuple[int, int]) -> None:
        """Write some bytes of a tensor."""
        self._writer[self._span(value.name, *span)] = self._number[value.name]

    def read(self, value: Value, span: tuple[int, int]) -> None:
        """Read some bytes of a tensor, which must still be its own."""
        found = self._writer[self._span(value.name, *span)]
        if not (found == self._number[value.name]).all():
            raise VerifyError(
                "the tensor was overwritten before this step reads it",
                op=self.where,
                tensor=value.describe(),
            )

    def run(self, node: BoundNode, steps: tuple[Step, ...], nbytes: int) -> None:
        """One op: its kernel's steps, beside its scratch memory."""
        scratch = slice(0, 0)
        if nbytes:
            scratch = self._span(scratch_name(node.index), 0, nbytes)
            self._writer[scratch] = _SCRATCH
        self.define(node.output)
        self._check_planes(node, steps)
        for step in steps:
            if step.reads_first:
                self._reads(node, step)
            self.write(node.output, step.writes)
            if not step.reads_first:
                # Reads and writes interleave: what is read must survive what is written.
                self._reads(node, step)
        self.read(node.output, (0, node.output.nbytes))
        if not (self._writer[scratch] == _SCRATCH).all():
            raise VerifyError("the op's scratch memory lies on its output", op=self.where)

    def _check_planes(self, node: BoundNode, steps: tuple[Step, ...]) -> None:
        """Planes that keep apart may as well be swept together: see that they do keep apart."""
        y, y_at = node.output, self._offsets[node.output.name]
        for value in node.inputs:
            if value is None or value.is_constant:
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

    def _span(self, name: str, start: int, stop: int) -> slice:
        start, stop = self._offsets[name] + start, self._offsets[name] + stop
        if start < 0 or stop > len(self._writer):
            raise VerifyError(
                f"'{name}' takes bytes {start} to {stop} of {len(self._writer)}", op=self.where
            )
        return slice(start, stop)


def _steps(node: BoundNode, isa: InstructionSet) -> tuple[Step, ...]:
    """The op's own sweep, or one step that reads and writes everything in any order."""
    sweep = OPS[node.op].sweep_of(node, isa)
    if sweep is not None:
        return sweep
    reads = tuple(
        (0, v.nbytes) if v is not None and not v.is_constant else None for v in node.inputs
    )
    return (Step(reads, (0, node.output.nbytes)),)


def _is_view(node: BoundNode, offsets: Mapping[str, int]) -> bool:
    source = node.input(0)
    return (
        node.op == "reshape"
        and not source.is_constant
        and offsets[source.name] == offsets[node.output.name]
    )
