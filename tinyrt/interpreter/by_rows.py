"""A plan with segments, run by the reference kernels in the same bytes as on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.program import Step, Tensors
from tinyrt.backends.reference import reference_step
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory import ArenaPlan
from tinyrt.memory.segments import Access, RowStage, Segment
from tinyrt.ops.shared.evaluate import reference_kernel

Bytes = NDArray[np.uint8]


class RowsProgram:
    """Segments row by row, other ops one by one.

    Args:
        graph: the model.
        tensors: those that are held whole, and the constants.
        plan: where rings lie, and in which order rows come.
        arena: the memory of the plan.

    """

    packed_bytes = 0

    def __init__(self, graph: Graph, tensors: Tensors, plan: ArenaPlan, arena: Bytes) -> None:
        self._segments = {s.first: s for s in plan.segments}
        self._inside = {i for s in plan.segments for i in range(s.first, s.stop)}
        self._steps: dict[int, Step] = {}
        for node in graph.bound():
            if node.index in self._segments:
                segment = self._segments[node.index]
                self._steps[node.index] = _SegmentRun(graph, tensors, plan, segment, arena).run
            elif node.index not in self._inside:
                self._steps[node.index] = reference_step(node, tensors)

    def run(self) -> None:
        """Run all ops."""
        for step in self._steps.values():
            step()

    def run_op(self, index: int) -> None:
        """Run one op that is not in a segment.

        Raises:
            UnsupportedError: it is in a segment, whose ops run together.

        """
        if index in self._inside:
            raise UnsupportedError(
                f"op {index} runs row by row together with others",
                hint="watch ops of a plan without segments",
            )
        self._steps[index]()


class _SegmentRun:
    """One segment: its stages as functions of the row that they compute."""

    def __init__(
        self, graph: Graph, tensors: Tensors, plan: ArenaPlan, segment: Segment, arena: Bytes
    ) -> None:
        self._tensors, self._segment = tensors, segment
        self._rings = {
            ring.name: arena[plan.start_of(ring.name) :][: ring.nbytes]
            for ring in segment.rings.values()
        }
        self._stages = [self._stage(stage) for stage in segment.stages]
        self._folded = [
            (tensors[graph.bind(s.node.index).output.name], s.fold, s.writes)
            for s in segment.stages
            if s.fold is not None and s.node is not None
        ]

    def run(self) -> None:
        """All rows."""
        rows = [0] * len(self._stages)
        for step in self._segment.steps:
            ring = self._segment.ring_of(step.stage)
            if ring is not None:
                memory = self._rings[ring.name]
                if step.shift:
                    memory[: -ring.block_bytes] = memory[ring.block_bytes :].copy()
                if step.clear or step.fill:
                    start = 0 if step.clear else -ring.block_bytes
                    memory[start:] = (ring.fill or 0) & 0xFF
            for place in range(step.first, step.first + step.count):
                self._stages[step.stage](rows[step.stage], place)
                rows[step.stage] += 1
        for output, fold, writes in self._folded:
            sums = self._bytes(writes, 0, 0).view(np.int32)
            output[...] = fold.finish(sums).reshape(output.shape)

    def _bytes(self, access: Access, row: int, place: int) -> Bytes:
        """The bytes that an access reads or writes for a row, the ``place``-th of its batch."""
        start, stop = access.span(row, place)
        memory = self._rings.get(access.name)
        if memory is None:
            memory = self._tensors[access.name].reshape(-1).view(np.uint8)
        return memory[start:stop]

    def _stage(self, stage: RowStage) -> Callable[[int, int], None]:
        if stage.node is None:
            return lambda row, place: self._copy(stage, row, place)
        node = stage.node
        if stage.fold is not None:
            return lambda row, place: self._add_up(node, stage, row, place)
        kernel, output = reference_kernel(node), node.output

        def run(row: int, place: int) -> None:
            result = kernel(*self._arrays(node, stage, row, place))
            self._bytes(stage.writes, row, place).view(output.dtype.numpy)[:] = result.reshape(-1)

        return run

    def _copy(self, stage: RowStage, row: int, place: int) -> None:
        """A row of a tensor that is held whole, or of the input that comes from outside."""
        (access,) = stage.reads
        if access is None:
            assert self._segment.pushed is not None
            size = stage.writes.nbytes
            access = Access(self._segment.pushed, 0, size, size, is_whole=True)
        self._bytes(stage.writes, row, place)[:] = self._bytes(access, row, place)

    def _add_up(self, node: BoundNode, stage: RowStage, row: int, place: int) -> None:
        (x,) = self._arrays(node, stage, row, place)
        sums = self._bytes(stage.writes, row, place).view(np.int32)
        sums += x.sum(axis=(0, 1, 2), dtype=np.int32)

    def _arrays(self, node: BoundNode, stage: RowStage, row: int, place: int) -> list[Any]:
        """The inputs of a stage's op; None for absent ones."""
        arrays: list[Any] = []
        for value, access in zip(node.inputs, stage.reads, strict=True):
            if value is None:
                arrays.append(None)
            elif access is None:
                arrays.append(self._tensors[value.name])
            else:
                data = self._bytes(access, row, place)
                arrays.append(data.view(value.dtype.numpy).reshape(value.shape))
        return arrays
