"""Segments as C: tables of rings and steps, and a switch with one case per stage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from tinyrt.backends.c.folds import FOLDS
from tinyrt.export import text as c_text
from tinyrt.export.code import (
    FIRST,
    ROWS,
    At,
    CallLine,
    Int,
    Loop,
    Statement,
    Tokens,
    line,
    plus,
    rendered,
    tokens_of,
)
from tinyrt.export.pushed import PushedRows
from tinyrt.export.rows.batches import write_batch
from tinyrt.export.rows.sharing import Body, Group, alike, tables
from tinyrt.export.writer import ModelWriter, base_of
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.memory.rows.candidates import STATE_NAME
from tinyrt.memory.rows.steps import encode
from tinyrt.memory.segments import Access, RowStage, Segment
from tinyrt.ops import OPS

ROWS_HEADER = "tinyrt_rows"
"""The header with the C code that takes the steps; it has no source file."""


class SegmentWriter:
    """Writes one segment.

    Attributes:
        moving: number of counters in the C array ``moved``, one per access to a tensor held whole.
        code: all statements of the segment's cases.

    """

    def __init__(
        self, writer: ModelWriter, graph: Graph, plan: ArenaPlan, segment: Segment, number: int
    ) -> None:
        self.writer = writer
        self.moving = 0
        self.code: list[Statement] = []
        self._graph = graph
        self._plan = plan
        self._segment = segment
        self._name = f"rows{number}"
        # The first segment may run as rows are pushed; its variables then enclose the others'.
        self._own = str(number) if number else ""
        self._numbers: dict[int, int] = {}
        self._counts = segment.counts()

    def write(self) -> list[str]:
        """The switch's cases, and the tables as definitions of the model."""
        if ROWS_HEADER not in self.writer.functions:
            self.writer.functions.append(ROWS_HEADER)
        stages: dict[int, list[Statement]] = {}
        variables: dict[int, list[Statement]] = {}
        for index, stage in enumerate(self._segment.stages):
            if stage.node is None and stage.reads == (None,):
                continue  # The caller copies what is pushed.
            self.writer.statements, outer = [], self.writer.statements
            self._write_stage(index)
            stages[index] = self.writer.statements
            variables[index] = self._batch_variables(stage, stages[index])
            self.writer.statements = outer
            self.code += stages[index]
        groups = alike({i: Body.of([*variables[i], *own]) for i, own in stages.items()})
        merged = {i for group in groups for i in group.stages}
        self._numbers = _stage_numbers(self._segment, merged)
        self._write_tables()
        if groups:
            self.writer.definitions += tables(self._name, groups, self._numbers)
        cases = [
            text
            for i, own in stages.items()
            if i not in merged
            for text in (
                f"case {self._numbers[i]}: {{",
                *rendered(variables[i]),
                "\n".join(rendered(own)).lstrip("\n"),
                *("    break;", "}"),
            )
        ]
        first = min((self._numbers[i] for i in merged), default=0)
        return cases + [text for group in groups for text in self._merged_case(group, first)]

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
            group.code(f"{self._name}_nodes[{place}]"),
            *("    break;", "}"),
        ]

    def finish(self) -> None:
        """Write the code after the last row: sums become outputs."""
        for stage in self._segment.stages:
            if stage.fold is not None and stage.node is not None:
                node = self._graph.bind(stage.node.index)
                self.writer.begin(node)
                self.writer.sums = (self._in_arena(stage.writes),)
                self.writer.write_call(FOLDS[node.op](node))

    def loop(self, cases: list[str]) -> Loop:
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
        return Loop("\n".join(c_text.indented(line, 1) for line in lines), tuple(self.code))

    @property
    def next_stage(self) -> str:
        """The C expression for the stage that comes next, given ``progress``."""
        if len(self._plan.segments) == 1:
            return f"{self._name}_next({self._base}, progress)"
        rings = f"{self._name}_rings" if _advancing(self._segment) else "NULL"
        return f"rows_next({self._name}_steps, {rings}, {self._base}, progress{self._own})"

    @property
    def _base(self) -> str:
        """The C variable that points to the region with the rings."""
        region = next((i for i, r in enumerate(self._plan.regions) if r.nbytes), 0)
        region = next((self._plan.region_of.get(name, 0) for name in self._segment.rings), region)
        return base_of(self._plan, region)

    def pushed_rows(self, cases: list[str]) -> PushedRows:
        """The parts of a segment that runs as rows are pushed."""
        stage = self._segment.stages[0]
        return PushedRows(
            base=self._base,
            state=self._plan.offsets[STATE_NAME],
            moving=self.moving,
            rows=stage.rows,
            row_bytes=stage.writes.nbytes,
            place=str(self._in_arena(stage.writes)),
            block=stage.block,
            next_stage=self.next_stage,
            cases=tuple(c_text.indented(case, 2) for case in cases),
            code=tuple(self.code),
        )

    def _write_tables(self) -> None:
        rows = []
        for i in list(self._numbers)[: len(_advancing(self._segment))]:
            ring = self._segment.ring_of(i)
            assert ring is not None
            # Sums are filled once; no batch drops them.
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
        """The features that the steps of all segments use, as flags of ``tinyrt_next_stage``."""
        segments = self._plan.segments
        in_words = all(r.row_bytes % 4 == 0 for s in segments for r in s.rings.values())
        fewer = any(_is_cut(s, i) for s in segments for i in range(len(s.stages)))
        steps = [t for s in segments for t in s.steps]
        filled = any((t.fill and not t.shift) or (t.clear and not t.run) for t in steps)
        cuts = fewer or filled
        rings = any(_advancing(s) for s in segments)
        flags = ["TINYRT_IN_WORDS"] * in_words + ["TINYRT_WITH_CUTS"] * cuts
        return " | ".join(flags + ["TINYRT_WITH_RINGS"] * rings) or "0"

    def _write_stage(self, index: int) -> None:
        """Write the stage's statements."""
        stage = self._segment.stages[index]
        moves: list[Statement] = []
        cut = _is_cut(self._segment, index)
        places = [self._place(access, cut, moves, stage) for access in stage.reads]
        target = self._place(stage.writes, cut, moves, stage)
        if stage.node is None:
            end = _behind(target, stage.writes.nbytes, stage.block, cut)
            copied = CallLine("(void)tinyrt_copy", (places[0], end, target))
            self.writer.statements.append(copied)
        elif stage.fold is not None:
            self._write_sums(stage, places[0], cut)
        else:
            self.writer.placed = _placed(stage, places, target)
            if cut:
                self._write_some(stage, self._counts[index])
            else:
                assert stage.batch is not None
                self.writer.write_op(stage.batch)
        self.writer.placed = {}
        self.writer.statements += moves

    def _write_sums(self, stage: RowStage, place: Tokens, cut: bool) -> None:
        assert stage.node is not None
        x = stage.node.input(0)
        self.writer.placed = {x.name: place}
        self.writer.begin(self._graph.bind(stage.node.index))
        sums = "(int32_t *)(void *)(", self._in_arena(stage.writes), ")"
        args = _times(x.shape[2], stage.block, cut), (Int(x.shape[3]),), place, sums
        self.writer.call(COLUMN_SUMS, *args)

    def _write_some(self, stage: RowStage, counts: Sequence[int]) -> None:
        """Write the stage's op for every number of rows that its batches have."""
        op = OPS[stage.node.op].row_op(self._graph.bind(stage.node.index)) if stage.node else None
        assert op is not None
        write_batch(self.writer, lambda writer, n: writer.write_op(op.on_rows(n)), counts)

    def _batch_variables(self, stage: RowStage, code: Sequence[Statement]) -> list[Statement]:
        """Variables for a batch's first row and its number of rows, if the code uses them."""
        tokens = set(tokens_of(code))
        if not tokens & {FIRST, ROWS}:
            return []
        cut = f"progress{self._own}->cut"
        lines: list[Statement] = [line("const int32_t ", FIRST, f" = (int32_t)({cut} & 15U);")]
        if ROWS in tokens:
            behind = f" - (int32_t)({cut} >> ", Int(4), ");"
            lines.append(
                line("const int32_t ", ROWS, " = ", Int(stage.block), " - ", FIRST, *behind)
            )
        return lines

    def _place(
        self, access: Access | None, cut: bool, moves: list[Statement], stage: RowStage
    ) -> Tokens:
        """A pointer to the bytes of an access; an access that moves on gets a counter."""
        if access is None:
            return ()
        if not access.is_whole:
            at = self._in_arena(access)
            return (at, " + ", Int(access.step), " * ", FIRST) if cut and access.step else (at,)
        start = self.writer.pointer(self._graph.value(access.name))
        if not access.step:
            return start
        counter = f"moved{self._own}[", Int(self.moving), "]"
        self.moving += 1
        each = (Int(access.step), " * ", ROWS) if cut else (Int(access.step * stage.block),)
        moves.append(line(*counter, " += ", *each, ";"))
        if self._graph.value(access.name).dtype is not DType.INT8:
            start = ("(int8_t *)(void *)(", *start, ")")  # A counter is of bytes.
        return *start, " + ", *counter

    def _in_arena(self, access: Access) -> At:
        return At(self._base, (self._plan.offsets[access.name] + access.start,))


