"""The part of the independent check that replays segments, row by row and byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory.check.contents import Content, Contents, Run, Runs, part
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.segments import Access, Ring, RowStage, RowStep, Segment
from tinyrt.memory.sweep import Span
from tinyrt.ops import OPS
from tinyrt.ops.shared.rows import RowOp, RowWindow

SCRATCH = Content(-2, 0)
"""The contents of scratch memory."""

FIRST_PADDING = -1000
"""Bytes of padding hold this number plus the padding's raw value."""


class Arena(Protocol):
    """The part of the whole plan's replay that segments use.

    Attributes:
        where: the op that runs, for messages.
        contents: the last write to each byte.
        numbers: name -> the contents that the bytes of a tensor, ring or sum must have.
        outside: tensors that are not in the arena.

    """

    where: str
    contents: Contents
    numbers: dict[str, Runs]
    outside: Collection[str]

    def number(self, name: str, nbytes: int) -> Runs:
        """New numbers for so many bytes, under a name."""
        ...

    def span(self, name: str, start: int, stop: int) -> tuple[int, int]:
        """Where bytes of a buffer lie; raises where they lie outside the arena."""
        ...

    def put(self, at: int, runs: Iterable[Run]) -> None:
        """Set the contents of the arena's bytes from ``at`` on."""
        ...


def replay_segment(graph: Graph, segment: Segment, kernels: Kernels, arena: Arena) -> None:
    """Run the steps of a segment and check that its ops read the rows under their windows.

    The check takes the windows from the ops, not from the plan: the plan only says where rows lie.

    Raises:
        VerifyError: a row was overwritten before it was read, lies elsewhere, or never comes.

    """
    replay = _SegmentReplay(graph, segment, kernels, arena)
    for step in segment.steps:
        stage = segment.stages[step.stage]
        ring = segment.ring_of(step.stage)
        if step.shift or step.clear or step.fill:
            replay.make_room(ring, step)
        if step.run:
            replay.run(step, stage)
    replay.finish()


