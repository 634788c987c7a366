"""From an exported project to an image: the model's library, the harness, one link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.emulate.blocks import harness_context
from tinyrt.emulate.boards import Board, find_board
from tinyrt.emulate.sizes import Sizes, sizes_of_image, sizes_of_library
from tinyrt.emulate.stack import CALL_GRAPH_FLAG, stack_bound
from tinyrt.errors import ToolError
from tinyrt.export import ExportedProject
from tinyrt.export.rendering import render
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
) -> Image:
    """Build the project with its own Makefile and link it with the harness.

    Args:
        project: what ``export_c`` wrote.
        build_dir: an existing folder for objects and the image.
        board: what it is to run on; the core's own board by default.
        profile: whether the image is to count the instructions of every op.

    Raises:
        ToolError: a tool is missing, or something does not compile or fit into the board.
        UnsupportedError: the board does not run the core's code.

    """
    core = project.core
    toolchain.require(core.compiler, core.archiver, f"{core.prefix}size", "make")
    toolchain.require_core(core)
    if not core.prefix:
        return _build_program(project, build_dir)
    board = board or find_board(core)
    folder = make_folder(build_dir / ("profile" if profile else "image"))
    hooks: tuple[str, ...] = (CALL_GRAPH_FLAG,)
    mode = hooks
    if profile:
        hooks, mode = ("-include", str(FIRMWARE / "harness_profile.h")), ("-DHARNESS_PROFILE",)
    library = build_library(project, folder, hooks)
    objects = _compile_harness(project, folder, board, mode)
    text = render(FIRMWARE, "image.ld.j2", {"board": board, "model": project.name})
    script = write_text(folder / "image.ld", text)
    path = folder / "image.elf"
    command = [
        *(core.compiler, *core.flags, *LINK_FLAGS, *LIBC[board.machine], "-T", script),
        *(*objects, library, "-lm", f"-Wl,-Map={path.with_suffix('.map')}", "-o", path),
    ]
    _link(command, board)
    bound = None if profile else stack_bound(folder, path, INVOKE, core)
    return Image(path, board, sizes_of_image(path, core), bound)


def build_library(project: ExportedProject, build_dir: Path, flags: tuple[str, ...] = ()) -> Path:
    """Run the exported Makefile for the project's core; returns the static library."""
    core = project.core
    build = build_dir / f"library-{core.name}"
    toolchain.run(
        [
            *("make", "-C", project.directory, f"CC={core.compiler}", f"AR={core.archiver}"),
            f"TARGET_FLAGS={' '.join((*core.flags, *flags))}",
            f"BUILD={build.resolve()}",
        ],
        doing=f"building {project.directory}",
    )
    return build / f"lib{project.name}.a"


def _link(command: list[object], board: Board) -> None:
    try:
        toolchain.run(command, doing=f"linking for {board.name}")
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


def _build_program(project: ExportedProject, build_dir: Path) -> Image:
    """The model and its harness as a program of this machine."""
    core = project.core
    library = build_library(project, build_dir)
    _write_header(project, build_dir)
    path = build_dir / "program"
    toolchain.run(
        [
            *(core.compiler, "-std=gnu99", "-O2", "-Wall", "-Wextra", f"-I{build_dir}"),
            *("-iquote", project.directory, FIRMWARE / "host" / "harness_main.c", library),
            *("-lm", "-o", path),
        ],
        doing="building the harness",
    )
    return Image(path, None, sizes_of_library(library, project.name, core), None)


def _write_header(project: ExportedProject, build_dir: Path) -> None:
    text = render(FIRMWARE, "harness_model.h.j2", harness_context(project))
    write_text(build_dir / "harness_model.h", text)


def _compile_harness(
    project: ExportedProject, build_dir: Path, board: Board, flags: tuple[str, ...]
) -> list[Path]:
    _write_header(project, build_dir)
    core = project.core
    machine = FIRMWARE / board.machine
    folders = (
        f"-I{build_dir}",
        f"-I{FIRMWARE}",
        f"-I{machine}",
        *("-iquote", str(project.directory)),
    )
    options: tuple[object, ...] = (
        *(*core.flags, *HARNESS_FLAGS, *MACHINE_FLAGS[board.machine], *flags, *folders),
        f"-DHARNESS_GUARD_BYTES={board.guard_bytes}",
    )
    objects = []
    for name in HARNESS_SOURCES:
        source = next(p for p in (machine / name, FIRMWARE / name) if p.is_file())
        target = build_dir / Path(name).with_suffix(".o")
        toolchain.run(
            [core.compiler, *options, "-c", source, "-o", target], doing=f"compiling {name}"
        )
        objects.append(target)
    return objects