COLUMN_SUMS = "tinyrt_column_sums_s8"


def _times(each: int, block: int, cut: bool) -> Tokens:
    """``each`` times the number of rows of a batch."""
    if cut:
        return Int(each), " * ", ROWS
    return (Int(each),) if block == 1 else (Int(each), " * ", Int(block))


def _behind(place: Tokens, nbytes: int, block: int, cut: bool) -> Tokens:
    """The end of a batch's rows."""
    nbytes_of_all = _times(nbytes, block, cut)
    return plus(place, nbytes) if len(nbytes_of_all) == 1 else (*place, " + ", *nbytes_of_all)


def _placed(stage: RowStage, places: Sequence[Tokens], target: Tokens) -> dict[str, Tokens]:
    """Tensor -> its place, for what a stage reads and writes."""
    assert stage.node is not None
    values = (*stage.node.inputs, stage.node.output)
    pairs = zip(values, (*places, target), strict=True)
    return {value.name: _typed(value, place) for value, place in pairs if value and place}


def _typed(value: Value, place: Tokens) -> Tokens:
    """A place in bytes as a pointer to elements."""
    if value.dtype is DType.INT8:
        return place
    return (f"({c_text.c_type(value.dtype)} *)(void *)(", *place, ")")


def row_nodes(graph: Graph, segment: Segment) -> Iterator[BoundNode]:
    """A segment's ops on every number of rows that occurs, except ops that only add rows up."""
    for index, stage in enumerate(segment.stages):
        if stage.node is None or stage.fold is not None:
            continue
        if not _is_cut(segment, index):
            assert stage.batch is not None
            yield stage.batch
            continue
        op = OPS[stage.node.op].row_op(graph.bind(stage.node.index))
        assert op is not None  # it is in a segment
        yield from map(op.on_rows, segment.counts()[index])


def _is_cut(segment: Segment, index: int) -> bool:
    """Whether any batch of a stage has fewer rows than others."""
    block = segment.stages[index].block
    return any(s.count < block for s in segment.steps if s.stage == index and s.run)


def _advancing(segment: Segment) -> set[int]:
    """Stages with a ring whose rows are moved or filled, including a pushed input's ring."""
    moved = {s.stage for s in segment.steps if s.shift or s.clear or s.fill}
    return moved | ({0} if segment.pushed is not None else set())


def _stage_numbers(segment: Segment, merged: Collection[int]) -> dict[int, int]:
    """Stage -> its number in the C code, in the order of these numbers.

    Stages with rings come first, in the order of the table of rings. Stages in the table of calls
    are neighbours.
    """
    rings = _advancing(segment)
    order = sorted(
        range(len(segment.stages)),
        key=lambda i: (i not in rings, (i in merged) == (i in rings), i),
    )
    return {stage: number for number, stage in enumerate(order)}
