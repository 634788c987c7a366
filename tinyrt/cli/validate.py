"""The command ``validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tinyrt.api.validating import ANSWER_S, BAUD, SAMPLES
from tinyrt.cli import emulation_tables
from tinyrt.cli.console import progress_bar, reporting
from tinyrt.cli.options import Int8Model, Json, MaxMemory


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
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Run a model on a board over a serial port, beside the host.

    Its firmware has the model as export --board wrote it.
    """
    from tinyrt import api

    with reporting(json, max_memory) as report:
        with progress_bar("validating") as progress:
            options: dict[str, Any] = {"port": port, "baud": baud, "data": data, "samples": samples}
            found = api.validate(model, timeout_s=timeout, progress=progress, **options)
        report(found.as_dict(), emulation_tables.validation(found))
    if not found.agrees:
        raise typer.Exit(1)
