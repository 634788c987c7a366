"""Segments as C: tables of rings and steps, and a switch with one case per stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

import numpy as np

from tinyrt.export import c_text
from tinyrt.export.c_batches import ROWS, simplified, write_batch
from tinyrt.export.c_calls import NO_SCRATCH, Body, Group, alike, tables, without_comments
from tinyrt.export.c_writer import ModelWriter, PushedRows, base_of
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.memory.candidates import STATE_NAME
from tinyrt.memory.segments import Access, Segment, Stage
from tinyrt.memory.steps import encode
from tinyrt.ops import OPS

WriteOp = Callable[[ModelWriter, BoundNode], None]
"""Has an op write its call, with a comment before it."""

ROWS_HEADER = "tinyrt_rows"
"""What takes the steps: a header alone."""

FIRST = "first"
"""The C variable that says which of a batch's rows is the first one there is."""


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
        # The first one may run as rows are pushed, around the others.
        self._own = str(number) if number else ""
        self._numbers: dict[int, int] = {}
        self._counts = segment.counts()

    def write(self, write_op: WriteOp) -> list[str]:
        """The switch's cases, and the tables as definitions of the model."""
        if ROWS_HEADER not in self.writer.kernels:
            self.writer.kernels.append(ROWS_HEADER)
        texts: dict[int, str] = {}
        self.writer.no_scratch = NO_SCRATCH
        for index, stage in enumerate(self._segment.stages):
            if stage.node is None and stage.reads == (None,):
                continue  # The caller copies what is pushed.
            self.writer.statements, outer = [], self.writer.statements
            self._write_stage(index, write_op)
            body = "\n".join(self.writer.statements).lstrip("\n")
            texts[index] = "\n".join([*self._batch_variables(stage, body), body])
            self.writer.statements = outer
        self.writer.no_scratch = "NULL"
        groups = alike({i: Body.of(text) for i, text in texts.items()})
        merged = {i for group in groups for i in group.stages}
        self._numbers = _stage_numbers(self._segment, merged)
        self._write_tables()
        if groups:
            self.writer.definitions += tables(self._name, groups, self._numbers)
        cases = [
            line
            for i, text in texts.items()
            if i not in merged
            for line in (f"case {self._numbers[i]}: {{", _finished(text), "    break;", "}")
        ]
        first = min((self._numbers[i] for i in merged), default=0)
        return cases + [line for group in groups for line in self._merged_case(group, first)]

    def _merged_case(self, group: Group, first: int) -> list[str]:
        """One case for the stages of a group; the table begins with stage ``first``."""
        place = f"stage{self._own} - {first}" if first else f"stage{self._own}"
        nodes = ", ".join(str(body.node) for body in group.bodies)
        calls = f"{self._name}_calls + {place}"
        *others, last = (self._numbers[i] for i in group.stages)
        return [
            *(f"case {number}:" for number in others),
            f"case {last}: {{",
            c_text.block_comment(f"Ops {nodes}", "what differs is in the table").lstrip("\n"),
            f"    const struct {self._name}_call *const call = {calls};",
            _finished(group.template.replace("(node)", f"({self._name}_nodes[{place}])")),
            *("    break;", "}"),
        ]

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
        own = self._own
        counters = [f"    int32_t moved{own}[{self.moving}] = {{0}};"] if self.moving else []
        lines = [
            *("", f"/* Ops {nodes}, row by row. */", "{"),
            f"    tinyrt_progress start{own} = {{0}};",
            f"    tinyrt_progress *const progress{own} = &start{own};",
            *counters,
            f"    for (uint32_t stage{own};",
            f"         (stage{own} = {self.next_stage}) != TINYRT_NO_STAGE;) {{",
            *(
                f"        switch (stage{own}) {{",
                *(c_text.indented(case, 2) for case in cases),
                "        }",
            ),
            *("    }", "}"),
        ]
        return "\n".join(c_text.indented(line, 1) for line in lines)

    @property
    def next_stage(self) -> str:
        """The C expression for the stage that comes next, given ``progress``."""
        if len(self._plan.segments) == 1:
            return f"{self._name}_next({self._base}, progress)"
        rings = f"{self._name}_rings" if _advancing(self._segment) else "NULL"
        return f"rows_next({self._name}_steps, {rings}, {self._base}, progress{self._own})"

    @property
    def _base(self) -> str:
        """The C variable that points to where the rings are."""
        region = next((i for i, r in enumerate(self._plan.regions) if r.nbytes), 0)
        region = next((self._plan.region_of.get(name, 0) for name in self._segment.rings), region)
        return base_of(self._plan, region)

    def pushed_rows(self, cases: list[str]) -> PushedRows:
        """What a segment consists of that runs as rows are pushed."""
        stage = self._segment.stages[0]
        return PushedRows(
            base=self._base,
            state=self._plan.offsets[STATE_NAME],
            moving=self.moving,
            rows=stage.rows,
            row_bytes=stage.writes.nbytes,
            place=self._in_arena(stage.writes),
            block=stage.block,
            next_stage=self.next_stage,
            cases=tuple(c_text.indented(case, 2) for case in cases),
        )

    def _write_tables(self) -> None:
        rows = []
        numbered = sorted(self._numbers, key=self._numbers.__getitem__)
        for i in numbered[: len(_advancing(self._segment))]:
            ring = self._segment.ring_of(i)
            assert ring is not None
            # Sums are filled once, and then kept.
            block = 0 if self._segment.stages[i].fold is not None else ring.block_bytes
            at, keep = self._plan.offsets[ring.name], ring.nbytes - block
            rows.append(f"{{{at}, {ring.fill or 0}, {keep}, {block}}}")
        if rows:
            self.writer.definitions.append(
                f"static const tinyrt_ring {self._name}_rings[{len(rows)}] = {{\n"
                f"{c_text.wrap(rows)}\n}};"
            )
        steps = np.frombuffer(encode(self._segment, self._numbers), np.uint8)
        self.writer.definitions.append(
            c_text.array("static const", "uint8_t", f"{self._name}_steps", steps)
        )
        if len(self._plan.segments) == 1:
            self._write_next(
                self._name, f"{self._name}_steps", f"{self._name}_rings" if rows else "NULL", ""
            )
        elif not self._own:
            self._write_next(
                "rows", "steps", "rings", "const uint8_t *steps, const tinyrt_ring *rings, "
            )

    def _write_next(self, name: str, steps: str, rings: str, parameters: str) -> None:
        """The function that takes the steps; where there are several segments, one for all."""
        once = len(self._plan.segments) > 1 or self._segment.pushed is not None
        self.writer.definitions.append(
            f"static {'TINYRT_NOINLINE ' * once}uint32_t {name}_next({parameters}int8_t *arena,"
            " tinyrt_progress *progress) {\n"
            f"    return tinyrt_next_stage({steps}, {rings}, "
            f"{self._what()}, arena, progress);\n}}"
        )

    def _what(self) -> str:
        """What there is in the steps of all segments, as flags of ``tinyrt_next_stage``."""
        segments = self._plan.segments
        in_words = all(r.row_bytes % 4 == 0 for s in segments for r in s.rings.values())
        fewer = any(_is_cut(s, i) for s in segments for i in range(len(s.stages)))
        steps = [t for s in segments for t in s.steps]
        filled = any((t.fill and not t.shift) or (t.clear and not t.run) for t in steps)
        cuts = fewer or filled
        rings = any(_advancing(s) for s in segments)
        flags = ["TINYRT_IN_WORDS"] * in_words + ["TINYRT_WITH_CUTS"] * cuts
        return " | ".join(flags + ["TINYRT_WITH_RINGS"] * rings) or "0"

    def _write_stage(self, index: int, write_op: WriteOp) -> None:
        """The stage's statements go to the writer."""
        stage = self._segment.stages[index]
        moves: list[str] = []
        cut = _is_cut(self._segment, index)
        first = FIRST if cut else ""
        places = [self._place(access, first, moves, stage) for access in stage.reads]
        target = self._place(stage.writes, first, moves, stage)
        if stage.node is None:
            rows = ROWS if cut else str(stage.block)
            nbytes = f"{stage.writes.nbytes} * {rows}" if rows != "1" else str(stage.writes.nbytes)
            self.writer.statements.append(
                f"    tinyrt_copy({places[0]}, {target} + {nbytes}, {target});"
            )
        elif stage.fold is not None:
            self._write_sums(stage, places[0], ROWS if cut else str(stage.block))
        elif not cut:
            assert stage.batch is not None
            self.writer.placed = _placed(stage, places, target)
            write_op(self.writer, stage.batch)
        else:
            self._write_some(stage, places, target, self._counts[index], write_op)
        self.writer.placed = {}
        self.writer.statements += moves

    def _write_sums(self, stage: Stage, place: str, rows: str) -> None:
        assert stage.node is not None
        x = stage.node.input(0)
        self.writer.placed = {x.name: place}
        self.writer.begin(self._graph.bind(stage.node.index))
        pixels = str(x.shape[2]) if rows == "1" else f"{x.shape[2]} * {rows}"
        sums = f"(int32_t *)(void *)({self._in_arena(stage.writes)})"
        self.writer.call("tinyrt_column_sums_s8", pixels, str(x.shape[3]), place, sums)

    def _write_some(
        self,
        stage: Stage,
        places: Sequence[str],
        target: str,
        counts: Sequence[int],
        write_op: WriteOp,
    ) -> None:
        """A batch of as many rows as there are."""
        op = OPS[stage.node.op].row_op(self._graph.bind(stage.node.index)) if stage.node else None
        assert op is not None
        self.writer.placed = _placed(stage, places, target)
        write_batch(self.writer, lambda writer, n: write_op(writer, op.on_rows(n)), counts)

    def _batch_variables(self, stage: Stage, body: str) -> list[str]:
        """Where a batch begins and how many rows it has, as far as the stage's statements ask."""
        body, lines = "\n".join(without_comments(body)), []
        if re.search(rf"\b({FIRST}|{ROWS})\b", body):
            lines.append(f"    const int32_t {FIRST} = (int32_t)(progress{self._own}->cut & 15U);")
        if re.search(rf"\b{ROWS}\b", body):
            behind = f"(int32_t)(progress{self._own}->cut >> 4)"
            lines.append(f"    const int32_t {ROWS} = {stage.block} - {FIRST} - {behind};")
        return lines

    def _place(self, access: Access | None, first: str, moves: list[str], stage: Stage) -> str:
        """The C expression for the bytes of an access; a moving one gets a counter."""
        if access is None:
            return ""
        if not access.held:
            at = self._in_arena(access)
            return f"{at} + {access.step} * {first}" if first and access.step else at
        if not access.step:
            return self.writer.pointer(self._graph.value(access.name))
        counter = f"moved{self._own}[{self.moving}]"
        self.moving += 1
        each = f"{access.step} * {ROWS}" if first else str(access.step * stage.block)
        moves.append(f"    {counter} += {each};")
        value = self._graph.value(access.name)
        start = self.writer.pointer(value)
        # A counter is of bytes.
        return (
            f"{start if value.dtype is DType.INT8 else f'(int8_t *)(void *)({start})'} + {counter}"
        )

    def _in_arena(self, access: Access) -> str:
        return f"{self._base} + {self._plan.offsets[access.name] + access.start}"


