"""The ``debug`` command: layers as a table, worst first, and what to do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.cli import tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import (
    Json,
    MaxMemory,
    Wide,
    parse_accuracy,
    parse_allowed,
    require_with,
)
from tinyrt.cli.sharing import Scheduler, Workers
from tinyrt.decibels import EQUAL

if TYPE_CHECKING:
    from tinyrt.quantize.explain.bisect import BisectReport
    from tinyrt.quantize.explain.debug import DebugReport, LayerReport

COLUMNS = ("layer", "op", "impact", "own", "total", "range", "cut", "dead", "spread")

"""Of ``LayerReport``; the table fits 80 columns, ``--json`` has the rest."""
MAX_OP = 16
"""Columns of an op's name before it wraps: so many has depthwise_conv2d."""
CAPTION = f"SQNR in dB, worst layer first; {EQUAL}: not a bit of difference"
ALLOWED = "int8,int16x8,float"
"""What layers may be kept in where nothing is said."""


def debug(
    float_model: Annotated[Path, typer.Argument(metavar="FLOAT", help="The float model.")],
    quantized: Annotated[
        Path,
        typer.Argument(metavar="QUANTISED", help="The quantised model made from it."),
    ],
    data: Annotated[
        Path,
        typer.Option("-d", "--data", help=".npz with x, float, and y for --bisect."),
    ],
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Find the layers that win the accuracy back if kept in int16x8 or float.",
        ),
    ] = False,
    min_accuracy: Annotated[
        str | None,
        typer.Option(
            "--min-accuracy",
            metavar="SHARE|dB",
            help="With --bisect: what to win back, e.g. 91%, 0.91 or 40dB.",
            show_default="within 1 % of float; 40dB without labels",
        ),
    ] = None,
    allow: Annotated[
        str | None,
        typer.Option(
            "--allow",
            metavar="SCHEMES",
            help="With --bisect: what to keep layers in.",
            show_default=ALLOWED,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write the report as a page, with a plot."),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    max_memory: MaxMemory = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Where a quantised model loses accuracy, with cause and cure.

    Every layer, the worst first.
    """
    from tinyrt import api
    from tinyrt.quantize.mixed.budget import Budget

    with reporting(json, max_memory, wide=wide) as report:
        of_bisect = {"--min-accuracy": min_accuracy, "--allow": allow}
        for option, value in (of_bisect | {"--workers": workers, "--scheduler": scheduler}).items():
            require_with(option, value, "--bisect", there=bisect)
        share, db = parse_accuracy(min_accuracy) if min_accuracy is not None else (None, None)
        target = Budget(None, share, db, parse_allowed(ALLOWED if allow is None else allow))
        with progress_bar("comparing") as progress:
            debugging = api.debug_model(float_model, quantized, data, progress=progress)
        bisected = None
        if bisect:
            with progress_bar("bisecting") as progress:
                bisected = api.bisect_model(
                    *(float_model, quantized, data),
                    target=target,
                    progress=progress,
                    workers=workers or 1,
                    scheduler=scheduler,
                )
        if html is not None:
            from tinyrt.report.debug_page import write_debug_page

            write_debug_page(quantized, data, debugging, html, bisected)
        as_json, parts = asdict(debugging), [_layers_table(debugging)]
        if bisected is not None:
            as_json["bisect"] = asdict(bisected)
            parts.append(_steps(bisected))
        report(as_json, Group(*parts))


def _steps(bisection: BisectReport) -> RenderableType:
    """The greedy steps, and what is left of them in the end."""
    table = Table(box=box.SIMPLE_HEAD, title="winning it back", title_justify="left")
    for column in ("layers", "kept in", "SQNR", "right"):
        right = column in ("SQNR", "right")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    table.add_row(
        "as it is",
        "-",
        tables.decibels(bisection.start.sqnr_db),
        tables.percent(bisection.start.top1),
    )
    for step in bisection.steps:
        names = "\n".join(tables.layer(name) for name in step.layers)
        table.add_row(names, step.scheme, tables.decibels(step.sqnr_db), tables.percent(step.top1))
    facts = {
        "target reached": bisection.reached,
        "SQNR, dB": tables.decibels(bisection.result.sqnr_db),
        "right": tables.percent(bisection.result.top1),
        "right in float": tables.percent(bisection.float_top1),
    }
    headline = "Quantise again with:"
    if not bisection.options:
        headline = "Nothing is lost." if bisection.reached else "Nothing that is allowed helps."
    options = (Text(f"  {option}") for option in bisection.options)
    return Group(table, tables.facts(facts), Text(headline), *options)


def _layers_table(debugging: DebugReport) -> RenderableType:
    layers = Table(box=box.SIMPLE_HEAD, caption=CAPTION, caption_justify="left", padding=0)
    for column in COLUMNS:
        right = column not in ("layer", "op")
        justify: Literal["left", "right"] = "right" if right else "left"
        most = MAX_OP if column == "op" else None
        layers.add_column(column, justify=justify, no_wrap=right, overflow="fold", max_width=most)
    advice = Table(box=box.SIMPLE_HEAD)
    for column in ("layer", "likely cause", "what helps"):
        advice.add_column(column, overflow="fold")
    for layer in debugging.layers:
        layers.add_row(*_row(layer))
        if layer.cure is not None:
            advice.add_row(tables.layer(layer.name), layer.cause, layer.cure)
    totals = tables.facts(
        {
            "samples": debugging.samples,
            "SQNR of the output, dB": tables.decibels(debugging.sqnr_db),
            "channels rescaled": debugging.equalized,
        }
    )
    return Group(layers, *([advice] if advice.row_count else []), *_origins(debugging), totals)


def _origins(debugging: DebugReport) -> tuple[Table, ...]:
    """Which layers quantisation made of which; nothing where it made none."""
    made: dict[str, list[str]] = {}
    for layer in sorted(debugging.layers, key=lambda layer: layer.index):
        if layer.part_of is not None:
            made.setdefault(layer.part_of, []).append(tables.layer(layer.name))
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("layer of the float model", "quantised as"):
        table.add_column(column, overflow="fold")
    for name, parts in made.items():
        table.add_row(tables.layer(name), "\n".join(parts))
    return (table,) if made else ()


def _row(layer: LayerReport) -> tuple[str, ...]:
    return (
        tables.layer(layer.name),
        layer.op,
        *(tables.decibels(d, 1) for d in (layer.impact_db, layer.own_db, layer.accumulated_db)),
        f"{layer.range_use:.0%}",
        f"{layer.saturation:.1%}",
        str(layer.dead_channels),
        "-" if layer.weight_spread is None else f"{layer.weight_spread:,.0f}",
    )
