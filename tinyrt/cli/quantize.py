"""The command ``quantize``."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.amounts import parse_bytes
from tinyrt.cli import tables
from tinyrt.cli.console import noting, progress_bar, reporting
from tinyrt.cli.options import (
    Explain,
    Json,
    MaxMemory,
    Model,
    SequenceLstm,
    Shapes,
    TfliteOut,
    Values,
    Wide,
    parse_accuracy,
    parse_allowed,
    parse_schemes,
    parse_shapes,
    parse_values,
    require_with,
)
from tinyrt.cli.sharing import Scheduler, Workers
from tinyrt.errors import DataError
from tinyrt.ir import RewriteLog
from tinyrt.quantize.config import BiasCorrection, Calibrator, Preset, Scheme, configure

if TYPE_CHECKING:
    from tinyrt.quantize.mixed.budget import Budget
    from tinyrt.quantize.mixed.choose import MixedReport


ALLOWED = "int4,int8,int16x8,float"
"""What layers may become under a budget where nothing is said."""


class Ports(StrEnum):
    """The dtypes of model inputs and outputs."""

    SCHEME = "scheme"
    FLOAT32 = "float32"


def quantize(
    model: Model,
    output: TfliteOut,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "-c", "--calibration", help="Float inputs: .npz with x, .npy, or a folder of .npy."
        ),
    ] = None,
    scheme: Annotated[Scheme, typer.Option(help="Dtypes of activations and weights.")] = (
        Scheme.INT8
    ),
    scheme_for: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme-for",
            metavar="PATTERN=SCHEME",
            help="Another scheme for the ops whose name, kind or output matches, e.g. "
            "'conv2d_3=int16x8'. May be repeated; the last match counts.",
        ),
    ] = None,
    keep_float: Annotated[
        list[str] | None,
        typer.Option("--keep-float", metavar="PATTERN", help="Keep ops in float32."),
    ] = None,
    io: Annotated[
        Ports, typer.Option("--io", help="Model inputs and outputs: the scheme's, or float32.")
    ] = Ports.SCHEME,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="How much work to do.", show_default="balanced; best for int4, int16x8, budgets"
        ),
    ] = None,
    calibrator: Annotated[
        Calibrator | None, typer.Option(help="Range finder.", show_default="the preset's")
    ] = None,
    percentile: Annotated[
        float | None,
        typer.Option(
            help="Percent of the values that calibrator percentile keeps.", show_default="99.99"
        ),
    ] = None,
    per_channel_dense: Annotated[
        bool | None,
        typer.Option(
            "--per-channel-dense/--per-tensor-dense",
            help="A scale per output of fully connected layers.",
            show_default="the preset's",
        ),
    ] = None,
    equalize: Annotated[
        bool | None,
        typer.Option(help="Rescale channels to like ranges.", show_default="the preset's"),
    ] = None,
    smooth: Annotated[
        bool | None,
        typer.Option(
            help="Move layer norms' outliers into the weights behind them (SmoothQuant).",
            show_default="the preset's",
        ),
    ] = None,
    optimize_rounding: Annotated[
        bool | None,
        typer.Option(help="Round weights for the layers' outputs.", show_default="the preset's"),
    ] = None,
    bias_correction: Annotated[
        BiasCorrection | None,
        typer.Option(help="Make up for layers' mean errors.", show_default="the preset's"),
    ] = None,
    tune_ranges: Annotated[
        bool | None,
        typer.Option(help="Adjust ranges by the output's error.", show_default="the preset's"),
    ] = None,
    with_tables: Annotated[
        bool | None,
        typer.Option(
            "--tables/--no-tables",
            help="Make one table of element-wise ops that follow each other.",
            show_default="on",
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes",
            metavar="BYTES",
            help="Size of the file at most, e.g. 40k: weights become int4 where it costs least.",
        ),
    ] = None,
    min_accuracy: Annotated[
        str | None,
        typer.Option(
            "--min-accuracy",
            metavar="SHARE|dB",
            help="What must be right, e.g. 91% or 0.91, or the distance from float, e.g. 35dB: "
            "layers become int8, int16x8 or float where it helps most.",
        ),
    ] = None,
    allow: Annotated[
        str | None,
        typer.Option(
            "--allow",
            metavar="SCHEMES",
            help="What layers may become under these budgets.",
            show_default=ALLOWED,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "-d",
            "--data",
            help=".npz with x and y that --min-accuracy is measured on.",
            show_default="the calibration file",
        ),
    ] = None,
    shape: Shapes = None,
    value: Values = None,
    sequence_lstm: SequenceLstm = False,
    keep_channels: Annotated[
        bool,
        typer.Option(
            "--keep-channels",
            help="Keep channels that no answer depends on.",
        ),
    ] = False,
    explain: Explain = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
    max_memory: MaxMemory = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Quantise a float model after training."""
    from tinyrt import api

    with reporting(json, max_memory, wide=wide) as report:
        budget = _budget(max_bytes, min_accuracy, ALLOWED if allow is None else allow)
        for option, given in (("--allow", allow), ("--data", data)):
            require_with(option, given, "--min-accuracy or --max-bytes", there=budget is not None)
        for option, who in (("--workers", workers), ("--scheduler", scheduler)):
            require_with(option, who, "--calibration", there=calibration is not None)
        if preset is None and budget is not None:
            preset = Preset.BEST
        config = configure(
            preset,
            calibrator=calibrator,
            percentile=percentile,
            per_channel_dense=per_channel_dense,
            equalize=equalize,
            smooth=smooth,
            optimize_rounding=optimize_rounding,
            bias_correction=bias_correction,
            tune_ranges=tune_ranges,
            tables=with_tables,
            scheme=scheme,
            scheme_for=parse_schemes(scheme_for),
            keep_float=tuple(keep_float or ()),
            float_io=io is Ports.FLOAT32,
        )
        is_used = config.calibrator in (Calibrator.PERCENTILE, Calibrator.AUTO)
        require_with("--percentile", percentile, "--calibrator percentile", there=is_used)
        mixed, log = None, RewriteLog()
        crew: dict[str, Any] = {"workers": workers or 1, "scheduler": scheduler}
        with progress_bar("quantising") as progress, noting() as notes:
            if budget is None:
                api.quantize_model(
                    model,
                    calibration,
                    output,
                    shapes=parse_shapes(shape),
                    values=parse_values(value),
                    sequence_lstm=sequence_lstm,
                    keep_channels=keep_channels,
                    config=config,
                    progress=progress,
                    log=log,
                    **crew,
                )
            elif calibration is None:
                raise DataError("a budget needs calibration data", hint="-c CALIB.npz")
            else:
                mixed = api.quantize_within(
                    model,
                    calibration,
                    output,
                    budget,
                    data=data,
                    shapes=parse_shapes(shape),
                    values=parse_values(value),
                    sequence_lstm=sequence_lstm,
                    keep_channels=keep_channels,
                    config=config,
                    progress=progress,
                    log=log,
                    **crew,
                )
        facts = {
            "output": str(output),
            "scheme": scheme.value,
            "bytes": output.stat().st_size,
        }
        as_json: dict[str, object] = facts | {"warnings": notes}
        parts: list[RenderableType] = [tables.facts(facts)]
        if mixed is not None:
            as_json["mixed"] = asdict(mixed)
            parts = [_layers(mixed), _facts(facts, mixed)]
        if explain:
            as_json |= tables.explained(log)
            parts.append(tables.passes(log))
        report(as_json, Group(*parts))


