"""From an exported project to an image: the model's library, the harness, one link."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyrt.emulate import toolchain
from tinyrt.emulate.blocks import audio_context, camera_context, harness_context, script_context
from tinyrt.emulate.boards import Board, find_board
from tinyrt.emulate.sizes import Sizes, sizes_of_image, sizes_of_library
from tinyrt.emulate.stack import CALL_GRAPH_FLAG, stack_bound
from tinyrt.errors import ToolError
from tinyrt.export import ExportedProject
from tinyrt.export.licence import head
from tinyrt.export.rendering import Source, render
from tinyrt.files import make_folder, write_text

FIRMWARE = Path(__file__).parent / "firmware"

HARNESS_SOURCES = ("harness_startup.c", "harness_clock.c", "harness_main.c")
# Without the last option the compiler would turn the harness's loops into calls of memset, and
# the code that these bring in would be counted as the model's.
HARNESS_FLAGS = (
    *("-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-ffreestanding", "-ffunction-sections", "-fdata-sections"),
    "-fno-tree-loop-distribute-patterns",
)
MACHINE_FLAGS = {
    "arm": ("-masm-syntax-unified",),
    "riscv": ("-march=rv32imc_zicsr", "-msmall-data-limit=0", "-mno-relax"),
}
LINK_FLAGS = ("-nostartfiles", "-Wl,--gc-sections")
LIBC = {"arm": ("--specs=nano.specs",), "riscv": ()}
PROGRAM_SOURCES = ("harness_main.c",)
PROGRAM_FLAGS = ("-std=gnu99", "-O2", "-Wall", "-Wextra")
IMAGE, SCRIPT, PROGRAM = "image.elf", "image.ld", "program"
"""Names of what is linked, for a board and for this machine, and of the linker's script."""

NOT_FOR_MAKE = frozenset(" \t\n:;'\"`()&|<>%*?$\\")
"""Characters of a path that make, or the shell that it starts, does not take for a name's."""

INVOKE = "harness_call"
"""The harness's function around the model's invoke function, where stack is measured from."""


@dataclass(frozen=True, slots=True)
class Image:
    """A linked image.

    Attributes:
        path: the ELF file.
        board: what it runs on; None for this machine.
        sizes: what it takes of flash and RAM, by part.
        stack_bound: most stack that an inference can use, from the compiler's figures; None where
            it gives none.

    """

    path: Path
    board: Board | None
    sizes: Sizes
    stack_bound: int | None


def build_image(
    project: ExportedProject,
    build_dir: Path,
    *,
    board: Board | None = None,
    profile: bool = False,
    samples: int | None = None,
) -> Image:
    """Build the project with its own Makefile and link it with the harness.

    Args:
        project: what ``export_c`` wrote.
        build_dir: an existing folder for objects and the image.
        board: what it is to run on; the core's own board by default.
        profile: whether the image is to count the instructions of every op.
        samples: most samples of a record, of a project that takes these, or bytes of a frame; None
            for one that takes its model's inputs.

    Raises:
        ToolError: a tool is missing, or something does not compile or fit into the board.
        UnsupportedError: the board does not run the core's code.

    """
    core = project.core
    toolchain.require(core.compiler, core.archiver, f"{core.prefix}size", "make")
    toolchain.require_core(core)
    if not core.prefix:
        return _build_program(project, build_dir, samples)
    board = board or find_board(core)
    folder = make_folder(build_dir / ("profile" if profile else "image"))
    hooks: tuple[str, ...] = (CALL_GRAPH_FLAG,)
    mode = hooks
    if profile:
        hook = folder.resolve() / "harness_profile.h"
        hooks, mode = ("-include", str(hook)), ("-DHARNESS_PROFILE",)
    bring_harness(project, folder, (FIRMWARE, FIRMWARE / board.machine))
    bring_model(project, folder, samples=samples)
    context = script_context([project.name], project.weights_section, board)
    path = link_image(project, folder, board, HARNESS_SOURCES, context, (mode, hooks))
    bound = None if profile else stack_bound(folder, path, INVOKE, core)
    return Image(path, board, sizes_of_image(path, core), bound)


def link_image(
    project: ExportedProject,
    folder: Path,
    board: Board,
    sources: Sequence[str],
    script: Mapping[str, Any],
    flags: tuple[tuple[str, ...], tuple[str, ...]],
) -> Path:
    """Compile the harness in that folder and link it with the project's library.

    Args:
        project: what the library is of.
        folder: where the harness's sources lie.
        board: what it is to run on.
        sources: of the harness.
        script: values for the template of the linker's script.
        flags: those of the harness beside its usual ones, and those of the library.

    """
    core = project.core
    library = build_library(project, folder, flags[1])
    own = (*HARNESS_FLAGS, *MACHINE_FLAGS[board.machine], *flags[0])
    own = (*own, f"-DHARNESS_GUARD_BYTES={board.guard_bytes}")
    objects = compile_harness(project, folder, sources, own)
    write_source(project, folder / SCRIPT, render(FIRMWARE, "image.ld.j2", script))
    link = (*core.link_flags, *LINK_FLAGS, *LIBC[board.machine], "-T", SCRIPT, "-Wl,-Map=image.map")
    write_makefile(project, folder, IMAGE, (own, flags[1], link), objects, library)
    command = [core.compiler, *core.flags, *link, *objects, library.resolve(), "-lm", "-o", IMAGE]
    link_for(command, board, folder)
    return folder / IMAGE


