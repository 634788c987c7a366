"""The command ``bench``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table

from tinyrt.cli import emulation_tables, tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.cycles import (
    Clock,
    CodeCache,
    DataCache,
    Energy,
    FlashLine,
    FlashWait,
    Multiplier,
    timing_of,
)
from tinyrt.cli.options import CORES, MaxMemory, require_with
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
    cycles: Annotated[
        bool, typer.Option("--cycles", help="Beside it, cycles on an emulated core, as a range.")
    ] = False,
    core: Annotated[
        str | None,
        typer.Option("--core", help=f"With --cycles: {CORES}.", show_default="m4"),
    ] = None,
    clock: Clock = None,
    mj_per_mcycle: Energy = None,
    flash_wait: FlashWait = None,
    flash_line: FlashLine = None,
    code_cache: CodeCache = None,
    data_cache: DataCache = None,
    multiplier: Multiplier = None,
    max_memory: MaxMemory = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Latency and throughput on this host, beside other runtimes."""
    from tinyrt import api
    from tinyrt.bench import ONNXRUNTIME, bench_model

    with reporting(json, max_memory) as report:
        require_with("--core", core, "--cycles", there=cycles)
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
        data: dict[str, Any] = {"results": [asdict(result) for result in results]}
        shown: Table | Group = table(results)
        if timing is not None:
            run = api.run_emulated(model, core=core or "cortex-m4", samples=1, cycles=timing)
            assert run.cycles is not None
            data |= {"core": run.core, "instructions": run.instructions, **run.cycles.as_dict()}
            facts = {"core": run.core, "instructions per inference": f"{run.instructions:,}"}
            shown = Group(shown, tables.facts(facts | emulation_tables.cycles(run.cycles)))
        report(data, shown)


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
