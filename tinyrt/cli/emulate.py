"""The command ``emulate``."""

from __future__ import annotations

import shlex
from collections.abc import Collection
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
from tinyrt.cli.sharing import Scheduler, Workers
from tinyrt.errors import DataError
from tinyrt.tools import EMULATOR_S

DEBUGGER_S = 86_400.0
"""Seconds that an emulator may take whose program is being debugged."""

CORE, OPTIMIZE, ALIGNMENT = "cortex-m4", "balanced", 4
"""What holds where an option of the build is not given."""

ALWAYS = ("models", "max_memory", "timeout", "wide", "json")
PLACES = (
    *("core", "optimize", "board", "region", "input_in_arena", "output_in_arena"),
    *("alignment", "weights_section"),
)
"""What code is made for, and where its memory lies."""

TIMING = (
    *("cycles", "clock", "mj_per_mcycle", "flash_wait", "flash_line", "code_cache", "data_cache"),
    "multiplier",
)
"""What cycles are told by."""

PUSHED = ("recording", "keep", "max_arena", "by_rows", *TIMING)
"""What goes with a recording, beside ``PLACES``."""

NOT_COUNTED = {"instructions": "not counted: ticks are of the firmware's own clock"}

SAMPLES = 4
"""Random inputs that ``emulate`` runs by default."""


def emulate(
    ctx: typer.Context,
    models: Int8Models,
    core: Core = CORE,
    optimize: MadeFor = OPTIMIZE,
    inputs: Annotated[
        Path | None,
        typer.Option("-i", "--input", help=".npz with inputs; random ones by default."),
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option(
            help="What to push into a model with a front end: sound, motion, or a camera's frames.",
        ),
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
    workers: Workers = None,
    scheduler: Scheduler = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Boot the C code in QEMU and compare every output with the host's."""
    from tinyrt.export import ExportOptions, Memories

    with reporting(json, max_memory, wide=wide) as report:
        require_with("--machine", machine, "--elf", there=elf is not None)
        if elf is not None:
            require_only(ctx, "--elf", {"elf", "machine", "inputs", "samples"})
            _run_firmware(report, models, elf, machine, inputs, samples, timeout)
            return
        if recording is not None:
            require_only(
                ctx,
                "--recording",
                {*PUSHED, *PLACES, *_rows_of_frames(models)},
            )
        require_without("--samples", samples, "--input", there=inputs is not None)
        require_with("--gdb", gdb, "--keep", there=keep is not None)
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
        options: dict[str, Any] = {
            "core": core,
            "optimize": optimize,
            "board": board,
            "options": ExportOptions(
                max_arena=None if max_arena is None else parse_bytes(max_arena),
                by_rows=by_rows,
                input_rows=input_rows,
                slices=slices,
                blob=blob,
                memories=Memories(
                    *(parse_regions(region), input_in_arena, output_in_arena),
                    *(alignment, weights_section),
                ),
            ),
            "build_dir": keep,
            "timeout_s": timeout or (EMULATOR_S if gdb is None else DEBUGGER_S),
        }
        if recording is not None:
            _run_on_recording(report, models, recording, options | {"cycles": timing})
            return
        options |= {"samples": samples or SAMPLES}
        if len(models) == 1 and not shared_arena:
            own: dict[str, Any] = {"inputs": inputs, "profile": profile, "cycles": timing}
            own["gdb"] = gdb
            own |= {"workers": workers or 1, "scheduler": scheduler}
            _run_one(report, models[0], keep, options | own)
            return
        of_one: dict[str, object] = {"--input": inputs, "--profile": profile or None}
        of_one |= {"--cycles": timing, "--gdb": gdb}
        of_one |= {"--workers": workers, "--scheduler": scheduler}
        for option, given in of_one.items():
            require_one(option, given)
        _run_several(report, models, shared_arena, options)


def require_only(ctx: typer.Context, mode: str, allowed: Collection[str]) -> None:
    """Refuse all options that say nothing beside another one.

    Args:
        ctx: what was given on the command line.
        mode: the option that the others would say nothing beside.
        allowed: parameters that go with it, besides those that go with all.

    Raises:
        DataError: another one was given.

    """
    for parameter in ctx.command.params:
        name = str(parameter.name)
        source = ctx.get_parameter_source(name)
        if name in allowed or name in ALWAYS or source is None or source.name != "COMMANDLINE":
            continue
        is_off = ctx.params[name] is False and parameter.secondary_opts
        option = max(parameter.secondary_opts if is_off else parameter.opts, key=len)
        require_without(option, True, mode, there=True)


def _run_one(report: Report, model: Path, keep: Path | None, options: dict[str, Any]) -> None:
    """One model, with all that is counted of it."""
    from tinyrt import api

    with progress_bar("emulating") as progress:
        if options["gdb"] is not None:
            assert keep is not None, "it is refused without"
            image = keep / "image" / "image.elf"
            words = ("gdb-multiarch", str(image), "-ex", f"target remote :{options['gdb']}")
            ERR.print(f"waiting for: {shlex.join(words)}", soft_wrap=True)
        emulation = api.run_emulated(model, progress=progress, **options)
    report(emulation.as_dict(), emulation_tables.emulation(emulation))
    _exit_unless(emulation.agrees)


def _run_several(
    report: Report, models: list[Path], shared_arena: bool, options: dict[str, Any]
) -> None:
    """Several models in one image."""
    from tinyrt import api

    with progress_bar("emulating") as progress:
        reports = api.run_emulated_several(
            models, shared_arena=shared_arena, progress=progress, **options
        )
    each = {name: emulation.as_dict() for name, emulation in reports.items()}
    data = {"models": each, "shared_arena": shared_arena}
    report(data, emulation_tables.emulations(reports))
    _exit_unless(all(emulation.agrees for emulation in reports.values()))


def _rows_of_frames(models: list[Path]) -> tuple[str, ...]:
    """The option that says something beside frames, where the first model carries a camera."""
    from tinyrt.attached import front_end_of
    from tinyrt.dsp import Vision

    return ("input_rows",) if isinstance(front_end_of(models[0]), Vision) else ()


def _run_on_recording(
    report: Report, models: list[Path], recording: Path, options: dict[str, Any]
) -> None:
    """A model with a front end, on a recording."""
    from tinyrt import api

    require_without("another model", models[1:] or None, "--recording", there=True)
    with progress_bar("emulating"):
        emulation = api.emulate_recording(models[0], recording, **options)
    report(emulation.as_dict(), emulation_tables.emulation(emulation))
    _exit_unless(emulation.agrees)


def _exit_unless(agrees: bool) -> None:
    if not agrees:
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
    _exit_unless(found.agrees)


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
