"""The command ``validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tinyrt.api.validating import ANSWER_S, BAUD, SAMPLES
from tinyrt.cli import emulation_tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.cycles import (
    Clock,
    CodeCache,
    DataCache,
    FlashLine,
    FlashWait,
    Multiplier,
    timing_of,
)
from tinyrt.cli.options import Int8Model, Json, MaxMemory, require_with


def validate(
    model: Int8Model,
    port: Annotated[
        str, typer.Option("--port", metavar="DEV", help="The board's serial port: /dev/ttyACM0.")
    ],
    baud: Annotated[int, typer.Option("--baud", help="Bits per second.", min=1)] = BAUD,
    data: Annotated[
        Path | None,
        typer.Option("-d", "--data", help=".npz with inputs; random ones by default."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            help="Inputs to run: random ones, or the first of the data.",
            min=1,
            show_default=f"{SAMPLES}; all of the data",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", help="Seconds that each answer of the board may take.", min=0.1),
    ] = ANSWER_S,
    cycles: Annotated[
        bool,
        typer.Option("--cycles", help="Tell how many cycles there should be, too: emulates."),
    ] = False,
    core: Annotated[
        str | None,
        typer.Option(
            "--core",
            help="With --cycles: the board's core, m0 to m85.",
            show_default="cortex-m4",
        ),
    ] = None,
    optimize: Annotated[
        str | None,
        typer.Option(
            "--optimize",
            help="With --cycles: what its code is made for: speed, balanced or size.",
            show_default="balanced",
        ),
    ] = None,
    clock: Clock = None,
    flash_wait: FlashWait = None,
    flash_line: FlashLine = None,
    code_cache: CodeCache = None,
    data_cache: DataCache = None,
    multiplier: Multiplier = None,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Run a model on a board over a serial port, beside the host.

    Its firmware has the model as export --board wrote it.
    """
    from tinyrt import api

    with reporting(json, max_memory) as report:
        for option, given in (("--core", core), ("--optimize", optimize)):
            require_with(option, given, "--cycles", there=cycles)
        timing = timing_of(
            cycles,
            clock=clock,
            mj_per_mcycle=None,
            flash_wait=flash_wait,
            flash_line=flash_line,
            code_cache=code_cache,
            data_cache=data_cache,
            multiplier=multiplier,
        )
        with progress_bar("validating") as progress:
            options: dict[str, Any] = {"port": port, "baud": baud, "data": data, "samples": samples}
            if timing is not None:
                made = {"core": core or "cortex-m4", "optimize": optimize or "balanced"}
                options |= {"cycles": timing} | made
            found = api.validate(model, timeout_s=timeout, progress=progress, **options)
        report(found.as_dict(), emulation_tables.validation(found))
    if not found.agrees:
        raise typer.Exit(1)
