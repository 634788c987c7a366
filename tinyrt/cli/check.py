"""The command ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.cli.console import reporting
from tinyrt.cli.options import Json, MaxMemory, Wide, require_with

if TYPE_CHECKING:
    from tinyrt.api.gate.checking import Checked


def check(
    model: Annotated[Path, typer.Argument(help="A .tflite model.")],
    budget: Annotated[
        Path, typer.Option("--budget", help="TOML with the limits of cores, file and accuracy.")
    ],
    data: Annotated[
        Path | None, typer.Option("-d", "--data", help=".npz with x and y, for the accuracy.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="JSON with the figures accepted last.")
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option(
            "--write-baseline", help="Write the figures to --baseline instead of comparing."
        ),
    ] = False,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the table for a pull request.")
    ] = None,
    max_memory: MaxMemory = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Hold a model against limits and a baseline, for CI.

    Ends with status 1 where something is over its limit or worse than it was.
    """
    from tinyrt import api
    from tinyrt.files import write_text

    with reporting(json, max_memory, wide=wide) as report:
        require_with("--write-baseline", write_baseline or None, "--baseline", there=bool(baseline))
        checked = api.check(model, budget, data=data, baseline=baseline, write=write_baseline)
        if markdown is not None:
            write_text(markdown, checked.markdown())
        report(checked.as_dict(), shown(checked))
    if not checked.passed:
        raise typer.Exit(1)


def shown(checked: Checked) -> RenderableType:
    """Every figure with its limit and its change, and the verdict."""
    from tinyrt.api.gate.checking import FAILURES, Row
    from tinyrt.api.gate.checking import shown as cells

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("where", "figure", "now", "baseline", "change", "limit", ""):
        left = column in ("where", "figure", "")
        table.add_column(column, justify="left" if left else "right", overflow="fold")

    def style(row: Row) -> str:
        return "bold red" if row.verdict in FAILURES else ""

    for row in checked.rows:
        table.add_row(row.where, row.what, *cells(row), Text(row.verdict, style(row)))
    failed = sum(row.verdict in FAILURES for row in checked.rows)
    verdict = f"{failed} of {len(checked.rows)} figures fail." if failed else "All figures pass."
    return Group(table, *(Text(f"  note: {note}") for note in checked.notes), Text(f"  {verdict}"))
