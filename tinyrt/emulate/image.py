"""From an exported project to an image: the model's library, the harness, one link."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.emulate.boards import BOARDS, Board
from tinyrt.export import ExportedProject
from tinyrt.export.rendering import render

FIRMWARE = Path(__file__).parent / "firmware"
GCC = f"{toolchain.PREFIX}gcc"

HARNESS_SOURCES = ("harness_startup.c", "harness_clock.c", "harness_main.c")
# Without the last option the compiler would turn the harness's loops into calls of memset, and
# the code that these bring in would be counted as the model's.
HARNESS_FLAGS = (
    *("-std=gnu99", "-O2", "-masm-syntax-unified", "-Wall", "-Wextra", "-Werror"),
    *("-ffreestanding", "-ffunction-sections", "-fdata-sections"),
    "-fno-tree-loop-distribute-patterns",
)
LINK_FLAGS = ("-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections")


@dataclass(frozen=True, slots=True)
class Image:
    """A linked image.

    Attributes:
        path: the ELF file.
        board: what it runs on.
        code_bytes: flash for kernels, model, parameters and what these need of the C library.
        weight_bytes: flash for weights and biases.
        static_bytes: RAM that the model has outside of arena and stack.

    """

    path: Path
    board: Board
    code_bytes: int
    weight_bytes: int
    static_bytes: int


def build_image(project: ExportedProject, build_dir: Path) -> Image:
    """Build the project with its own Makefile and link it with the harness.

    Args:
        project: what ``export_c`` wrote.
        build_dir: an existing folder for objects and the image.

    Raises:
        ToolError: a tool is missing, or something does not compile or fit into the board.

    """
    toolchain.require(GCC, f"{toolchain.PREFIX}ar", f"{toolchain.PREFIX}size", "make")
    board = BOARDS[project.core.name]
    library = build_library(project, build_dir)
    objects = _compile_harness(project, build_dir)
    script = build_dir / "image.ld"
    script.write_text(render(FIRMWARE, "image.ld.j2", {"board": board}))
    path = build_dir / "image.elf"
    toolchain.run(
        [
            *(GCC, *project.core.flags, *LINK_FLAGS, "-T", script, *objects, library, "-lm"),
            *(f"-Wl,-Map={path.with_suffix('.map')}", "-o", path),
        ],
        doing=f"linking for {board.name}",
    )
    sizes = section_bytes(path)
    return Image(
        path,
        board,
        code_bytes=sizes[".code"] + sizes.get(".ARM.exidx", 0) + sizes.get(".data", 0),
        weight_bytes=sizes.get(".weights", 0),
        static_bytes=sizes.get(".data", 0) + sizes.get(".bss", 0),
    )


def build_library(project: ExportedProject, build_dir: Path) -> Path:
    """Run the exported Makefile for the project's core; returns the static library."""
    build = build_dir / f"library-{project.core.name}"
    toolchain.run(
        [
            *("make", "-C", project.directory, f"CC={GCC}", f"AR={toolchain.PREFIX}ar"),
            f"TARGET_FLAGS={' '.join(project.core.flags)}",
            f"BUILD={build.resolve()}",
        ],
        doing=f"building {project.directory}",
    )
    return build / f"lib{project.name}.a"


def section_bytes(path: Path) -> dict[str, int]:
    """Section name -> size, as ``size -A`` lists them."""
    listing = toolchain.run([f"{toolchain.PREFIX}size", "-A", "-d", path], doing="reading sizes")
    rows = (line.split() for line in listing.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isdigit()}


def _compile_harness(project: ExportedProject, build_dir: Path) -> list[Path]:
    context = {
        "model": project.name,
        "MODEL": project.name.upper(),
        "inputs": len(project.inputs),
        "outputs": len(project.outputs),
    }
    header = build_dir / "harness_model.h"
    header.write_text(render(FIRMWARE, "harness_model.h.j2", context))
    objects = []
    for name in HARNESS_SOURCES:
        target = build_dir / Path(name).with_suffix(".o")
        toolchain.run(
            [
                *(GCC, *project.core.flags, *HARNESS_FLAGS, f"-I{build_dir}", f"-I{FIRMWARE}"),
                *(f"-I{project.directory}", "-c", FIRMWARE / name, "-o", target),
            ],
            doing=f"compiling {name}",
        )
        objects.append(target)
    return objects
