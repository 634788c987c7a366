"""Segments as C: tables of rings and steps, and a switch with one case per stage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinyrt.export import c_text
from tinyrt.export.c_schedule import encode
from tinyrt.export.c_writer import ModelWriter, PushedRows
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory import ArenaPlan
from tinyrt.memory.segments import Access, Segment, Stage
from tinyrt.memory.stream import STATE_NAME

WriteOp = Callable[[ModelWriter, BoundNode], None]
"""Has an op write its call, with a comment before it."""

NEXT_STAGE = "tinyrt_next_stage"


class SegmentWriter:
    """Writes one segment.

    Attributes:
        moving: how many counters of bytes in tensors that are held whole there are, in ``moved``.

    """

    def __init__(
        self, writer: ModelWriter, graph: Graph, plan: ArenaPlan, segment: Segment, number: int
    ) -> None:
        self.writer = writer
        self.moving = 0
        self._graph = graph
        self._plan = plan
        self._segment = segment
        self._name = f"rows{number}"

    def write(self, write_op: WriteOp) -> list[str]:
        """The switch's cases, and the tables as definitions of the model."""
        if NEXT_STAGE not in self.writer.kernels:
            self.writer.kernels.append(NEXT_STAGE)
        self._write_tables()
        cases: list[str] = []
        for number, stage in enumerate(self._segment.stages):
            if stage.node is None and self._segment.pushed is not None:
                continue  # The caller copies what is pushed.
            self.writer.statements, outer = [], self.writer.statements
            moves = self._write_stage(stage, write_op)
            body = "\n".join([*self.writer.statements, *moves])
            self.writer.statements = outer
            cases += [f"case {number}: {{", body.lstrip("\n"), "    break;", "}"]
        return cases

    def finish(self) -> None:
        """What is left to do behind the last row: sums become outputs."""
        for stage in self._segment.stages:
            if stage.fold is not None and stage.node is not None:
                node = self._graph.bind(stage.node.index)
                self.writer.begin(node)
                sums = f"(const int32_t *)(const void *)({self._in_arena(stage.writes)})"
                stage.fold.emit(self.writer, sums)

    def block(self, cases: list[str]) -> str:
        """The statements of a segment that runs in one go."""
        nodes = f"{self._segment.first} to {self._segment.stop - 1}"
        counters = [f"    int32_t moved[{self.moving}] = {{0}};"] if self.moving else []
        lines = [
            *("", f"/* Ops {nodes}, row by row. */", "{"),
            *("    tinyrt_progress start = {0};", "    tinyrt_progress *const progress = &start;"),
            *counters,
            f"    for (int32_t stage; (stage = {self.next_stage}) >= 0;) {{",
            *("        switch (stage) {", *(indented(case, 2) for case in cases), "        }"),
            *("    }", "}"),
        ]
        return "\n".join(indented(line, 1) for line in lines)

    @property
    def next_stage(self) -> str:
        """The C expression for the stage that comes next, given ``progress``."""
        return f"{NEXT_STAGE}({self._name}_steps, {self._name}_rings, arena, progress)"

    def pushed_rows(self, cases: list[str]) -> PushedRows:
        """What a segment consists of that runs as rows are pushed."""
        stage = self._segment.stages[0]
        return PushedRows(
            state=self._plan.offsets[STATE_NAME],
            moving=self.moving,
            rows=stage.rows,
            row_bytes=stage.writes.nbytes,
            place=self._in_arena(stage.writes),
            next_stage=self.next_stage,
            cases=tuple(indented(case, 2) for case in cases),
        )

    def _write_tables(self) -> None:
        rows = []
        for i in range(len(self._segment.stages)):
            ring = self._segment.ring_of(i)
            if ring is None:
                rows.append("{0}")
                continue
            at, keep = self._plan.offsets[ring.name], ring.nbytes - ring.row_bytes
            rows.append(f"{{{at}, {keep}, {ring.row_bytes}, {ring.fill or 0}}}")
        self.writer.definitions.append(
            f"static const tinyrt_ring {self._name}_rings[{len(rows)}] = {{\n"
            f"{c_text.wrap(rows)}\n}};"
        )
        steps = np.frombuffer(encode(self._segment), np.uint8)
        self.writer.definitions.append(
            c_text.array("static const", "uint8_t", f"{self._name}_steps", steps)
        )

    def _write_stage(self, stage: Stage, write_op: WriteOp) -> list[str]:
        """The stage's statements go to the writer; returns those that move its counters."""
        moves: list[str] = []
        places = [self._place(access, moves) for access in stage.reads]
        target = self._place(stage.writes, moves)
        if stage.node is None:
            self.writer.statements.append(
                f"    tinyrt_copy({places[0]}, {target} + {stage.writes.nbytes}, {target});"
            )
            return moves
        names = [v.name if v is not None else "" for v in stage.node.inputs]
        known = {n: p for n, p in zip(names, places, strict=True) if p}
        if stage.fold is not None:
            self.writer.placed = known
            self.writer.begin(self._graph.bind(stage.node.index))
            x = stage.node.input(0)
            sums = f"(int32_t *)(void *)({target})"
            arguments = (str(x.shape[2]), str(x.shape[3]), self.writer.pointer(x), sums)
            self.writer.call("tinyrt_column_sums_s8", *arguments)
        else:
            self.writer.placed = known | {stage.node.output.name: target}
            write_op(self.writer, stage.node)
        self.writer.placed = {}
        return moves

    def _place(self, access: Access | None, moves: list[str]) -> str:
        """The C expression for the bytes of an access; a moving one gets a counter."""
        if access is None:
            return ""
        if not access.stride:
            return self._in_arena(access)
        counter = f"moved[{self.moving}]"
        self.moving += 1
        moves.append(f"    {counter} += {access.stride};")
        return f"{self.writer.pointer(self._graph.value(access.name))} + {counter}"

    def _in_arena(self, access: Access) -> str:
        return f"arena + {self._plan.offsets[access.name] + access.start}"


def indented(text: str, levels: int) -> str:
    """All lines that are not empty, that much further to the right."""
    space = c_text.INDENT * levels
    return "\n".join(space + line if line else line for line in text.split("\n"))
