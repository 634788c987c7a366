"""The ``debug`` command: layers as a table, worst first, and what to do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt import api
from tinyrt.cli import tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import Json
from tinyrt.quantize.debug import DebugReport, LayerReport

COLUMNS = ("layer", "op", "impact", "own", "total", "range", "cut", "dead")
"""Of ``LayerReport``; the table fits 80 columns, ``--json`` has the rest."""


def debug(
    float_model: Annotated[
        Path, typer.Argument(metavar="FLOAT", help="The float model.", show_default=False)
    ],
    quantised: Annotated[
        Path,
        typer.Argument(
            metavar="QUANTISED", help="The int8 model made from it.", show_default=False
        ),
    ],
    data: Annotated[
        Path, typer.Option("-d", "--data", help=".npz with x, float.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Where a quantised model loses accuracy: every layer, worst first, with cause and cure."""
    with reporting(json) as report:
        report(*run_debug(float_model, quantised, data))


def run_debug(
    float_model: Path, quantised: Path, data: Path
) -> tuple[dict[str, Any], RenderableType]:
    """The report as JSON and as it is shown."""
    with progress_bar("comparing") as progress:
        found = api.debug_model(float_model, quantised, data, progress=progress)
    return asdict(found), _shown(found)


def _shown(found: DebugReport) -> RenderableType:
    layers = Table(
        box=box.SIMPLE_HEAD, caption="SQNR in dB, worst layer first", padding=(0, 0, 0, 1)
    )
    for column in COLUMNS:
        right = column not in ("layer", "op")
        layers.add_column(column, justify="right" if right else "left", no_wrap=True)
    advice = Table(box=box.SIMPLE_HEAD)
    for column in ("layer", "likely cause", "what helps"):
        advice.add_column(column)
    for layer in found.layers:
        layers.add_row(*_row(layer))
        if layer.cure is not None:
            advice.add_row(tables.short(layer.name), layer.cause, layer.cure)
    totals = tables.facts(
        {
            "samples": found.samples,
            "SQNR of the output, dB": found.sqnr_db,
            "channels rescaled": found.equalized,
        }
    )
    return Group(layers, *([advice] if advice.row_count else []), totals)


def _row(layer: LayerReport) -> tuple[str, ...]:
    return (
        tables.short(layer.name),
        layer.op,
        *(f"{db:.1f}" for db in (layer.impact_db, layer.own_db, layer.accumulated_db)),
        f"{layer.range_use:.0%}",
        f"{layer.saturation:.1%}",
        str(layer.dead_channels),
    )