def _budget(max_bytes: str | None, min_accuracy: str | None, allow: str) -> Budget | None:
    """The budget from the options; None without any."""
    from tinyrt.quantize.mixed.budget import Budget

    if max_bytes is None and min_accuracy is None:
        return None
    share, db = parse_accuracy(min_accuracy) if min_accuracy is not None else (None, None)
    most = parse_bytes(max_bytes) if max_bytes is not None else None
    return Budget(most, share, db, parse_allowed(allow))


def _layers(mixed: MixedReport) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("layer", "op", "scheme", "weights", "why"):
        right = column == "weights"
        table.add_column(
            column,
            justify="right" if right else "left",
            no_wrap=column in ("scheme", "weights"),
            overflow="fold",
        )
    for layer in mixed.layers:
        size = f"{layer.weight_bytes:,}" if layer.weight_bytes else "-"
        table.add_row(tables.layer(layer.name), layer.op, layer.scheme, size, layer.why)
    return table


def _facts(facts: dict[str, str | int], mixed: MixedReport) -> RenderableType:
    return tables.facts(
        facts
        | {
            "bytes without a mix": mixed.plain_bytes,
            "right": tables.percent(mixed.evaluation.top1),
            "right in float": tables.percent(mixed.float_top1),
            "SQNR, dB": tables.decibels(mixed.evaluation.sqnr_db),
            "models measured": mixed.tried,
        }
    )
