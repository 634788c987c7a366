"""The command ``bench``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import MaxMemory, require_with
from tinyrt.interpreter import AUTO, BACKENDS, DEFAULT_BACKEND

if TYPE_CHECKING:
    from tinyrt.bench import Result


def bench(
    model: Annotated[Path, typer.Argument(help="A .tflite model.")],
    against: Annotated[
        str, typer.Option(help="Engines to compare with, separated by commas; may be empty.")
    ] = "litert",
    backend: Annotated[
        str, typer.Option(help=f"Backends, separated by commas: {', '.join((AUTO, *BACKENDS))}.")
    ] = DEFAULT_BACKEND,
    onnx: Annotated[
        Path | None,
        typer.Option("--onnx", help="The model's ONNX form, for --against onnxruntime."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time for each engine's latency.", min=0)] = 1.0,
    max_memory: MaxMemory = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Latency and throughput on this host, beside other runtimes."""
    from tinyrt.bench import ONNXRUNTIME, bench_model

    with reporting(json, max_memory) as report:
        require_with("--onnx", onnx, "--against onnxruntime", there=ONNXRUNTIME in _names(against))
        with progress_bar("measuring") as progress:
            results = bench_model(
                model,
                against=_names(against),
                backends=_names(backend),
                onnx=onnx,
                seconds=seconds,
                progress=progress,
            )
        report({"results": [asdict(result) for result in results]}, table(results))


def _names(option: str) -> list[str]:
    return [name.strip() for name in option.split(",") if name.strip()]


def table(results: Sequence[Result]) -> Table:
    """One row per engine."""
    # Narrow enough for 80 columns, which is all that logs of CI have.
    grid = Table(box=box.SIMPLE_HEAD, padding=0)
    grid.add_column("engine", min_width=15, overflow="fold")
    numbers = ("µs", "p90", "ratio", "GMAC/s", "peak", "batch/s", "1 thread", "cold ms")
    for column in numbers:
        grid.add_column(column, justify="right", no_wrap=True)
    for r in results:
        grid.add_row(
            r.engine,
            f"{r.latency_us.median:,.1f}",
            f"{r.latency_us.p90:,.1f}",
            f"{r.ratio:.2f}",
            f"{r.macs_per_second / 1e9:,.1f}",
            "–" if r.share_of_peak is None else f"{r.share_of_peak:.0%}",
            f"{r.samples_per_second:,.0f}",
            f"{r.samples_per_second_one_thread:,.0f}",
            f"{r.cold_start_ms:,.0f}",
        )
    return grid
