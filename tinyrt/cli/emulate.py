"""The command ``emulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.api.validating import EMULATED_ANSWER_S
from tinyrt.cli import emulation_tables
from tinyrt.cli.console import ERR, Report, progress_bar, reporting
from tinyrt.cli.cycles import (
    Clock,
    CodeCache,
    DataCache,
    Energy,
    FlashLine,
    FlashWait,
    Multiplier,
    WithCycles,
    timing_of,
)
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

CORE, OPTIMIZE, ALIGNMENT = "cortex-m4", "balanced", 4
"""What holds where an option of the build is not given."""

NOT_COUNTED = {"instructions": "not counted: ticks are of the firmware's own clock"}

SAMPLES = 4
"""Random inputs that ``emulate`` runs by default."""


def emulate(
    models: Int8Models,
    core: Core = CORE,
    optimize: MadeFor = OPTIMIZE,
    inputs: Annotated[
        Path | None,
        typer.Option("-i", "--input", help=".npz with inputs; random ones by default."),
    ] = None,
    audio: Annotated[
        Path | None,
        typer.Option("--audio", help="A WAV file to push, for a model with a front end."),
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
    alignment: Alignment = ALIGNMENT,
    weights_section: WeightsSection = None,
    shared_arena: SharedArena = False,
    profile: Annotated[bool, typer.Option(help="Count every op's instructions, too.")] = False,
    cycles: WithCycles = False,
    clock: Clock = None,
    mj_per_mcycle: Energy = None,
    flash_wait: FlashWait = None,
    flash_line: FlashLine = None,
    code_cache: CodeCache = None,
    data_cache: DataCache = None,
    multiplier: Multiplier = None,
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
            help="Seconds that the emulator may take; with --elf, each answer.",
            min=0.1,
            show_default="300; a day with --gdb, 30 with --elf",
        ),
    ] = None,
    elf: Annotated[
        Path | None,
        typer.Option("--elf", help="Run this firmware, which has the model from --board."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            help="With --elf: QEMU's name of the machine.",
            show_default="mps2-an386; virt for RISC-V",
        ),
    ] = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Boot the C code in QEMU and compare every output with the host's."""
    from tinyrt import api
    from tinyrt.export import Memories

    with reporting(json, max_memory, wide=wide) as report:
        require_with("--machine", machine, "--elf", there=elf is not None)
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
        if elf is not None:
            built: dict[str, object] = {
                "--core": None if core == CORE else core,
                "--optimize": None if optimize == OPTIMIZE else optimize,
                "--board": board,
                "--max-arena": max_arena,
                "--by-rows": by_rows or None,
                "--input-rows": input_rows or None,
                "--slices": slices,
                "--blob": blob or None,
                "--region": region,
                "--input-outside": None if input_in_arena else True,
                "--output-outside": None if output_in_arena else True,
                "--alignment": None if alignment == ALIGNMENT else alignment,
                "--weights-section": weights_section,
                "--shared-arena": shared_arena or None,
                "--profile": profile or None,
                "--cycles": timing,
                "--audio": audio,
                "--keep": keep,
                "--gdb": gdb,
            }
            for option, given in built.items():
                require_without(option, given, "--elf", there=True)
            _run_firmware(report, models, elf, machine, inputs, samples, timeout)
            return
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
        options |= {"build_dir": keep, "timeout_s": limit}
        if audio is not None:
            others: dict[str, object] = {
                "--input": inputs,
                "--samples": samples,
                "--input-rows": input_rows or None,
            }
            others |= {"--slices": slices, "--blob": blob or None, "--profile": profile or None}
            others |= {"--gdb": gdb, "--shared-arena": shared_arena or None}
            others |= {"--cycles": timing}
            others |= {"another model": models[1:] or None}
            for option, given in others.items():
                require_without(option, given, "--audio", there=True)
            for name in ("input_rows", "slices", "blob"):
                del options[name]
            with progress_bar("emulating"):
                emulation = api.emulate_audio(models[0], audio, **options)
            report(emulation.as_dict(), emulation_tables.emulation(emulation))
            if not emulation.agrees:
                raise typer.Exit(1)
            return
        options |= {"samples": samples or SAMPLES}
        with progress_bar("emulating") as progress:
            if len(models) > 1 or shared_arena:
                require_one("--input", inputs)
                require_one("--profile", profile or None)
                require_one("--cycles", timing)
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
                    cycles=timing,
                    gdb=gdb,
                    progress=progress,
                    **options,
                )
                reports = {models[0].stem: emulation}
        if len(models) > 1 or shared_arena:
            each = {name: emulation.as_dict() for name, emulation in reports.items()}
            report(
                {"models": each, "shared_arena": shared_arena}, emulation_tables.emulations(reports)
            )
        else:
            report(emulation.as_dict(), emulation_tables.emulation(emulation))
    if not all(emulation.agrees for emulation in reports.values()):
        raise typer.Exit(1)


def _run_firmware(
    report: Report,
    models: list[Path],
    elf: Path,
    machine: str | None,
    inputs: Path | None,
    samples: int | None,
    timeout: float | None,
) -> None:
    """Run a firmware that is built already, and compare what it answers on its serial port."""
    from tinyrt import api

    if len(models) > 1:
        raise DataError(
            f"--elf belongs to one model, and {len(models)} are named",
            expected="the model whose protocol the firmware's serial port speaks",
            hint="name this model alone",
        )
    with progress_bar("emulating") as progress:
        found = api.run_firmware(
            *(models[0], elf),
            machine=machine,
            data=inputs,
            samples=samples,
            timeout_s=timeout or EMULATED_ANSWER_S,
            progress=progress,
        )
    data = {"elf": str(elf), **found.as_dict(), "instructions": None}
    report(data, emulation_tables.validation(found, NOT_COUNTED))
    if not found.agrees:
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