def _finished(text: str) -> str:
    """Statements as they are read."""
    return simplified(text.replace(NO_SCRATCH, "NULL"))


def _placed(stage: Stage, places: Sequence[str], target: str) -> dict[str, str]:
    """Tensor -> C expression, for what a stage reads and writes."""
    assert stage.node is not None
    values = (*stage.node.inputs, stage.node.output)
    pairs = zip(values, (*places, target), strict=True)
    return {value.name: _typed(value, place) for value, place in pairs if value and place}


def _typed(value: Value, place: str) -> str:
    """A place in bytes as a pointer to elements."""
    if value.dtype is DType.INT8:
        return place
    return f"({c_text.c_type(value.dtype)} *)(void *)({place})"


def _is_cut(segment: Segment, index: int) -> bool:
    """Whether any batch of a stage has fewer rows than others."""
    block = segment.stages[index].block
    return any(s.count < block for s in segment.steps if s.stage == index and s.run)


def _advancing(segment: Segment) -> set[int]:
    """Stages that have a ring whose rows are moved or filled; a pushed input counts."""
    moved = {s.stage for s in segment.steps if s.shift or s.clear or s.fill}
    return moved | ({0} if segment.pushed is not None else set())


def _stage_numbers(segment: Segment, merged: Collection[int]) -> dict[int, int]:
    """Stage -> its number in the C code.

    Those with rings come first, as they are in the table of rings; those in the table of calls are
    beside each other.
    """
    rings = _advancing(segment)
    order = sorted(
        range(len(segment.stages)),
        key=lambda i: (i not in rings, (i in merged) == (i in rings), i),
    )
    return {stage: number for number, stage in enumerate(order)}
