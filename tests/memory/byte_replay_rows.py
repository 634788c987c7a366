"""The part of ``byte_replay`` that replays segments, row by row."""

from __future__ import annotations

import numpy as np

from tests.memory.byte_arena import PADDING, SCRATCH, BrokenPlanError, ByteArena, Numbers, Plan
from tinyrt.ir import Value
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.segments import Access, RowStage, RowStep, Segment
from tinyrt.ops import OPS
from tinyrt.ops.shared.rows import RowOp, RowWindow

Place = tuple[int, int]
"""A row of a tensor, and which one of its batch it is."""


class RowReplay:
    """The steps of a segment, on bytes.

    What windows read comes from the ops, not from the plan, which only says where rows lie.
    """

    def __init__(self, plan: Plan, segment: Segment, arena: ByteArena) -> None:
        self.plan, self.segment, self.arena = plan, segment, arena
        self.made = [0] * len(segment.stages)
        ops = {s.node.index for s in segment.stages if s.node is not None}
        if ops != {*range(segment.first, segment.stop)}:
            raise BrokenPlanError(f"the segment runs nodes {sorted(ops)}")

    def run(self) -> None:
        """All steps; then all rows must have been made, and sums become outputs."""
        for step in self.segment.steps:
            if step.shift or step.clear or step.fill:
                self._make_room(step)
            if step.run:
                self._run_batch(step, self.segment.stages[step.stage])
        for made, stage in zip(self.made, self.segment.stages, strict=True):
            if made != stage.rows:
                raise BrokenPlanError(f"a stage makes {made} of {stage.rows} rows")
            if stage.node is not None and stage.fold is not None:
                y = stage.node.output
                self._fold(stage, self.plan.graph.value(y.name))

    def _make_room(self, step: RowStep) -> None:
        ring = self.segment.ring_of(step.stage)
        if ring is None:
            raise BrokenPlanError("a step moves rows of a tensor that has no ring")
        held = self.arena.bytes_of(ring.name, (0, ring.nbytes))
        if step.shift:
            held[: -ring.block_bytes] = held[ring.block_bytes :].copy()
        if step.clear:
            held[:] = PADDING + (ring.fill or 0)
        if step.fill:
            held[-ring.block_bytes :] = PADDING + (ring.fill or 0)

    def _run_batch(self, step: RowStep, stage: RowStage) -> None:
        """All that the stage writes, and then what it reads must still be there."""
        first = self.made[step.stage]
        self.made[step.stage] += step.count
        places = [(first + i, step.first + i) for i in range(step.count)]
        if stage.node is None:
            for place in places:
                self._copy(stage, place)
            return
        node = self.plan.graph.bind(stage.node.index)
        op = OPS[node.op].row_op(node)
        if op is None:
            raise BrokenPlanError(f"{node.describe()} does not work row by row")
        if stage.fold is not None:
            for place in places:
                self._add(stage, node.input(0), place)
            return
        nbytes = 0 if op.fold else self.plan.kernels.scratch_bytes(op.on_rows(step.count))
        if nbytes:
            self.arena.write(scratch_name(node.index), (0, nbytes), SCRATCH)
        for place in places:
            self._write(stage.writes, node.output, place)
        for place in places:
            self._read_all(stage, node.inputs, op, place)
        if nbytes:
            self.arena.expect(scratch_name(node.index), (0, nbytes), SCRATCH)

    def _copy(self, stage: RowStage, place: Place) -> None:
        """A row of a tensor that is held whole, or that comes from outside, into a ring."""
        value = self.plan.graph.value(self.segment.rings[stage.writes.name].value)
        self._write(stage.writes, value, place)
        if stage.reads[0] is not None:
            self._read(stage.reads[0], value, RowWindow(), place)

    def _add(self, stage: RowStage, x: Value, place: Place) -> None:
        """A row that is added to sums, which begin with the first."""
        sums = stage.writes
        if place[0] == 0:
            self.arena.write(sums.name, (0, sums.nbytes), self.arena.renew(sums.name, sums.nbytes))
        self._expect_sums(stage)
        self._read(stage.reads[0], x, RowWindow(), place)

    def _fold(self, stage: RowStage, y: Value) -> None:
        self.arena.write(y.name, (0, y.nbytes), self.arena.renew(y.name, y.nbytes))
        self._expect_sums(stage)

    def _expect_sums(self, stage: RowStage) -> None:
        sums = stage.writes
        self.arena.expect(sums.name, (0, sums.nbytes), self.arena.own[sums.name])

    def _write(self, access: Access, value: Value, place: Place) -> None:
        if access.nbytes * value.shape[1] != value.nbytes:
            raise BrokenPlanError(f"a row of {access.nbytes} bytes of {value.describe()}")
        if place[0] == 0:
            self.arena.renew(self._key(access, value), value.nbytes)
        self.arena.write(access.name, access.span(*place), self._row(access, value, place[0]))

    def _read_all(
        self, stage: RowStage, inputs: tuple[Value | None, ...], op: RowOp, place: Place
    ) -> None:
        for access, value, window in zip(stage.reads, inputs, op.windows, strict=True):
            if value is not None and window is not None:
                self._read(access, value, window, place)

    def _read(self, access: Access | None, value: Value, window: RowWindow, place: Place) -> None:
        """The bytes that an access reads must be the rows under the window, with their padding."""
        if access is None:
            raise BrokenPlanError(f"{value.describe()} is not read")
        top = place[0] * window.step - window.above
        rows = [
            self._row(access, value, row)
            if 0 <= row < value.shape[1]
            else np.full(value.nbytes // value.shape[1], PADDING + (window.fill or 0))
            for row in range(top, top + window.rows)
        ]
        self.arena.expect(access.name, access.span(*place), np.concatenate(rows))

    def _row(self, access: Access, value: Value, row: int) -> Numbers:
        """The numbers that a row should hold; none for a row too many."""
        size = value.nbytes // value.shape[1]
        return self.arena.own[self._key(access, value)][row * size : (row + 1) * size]

    def _key(self, access: Access, value: Value) -> str:
        """Rows in a ring are a copy, with numbers of their own."""
        return f"rows of {value.name}" if access.name in self.segment.rings else value.name
