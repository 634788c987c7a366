"""The command ``emulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.cli import tables
from tinyrt.cli.console import ERR, progress_bar, reporting
from tinyrt.cli.options import (
    Alignment,
    Blob,
    ByRows,
    Core,
    InputInArena,
    InputRows,
    Int8Models,
    Json,
    MadeFor,
    MaxArena,
    MaxMemory,
    OutputInArena,
    Regions,
    SharedArena,
    Slices,
    WeightsSection,
    Wide,
    parse_regions,
    require_with,
    require_without,
)
from tinyrt.errors import DataError
from tinyrt.tools import EMULATOR_S

DEBUGGER_S = 86_400.0
"""Seconds that an emulator may take whose program is being debugged."""

SAMPLES = 4
"""Random inputs that ``emulate`` runs by default."""


def emulate(
    models: Int8Models,
    core: Core = "cortex-m4",
    optimize: MadeFor = "balanced",
    inputs: Annotated[
        Path | None,
        typer.Option("-i", "--input", help=".npz with inputs; random ones by default."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Random inputs to run.", min=1, show_default=str(SAMPLES))
    ] = None,
    board: Annotated[
        str | None, typer.Option(help="The emulated board; the core's own one by default.")
    ] = None,
    max_arena: MaxArena = None,
    by_rows: ByRows = False,
    input_rows: InputRows = False,
    slices: Slices = None,
    blob: Blob = False,
    region: Regions = None,
    input_in_arena: InputInArena = True,
    output_in_arena: OutputInArena = True,
    alignment: Alignment = 4,
    weights_section: WeightsSection = None,
    shared_arena: SharedArena = False,
    profile: Annotated[bool, typer.Option(help="Count every op's instructions, too.")] = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the build in this folder.")
    ] = None,
    max_memory: MaxMemory = None,
    gdb: Annotated[
        int | None,
        typer.Option(
            "--gdb",
            metavar="PORT",
            help="With --keep: wait for a debugger at this port of 127.0.0.1, e.g. 1234.",
            min=1,
            max=65535,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            help="Seconds that the emulator may take.",
            min=0.1,
            show_default="300; a day with --gdb",
        ),
    ] = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Boot the C code in QEMU and compare every output with the host's."""
    from tinyrt import api
    from tinyrt.export import Memories

    with reporting(json, max_memory, wide=wide) as report:
        memories = Memories(
            *(parse_regions(region), input_in_arena, output_in_arena, alignment, weights_section)
        )
        require_without("--samples", samples, "--input", there=inputs is not None)
        require_with("--gdb", gdb, "--keep", there=keep is not None)
        limit = timeout or (EMULATOR_S if gdb is None else DEBUGGER_S)
        options: dict[str, Any] = {"core": core, "optimize": optimize, "board": board}
        options |= {"memories": memories, "by_rows": by_rows, "input_rows": input_rows}
        options |= {"slices": slices, "blob": blob}
        options |= {"max_arena": None if max_arena is None else parse_bytes(max_arena)}
        options |= {"samples": samples or SAMPLES, "build_dir": keep, "timeout_s": limit}
        with progress_bar("emulating") as progress:
            if len(models) > 1 or shared_arena:
                require_one("--input", inputs)
                require_one("--profile", profile or None)
                require_one("--gdb", gdb)
                reports = api.run_emulated_several(
                    models, shared_arena=shared_arena, progress=progress, **options
                )
            else:
                if gdb is not None and keep is not None:
                    image = keep / "image" / "image.elf"
                    ERR.print(f"waiting for: gdb-multiarch {image} -ex 'target remote :{gdb}'")
                emulation = api.run_emulated(
                    *(models[0],),
                    inputs=inputs,
                    profile=profile,
                    gdb=gdb,
                    progress=progress,
                    **options,
                )
                reports = {models[0].stem: emulation}
        if len(models) > 1 or shared_arena:
            each = {name: emulation.as_dict() for name, emulation in reports.items()}
            report({"models": each, "shared_arena": shared_arena}, tables.emulations(reports))
        else:
            report(emulation.as_dict(), tables.emulation(emulation))
    if not all(emulation.agrees for emulation in reports.values()):
        raise typer.Exit(1)


def require_one(option: str, given: object) -> None:
    """Refuse an option that belongs to one model, where there are several.

    Raises:
        DataError: it was given.

    """
    if given is not None:
        raise DataError(
            f"{option} belongs to one model, and several share this image",
            expected="random inputs for each, and no ops counted",
            hint=f"leave {option} out, or emulate the models one by one",
        )