def build_library(project: ExportedProject, build_dir: Path, flags: tuple[str, ...] = ()) -> Path:
    """Run the exported Makefile for the project's core; returns the static library.

    Raises:
        ToolError: the folder's path has characters that make reads as its own, or the build fails.

    """
    core = project.core
    build = build_dir / f"library-{core.name}"
    unfit = " ".join(map(repr, sorted(NOT_FOR_MAKE.intersection(str(build.resolve())))))
    if unfit:
        raise ToolError(
            f"make cannot build in {build_dir.resolve()}: its path has {unfit}",
            expected="a path of letters, digits and the like, without spaces",
            hint="choose another folder: --keep, or TMPDIR where nothing is kept",
        )
    toolchain.run(
        [
            *("make", "-C", project.directory, f"CC={core.compiler}", f"AR={core.archiver}"),
            f"TARGET_FLAGS={' '.join((*core.flags, *flags))}",
            f"BUILD={build.resolve()}",
        ],
        doing=f"building {project.directory}",
    )
    return build / f"lib{project.name}.a"


def link_for(command: list[object], board: Board, folder: Path | None = None) -> None:
    """Link for a board; an image that is too large for it is an error that says so."""
    try:
        toolchain.run(command, doing=f"linking for {board.name}", cwd=folder)
    except ToolError as error:
        short = re.search(r"region `(\w+)' overflowed by (\d+) bytes", error.problem)
        if short is None:
            raise
        sizes = {"FLASH": board.flash_bytes, "RAM": board.ram_bytes}
        raise ToolError(
            f"the model does not fit into board {board.name}: it lacks {short[2]} bytes of "
            f"{short[1]}",
            expected=f"at most {sizes[short[1]]:,} bytes, the test harness's included",
            hint="choose another board",
        ) from error


def _build_program(project: ExportedProject, build_dir: Path, samples: int | None) -> Image:
    """The model and its harness as a program of this machine."""
    bring_harness(project, build_dir, (FIRMWARE / "host",))
    bring_model(project, build_dir, samples=samples)
    library = link_program(project, build_dir, PROGRAM_SOURCES)
    sizes = sizes_of_library(library, [project], project.core)
    return Image(build_dir / PROGRAM, None, sizes, None)


def link_program(project: ExportedProject, build_dir: Path, sources: Sequence[str]) -> Path:
    """Link a program of this machine from these sources of the harness; returns its library."""
    core = project.core
    library = build_library(project, build_dir)
    objects = compile_harness(project, build_dir, sources, PROGRAM_FLAGS)
    write_makefile(project, build_dir, PROGRAM, (PROGRAM_FLAGS, (), ()), objects, library)
    toolchain.run(
        [core.compiler, *objects, library.resolve(), "-lm", "-o", PROGRAM],
        doing="building the harness",
        cwd=build_dir,
    )
    return library


def bring_harness(project: ExportedProject, folder: Path, sources: Iterable[Path]) -> None:
    """Put the harness's sources beside what is built from them, so that all of it can be kept."""
    for source in (path for place in sources for path in sorted(place.glob("*.[ch]"))):
        write_source(project, folder / source.name, source.read_text(encoding="utf-8"))


def bring_model(
    project: ExportedProject,
    folder: Path,
    name: str = "harness_model.h",
    *,
    samples: int | None = None,
) -> None:
    """Write the header through which the harness knows a model; ``samples`` see ``build_image``."""
    if samples is None:
        text = render(FIRMWARE, "harness_model.h.j2", harness_context(project))
    elif project.camera is not None:
        text = render(FIRMWARE, "harness_camera.h.j2", camera_context(project))
    else:
        text = render(FIRMWARE, "harness_audio.h.j2", audio_context(project, samples))
    write_source(project, folder / name, text)


def write_source(project: ExportedProject, path: Path, text: str) -> None:
    """Write a file of the harness, with what every exported file says of itself."""
    write_text(path, head(path.name, project.identity) + text)


def compile_harness(
    project: ExportedProject, folder: Path, sources: Sequence[str], flags: tuple[str, ...]
) -> list[str]:
    """Compile sources of that folder; returns the names of their objects there."""
    core, model = project.core, project.directory.resolve()
    objects = []
    for name in sources:
        objects.append(str(Path(name).with_suffix(".o")))
        command = [core.compiler, *core.flags, *flags, "-I.", "-iquote", model]
        toolchain.run(
            [*command, "-c", name, "-o", objects[-1]], doing=f"compiling {name}", cwd=folder
        )
    return objects


def write_makefile(
    project: ExportedProject,
    folder: Path,
    image: str,
    flags: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    objects: list[str],
    library: Path,
) -> None:
    """The commands of this build once more, as a Makefile with paths relative to the folder.

    ``flags`` are the harness's, what the model's own are added to, and the linker's.
    """
    here = folder.resolve()
    context = {
        "image": image,
        "core": project.core,
        "model_folder": Source(os.path.relpath(project.directory.resolve(), here)),
        "harness_flags": list(map(Source, flags[0])),
        "model_flags": [Source(f.replace(str(here), "$(CURDIR)")) for f in flags[1]],
        "link_flags": list(map(Source, flags[2])),
        "library": Source(library.resolve().relative_to(here)),
        "objects": objects,
        "scripts": [SCRIPT] if SCRIPT in flags[2] else [],
    }
    write_source(project, folder / "Makefile", render(FIRMWARE, "rebuild.mk.j2", context))
