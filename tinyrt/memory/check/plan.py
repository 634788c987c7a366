"""An independent check of an arena plan: replay the model and watch every byte.

The contents of bytes are stored as runs (see ``contents``), so the check's memory grows with the
number of runs in the arena, not with the size of the activations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

from tinyrt.budget import current
from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory.check.contents import Content, Contents, Run, Runs, part
from tinyrt.memory.check.moves import moved_runs
from tinyrt.memory.check.rows import SCRATCH, replay_segment
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.segments import Segment
from tinyrt.memory.sweep import Span, SweepStep

STEP = 4_000
"""Work of one step of a kernel's sweep, in units of ``budget``."""

NOBODY = Content(-1, 0)
"""The contents of bytes that were never written."""


@contextmanager
def _reported() -> Iterator[None]:
    """Say of every plan that fails what its user can do."""
    try:
        yield
    except VerifyError as error:
        error.hint = error.hint or "this is a defect of tinyrt, not of the model: please report it"
        raise


@_reported()
def check_plan(
    graph: Graph,
    offsets: Mapping[str, int],
    arena_bytes: int,
    kernels: Kernels,
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
        kernels: the target's; the check includes their scratch memory.
        overlap: whether kernels keep to their declared order of reads and writes; else each op may
            touch its tensors in any order.
        idle: nodes that the program leaves out because their output's bytes are in place already.
        outside: values that are not in the arena.
        segments: ops that run row by row.

    Raises:
        VerifyError: a tensor lies outside the arena, or was overwritten before its last reader.
        BudgetError: checking takes more work than the budget has left.

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
            # An output that overlaps no input may be written in any order.
            ordered = overlap and replay.lies_on_input(node)
            steps = (kernels.sweep(node) if ordered else None) or _in_any_order(node)
            replay.run(node, steps, kernels.scratch_bytes(node))
    for value in graph.output_values:
        if not value.is_constant:
            replay.where = "model output"
            replay.read(value, (0, value.nbytes))


class _Replay:
    """The arena, with a number for the last write to each byte."""

    def __init__(
        self, offsets: Mapping[str, int], arena_bytes: int, outside: Collection[str]
    ) -> None:
        self.where = ""
        self._offsets = offsets
        self.outside = outside
        self.contents = Contents(arena_bytes, NOBODY)
        self.numbers: dict[str, Runs] = {}
        self._whole: dict[str, Content] = {}
        self._next = 0

    def define(self, value: Value) -> None:
        """Give new numbers to the bytes of a tensor that an op is about to write."""
        self.number(value.name, value.nbytes)
        if value.name not in self.outside:
            self.span(value.name, 0, value.nbytes)

    def number(self, name: str, nbytes: int) -> Runs:
        """New numbers for so many bytes, under a name."""
        self.numbers[name] = (Run(0, nbytes, Content(self._next)),)
        if name in self._offsets:
            self._whole[name] = Content(self._next).moved(self._offsets[name])
        self._next += nbytes
        return self.numbers[name]

    def leave_out(self, node: BoundNode) -> None:
        """Leave out an op whose output's bytes are in place already: they keep their numbers."""
        parts = [value for value in node.inputs if value is not None]
        for value in parts:
            self.read(value, (0, value.nbytes))
        y, runs = node.output, []
        at = None if y.name in self.outside else self.span(y.name, 0, y.nbytes)[0]
        for run in moved_runs(node, [self.numbers[v.name] for v in parts]):
            if at is not None and not self._holds(at, run):
                # Raise at once: a wrong plan may break the output into very many runs.
                self._overwritten(y)
            runs.append(run)
        self.numbers[y.name] = tuple(runs)
        self._whole.pop(y.name, None)
        if at is not None and len(runs) == 1:
            self._whole[y.name] = runs[0].content.moved(at)

    def write(self, value: Value, span: Span) -> None:
        """Write some bytes of a tensor."""
        if value.name not in self.outside:
            self.contents.write(*self.span(value.name, *span), self._whole[value.name])

    def put(self, at: int, runs: Iterable[Run]) -> None:
        """Set the contents of the arena's bytes from ``at`` on."""
        for run in runs:
            self.contents.write(at + run.start, at + run.stop, run.content.moved(at))

    def read(self, value: Value, span: Span) -> None:
        """Read some bytes of a tensor, and check that nothing has overwritten them."""
        if value.name in self.outside:
            return
        start, stop = self.span(value.name, *span)
        whole = self._whole.get(value.name)
        if whole is not None and span[1] <= value.nbytes:
            intact = self.contents.is_all(start, stop, whole)
        else:
            # The output of an op that was left out may consist of several runs.
            parts = part(self.numbers[value.name], *span)
            intact = span[1] <= value.nbytes and all(self._holds(start, run) for run in parts)
        if not intact:
            self._overwritten(value)

    def _holds(self, at: int, run: Run) -> bool:
        return self.contents.is_all(at + run.start, at + run.stop, run.content.moved(at))

    def _overwritten(self, value: Value) -> NoReturn:
        raise VerifyError(
            "the tensor was overwritten before this step reads it",
            op=self.where,
            tensor=value.describe(),
        )

    def run(self, node: BoundNode, steps: tuple[SweepStep, ...], nbytes: int) -> None:
        """Replay one op: its kernel's steps, then the check of its scratch memory."""
        scratch = (0, 0)
        if nbytes:
            scratch = self.span(scratch_name(node.index), 0, nbytes)
            self.contents.write(*scratch, SCRATCH)
        for value in node.outputs:
            self.define(value)
        for value in node.outputs[1:]:
            self.write(value, (0, value.nbytes))
        self._check_planes(node, steps)
        current().spend(STEP * len(steps), "checking the plan")
        for step in steps:
            if step.reads_first:
                self._reads(node, step)
            self.write(node.output, step.writes)
            if not step.reads_first:
                # Reads and writes interleave: the bytes read must survive the step's writes.
                self._reads(node, step)
        for value in node.outputs:
            self.read(value, (0, value.nbytes))
        if not self.contents.is_all(*scratch, SCRATCH):
            raise VerifyError("the op's scratch memory lies on its output", op=self.where)

    def _check_planes(self, node: BoundNode, steps: tuple[SweepStep, ...]) -> None:
        """Check that no plane overlaps another one; then all planes may be swept together."""
        y = node.output
        for value in self._inputs_below(node):
            apart = self._offsets[y.name] - self._offsets[value.name]
            if any(apart % step.planes for step in steps):
                raise VerifyError(
                    "a plane of the output lies on another plane of the input",
                    op=self.where,
                    tensor=y.describe(),
                )

    def lies_on_input(self, node: BoundNode) -> bool:
        """Whether the output has bytes in common with an input."""
        return any(self._inputs_below(node))

    def _inputs_below(self, node: BoundNode) -> Iterator[Value]:
        """Inputs that have bytes in common with the output."""
        y = node.output
        if y.name in self.outside:
            return
        y_at = self._offsets[y.name]
        for value in node.inputs:
            if value is None or value.is_constant or value.name in self.outside:
                continue
            x_at = self._offsets[value.name]
            if x_at < y_at + y.nbytes and y_at < x_at + value.nbytes:
                yield value

    def _reads(self, node: BoundNode, step: SweepStep) -> None:
        for value, span in zip(node.inputs, step.reads, strict=True):
            if value is not None and span is not None:
                self.read(value, span)

    def span(self, name: str, start: int, stop: int) -> Span:
        """Where bytes of a tensor, or of scratch memory, lie in the arena.

        Raises:
            VerifyError: the bytes lie outside the arena.

        """
        start, stop = self._offsets[name] + start, self._offsets[name] + stop
        if start < 0 or stop > self.contents.nbytes:
            raise VerifyError(
                f"'{name}' takes bytes {start} to {stop} of {self.contents.nbytes}", op=self.where
            )
        return start, stop


def _in_any_order(node: BoundNode) -> tuple[SweepStep, ...]:
    """One step that reads and writes everything."""
    reads = tuple(
        (0, v.nbytes) if v is not None and not v.is_constant else None for v in node.inputs
    )
    return (SweepStep(reads, (0, node.output.nbytes)),)


def _is_view(node: BoundNode, offsets: Mapping[str, int]) -> bool:
    if node.op != "reshape" or node.input(0).is_constant:
        return False
    return offsets.get(node.input(0).name) == offsets.get(node.output.name)
