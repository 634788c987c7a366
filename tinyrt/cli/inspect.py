"""The commands that only look: ``inspect`` and ``ops``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from tinyrt.amounts import parse_bytes
from tinyrt.cli import emulation_tables, tables
from tinyrt.cli.console import reporting
from tinyrt.cli.cycles import (
    Clock,
    CodeCache,
    DataCache,
    Energy,
    FlashLine,
    FlashWait,
    Multiplier,
    WithCycles,
    timing_of,
)
from tinyrt.cli.listen import front_end_data, front_end_facts
from tinyrt.cli.options import (
    ByRows,
    Core,
    InputRows,
    Json,
    MadeFor,
    MaxMemory,
    Model,
    Shapes,
    Values,
    Wide,
    parse_shapes,
    parse_values,
)
from tinyrt.memory import require_budget


def inspect(
    model: Model,
    shape: Shapes = None,
    value: Values = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a page.")] = None,
    core: Core = "cortex-m4",
    optimize: MadeFor = "balanced",
    by_rows: ByRows = False,
    input_rows: InputRows = False,
    backend: Annotated[
        str | None,
        typer.Option("--backend", help="Say which ops run on a GPU, too: cuda. Needs none."),
    ] = None,
    max_arena: Annotated[
        str | None,
        typer.Option("--max-arena", metavar="BYTES", help="Refuse a larger arena, e.g. 32k."),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--all", help="Show all ops and tensors, too, and what the host packs."),
    ] = False,
    cycles: WithCycles = False,
    clock: Clock = None,
    mj_per_mcycle: Energy = None,
    flash_wait: FlashWait = None,
    flash_line: FlashLine = None,
    code_cache: CodeCache = None,
    data_cache: DataCache = None,
    multiplier: Multiplier = None,
    max_memory: MaxMemory = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Ops, shapes, quantisation, cost, and the arena over time."""
    from tinyrt import api
    from tinyrt.export import ExportOptions

    with reporting(json, max_memory, wide=wide) as report:
        timing = timing_of(
            cycles,
            clock=clock,
            mj_per_mcycle=mj_per_mcycle,
            flash_wait=flash_wait,
            flash_line=flash_line,
            code_cache=code_cache,
            data_cache=data_cache,
            multiplier=multiplier,
        )
        inspection = api.inspect_model(
            model,
            shapes=parse_shapes(shape),
            values=parse_values(value),
            core=core,
            optimize=optimize,
            by_rows=by_rows,
            input_rows=input_rows,
            backend=backend,
        )
        if max_arena is not None:
            require_budget(inspection.graph, inspection.plan, parse_bytes(max_arena))
        if html is not None:
            from tinyrt.report import write_page

            write_page(inspection, html)
        data: dict[str, Any] = {
            "ops": [{**asdict(op), "output_shape": list(op.output_shape)} for op in inspection.ops],
            "macs": inspection.macs,
            "weight_bytes": inspection.weight_bytes,
            **({"packed_bytes": inspection.packed_bytes} if json else {}),
            "arena_bytes": inspection.arena_bytes,
            "segments": [
                {"first": s.first, "last": s.stop - 1, "rows": {r.value: r.rows for r in s.images}}
                for s in inspection.plan.segments
            ],
            "arena_lower_bound": inspection.plan.lower_bound,
            "arena_optimal": inspection.plan.optimal,
            "advice": [asdict(advice) for advice in inspection.advice],
            "placement": [segment.as_dict() for segment in inspection.placement],
        }
        data |= front_end_data(inspection.front_end)
        table = tables.inspection(inspection, whole)
        if inspection.front_end is not None:
            table = Group(table, tables.facts(front_end_facts(inspection.front_end)))
        if timing is not None:
            made = ExportOptions(by_rows=by_rows, input_rows=input_rows)
            run = api.run_emulated(
                model, core=core, optimize=optimize, samples=1, options=made, cycles=timing
            )
            assert run.cycles is not None
            assert run.ops is not None
            data |= run.cycles.as_dict()
            of_ops = {op.index: op.cycles for op in run.ops}
            for i, op in enumerate(data["ops"]):
                told = of_ops.get(i)
                op["cycles"] = None if told is None else told.as_dict()
            told_facts = tables.facts(emulation_tables.cycles(run.cycles))
            table = Group(table, told_facts, emulation_tables.costs(run.ops))
        report(data, table)


def ops(wide: Wide = False, json: Json = False) -> None:
    """Which op runs where, and for which dtypes."""
    from tinyrt.backends.support import support_rows

    with reporting(json, wide=wide) as report:
        rows = support_rows()
        report({"ops": rows}, tables.op_table(rows))
