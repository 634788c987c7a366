"""Options of commands whose work several processes or machines share."""

from __future__ import annotations

from typing import Annotated

import typer

Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Processes on this machine that share the samples.",
        min=1,
        show_default="1",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask cluster's scheduler in place of them, e.g. tcp://host:8786.",
    ),
]