class _SegmentReplay:
    def __init__(self, graph: Graph, segment: Segment, kernels: Kernels, arena: Arena) -> None:
        self.graph, self.segment, self.kernels, self.arena = graph, segment, kernels, arena
        self.rows = [0] * len(segment.stages)
        nodes = [s.node.index for s in segment.stages if s.node is not None]
        if nodes != [*range(segment.first, segment.stop)]:
            raise VerifyError(f"a segment of nodes {segment.first} to {segment.stop} runs {nodes}")

    def make_room(self, ring: Ring | None, step: RowStep) -> None:
        """Move the rows of a ring, and fill its last block, or all of it."""
        if ring is None:
            raise VerifyError("a step moves rows of a tensor that has no ring")
        start, stop = self.arena.span(ring.name, 0, ring.nbytes)
        contents = self.arena.contents
        if step.shift:
            for run in tuple(contents.runs(start + ring.block_bytes, stop)):
                moved = run.content.moved(-ring.block_bytes)
                contents.write(run.start - ring.block_bytes, run.stop - ring.block_bytes, moved)
        if step.clear or step.fill:
            first = start if step.clear else stop - ring.block_bytes
            contents.write(first, stop, _padding(ring.fill))

    def run(self, step: RowStep, stage: RowStage) -> None:
        """Run one batch: the stage writes all its rows, and the rows it reads must survive that."""
        row = self.rows[step.stage]
        self.rows[step.stage] += step.count
        node = None if stage.node is None else self.graph.bind(stage.node.index)
        self.arena.where = f"row {row} of " + (node.describe() if node else "the input")
        op = None if node is None else OPS[node.op].row_op(node)
        if node is not None and op is None:
            raise VerifyError("the op does not work row by row", op=self.arena.where)
        scratch = self._scratch(node, op, step.count)
        places = [(row + i, step.first + i) for i in range(step.count)]
        if node is not None and op is not None and stage.fold is None:
            for row, place in places:
                self._write_row(stage.writes, node.output, row, place)
            for row, place in places:
                self._check_reads(stage, node, op, row, place)
        else:
            for row, place in places:
                self._run_plain(stage, row, place, node)
        if not self.arena.contents.is_all(*scratch, SCRATCH):
            raise VerifyError("the op's scratch memory lies on its rows", op=self.arena.where)

    def _run_plain(self, stage: RowStage, row: int, place: int, node: BoundNode | None) -> None:
        """Copy rows into a ring, or add rows to sums."""
        (access, *_) = stage.reads
        if node is not None:
            sums = self.arena.span(stage.writes.name, 0, stage.writes.nbytes)
            if row == 0:
                self.arena.put(sums[0], self.arena.number(stage.writes.name, stage.writes.nbytes))
            self._expect(sums, self.arena.numbers[stage.writes.name], "the sums")
            self._check_window(access, node.input(0), RowWindow(), row, place)
            return
        ring = self.segment.rings[stage.writes.name]
        value = self.graph.value(ring.value)
        self._write_row(stage.writes, value, row, place)
        if access is not None:
            self._check_window(access, value, RowWindow(), row, place)

    def finish(self) -> None:
        """Check that every stage has made all its rows, and turn sums into outputs."""
        for rows, stage in zip(self.rows, self.segment.stages, strict=True):
            if rows != stage.rows:
                raise VerifyError(f"a stage makes {rows} of {stage.rows} rows")
            if stage.fold is None or stage.node is None:
                continue
            node = self.graph.bind(stage.node.index)
            self.arena.where = node.describe()
            y = node.output
            numbers = self.arena.number(y.name, y.nbytes)
            if y.name not in self.arena.outside:
                self.arena.put(self.arena.span(y.name, 0, y.nbytes)[0], numbers)
            sums = self.arena.span(stage.writes.name, 0, stage.writes.nbytes)
            self._expect(sums, self.arena.numbers[stage.writes.name], "the sums")

    def _scratch(self, node: BoundNode | None, op: RowOp | None, rows: int) -> Span:
        if node is None or op is None or op.fold is not None:
            return 0, 0
        nbytes = self.kernels.scratch_bytes(op.on_rows(rows))
        if not nbytes:
            return 0, 0
        at = self.arena.span(scratch_name(node.index), 0, nbytes)
        self.arena.contents.write(*at, SCRATCH)
        return at

    def _write_row(self, access: Access, value: Value, row: int, place: int) -> None:
        if access.nbytes * value.shape[1] != value.nbytes:
            raise VerifyError(f"a row of {access.nbytes} bytes", tensor=value.describe())
        if row == 0:
            self.arena.number(self._name(access, value), value.nbytes)
        if access.name not in self.arena.outside:
            at, _ = self.arena.span(access.name, *access.span(row, place))
            self.arena.put(at, self._row(access, value, row))

    def _check_reads(
        self, stage: RowStage, node: BoundNode, op: RowOp, row: int, place: int
    ) -> None:
        for access, value, window in zip(stage.reads, node.inputs, op.windows, strict=True):
            if value is not None and window is not None:
                self._check_window(access, value, window, row, place)

    def _check_window(
        self, access: Access | None, value: Value, window: RowWindow, row: int, place: int
    ) -> None:
        """The bytes that an access reads must be the rows under the window, with their padding."""
        if access is None:
            raise VerifyError("an input is not read", tensor=value.describe())
        if access.name in self.arena.outside:
            return
        at = self.arena.span(access.name, *access.span(row, place))
        self._expect(at, self._under(access, value, window, row), value.describe())

    def _under(self, access: Access, value: Value, window: RowWindow, row: int) -> Iterator[Run]:
        """The contents that the bytes under a window must have."""
        row_bytes = value.nbytes // value.shape[1]
        first = row * window.step - window.above
        for place, r in enumerate(range(first, first + window.rows)):
            to = place * row_bytes
            if 0 <= r < value.shape[1]:
                yield from self._row(access, value, r, to)
            else:
                yield Run(to, to + row_bytes, _padding(window.fill).moved(to))

    def _row(self, access: Access, value: Value, row: int, to: int = 0) -> Iterator[Run]:
        """The contents of a tensor's row; nothing if the tensor has no rows yet."""
        row_bytes = value.nbytes // value.shape[1]
        numbers = self.arena.numbers.get(self._name(access, value), ())
        return part(numbers, row * row_bytes, (row + 1) * row_bytes, to)

    def _name(self, access: Access, value: Value) -> str:
        """The key of a tensor's numbers; a ring that holds a copy has a key of its own."""
        return f"rows of {value.name}" if access.name in self.segment.rings else value.name

    def _expect(self, at: Span, runs: Iterable[Run], what: str) -> None:
        start, stop = at
        reached = start
        for run in runs:
            if not self.arena.contents.is_all(
                start + run.start, start + run.stop, run.content.moved(start)
            ):
                break
            reached = start + run.stop
        if reached != stop:
            raise VerifyError(
                "what this step reads is not, or no longer, what it asks for",
                op=self.arena.where,
                tensor=what,
            )


def _padding(fill: int | None) -> Content:
    return Content(FIRST_PADDING + (fill or 0), 0)
