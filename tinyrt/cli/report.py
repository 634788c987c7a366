"""The command ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.cli import tables
from tinyrt.cli.console import noting, progress_bar, reporting
from tinyrt.cli.emulation_tables import span
from tinyrt.cli.options import CORES, Json, MadeFor, MaxMemory, Wide
from tinyrt.report.facts import Report


def report(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...", help=".tflite models; the others are compared with the first."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The .html file to write.")],
    core: Annotated[
        list[str] | None,
        typer.Option(
            "--core",
            help=f"A processor core, may be repeated: {CORES}.",
            show_default="cortex-m4",
        ),
    ] = None,
    optimize: MadeFor = "balanced",
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Compute costs by formula: nothing is built or emulated."),
    ] = False,
    cycles: Annotated[
        bool,
        typer.Option("--cycles", help="Tell cycles, too, as a range; of every op as well."),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option("-d", "--data", help=".npz with x, and y for accuracy."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="With --data: the float model, for each layer's error."),
    ] = None,
    max_memory: MaxMemory = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Write a page: cost on each core, graph, arena and quantisation.

    And which parts it fits.
    """
    from tinyrt.report import write_report

    with reporting(json, max_memory, wide=wide) as said:
        with noting() as notes, progress_bar("reporting") as progress:
            found = write_report(
                models,
                output,
                cores=core or ["cortex-m4"],
                optimize=optimize,
                estimate=estimate,
                cycles=cycles,
                data=data,
                against=against,
                progress=progress,
            )
        written = {"output": str(output), "bytes": output.stat().st_size}
        said({**written, "report": found.as_dict(), "warnings": notes}, _table(found, written))
    if any(one.bit_exact is False for model in found.models for one in model.cores):
        raise typer.Exit(1)


def _table(found: Report, written: dict[str, object]) -> RenderableType:
    """The page's first figures: a line for each model on each core."""
    table = Table(box=box.SIMPLE_HEAD)
    cores = [(model, one) for model in found.models for one in model.cores]
    told = any(one.cycles for _, one in cores)
    # Cycles take the room of what is not known.
    judged = not told or any(model.quality for model in found.models)
    optional = {"right": judged, "cycles": told}
    names = ("model", "core", "right", "instructions", "cycles", "flash", "arena", "stack")
    shown = [name for name in names if optional.get(name, True)]
    for column in shown:
        left = column in ("model", "core")
        table.add_column(column, justify="left" if left else "right")
    for model, one in cores:
        right = None if model.quality is None else model.quality.top1
        cycles = "-" if one.cycles is None else span(one.cycles.low, one.cycles.high)
        figures = (one.instructions, cycles, one.flash.total, one.ram.arena, one.ram.stack)
        row = [tables.named(model.name), one.core, tables.percent(right)]
        row += [n if isinstance(n, str) else tables.number(n) for n in figures]
        table.add_row(*(cell for name, cell in zip(names, row, strict=True) if name in shown))
    return Group(table, tables.facts(written))
