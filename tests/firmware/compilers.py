"""Exported projects that other compilers than the core's own build, linked with its harness.

clang is one of them. Others that know no GCC's words are stood in for by GCC without its name:
what is left is C with the intrinsics of Arm's C language extensions.
"""

from __future__ import annotations

from tests.c.host import require_tool
from tests.c.test_lint import CLANG, headers_of
from tests.firmware.device import require_core
from tinyrt.export import ExportedProject

OTHER = "-U__GNUC__"
"""What hides from sources that the compiler is GCC."""

ANY_ADDRESS = "-munaligned-access"
"""What lets any release of clang load words at any address, as the others do by default."""


def with_options(project: ExportedProject, options: str, warnings: str = "") -> None:
    """Build the project with these options instead of its own."""
    makefile = project.directory / "Makefile"
    lines = makefile.read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("CFLAGS ?="):
            lines[i] = f"CFLAGS ?= {options}"
        elif warnings and line.startswith("WARNINGS ?="):
            lines[i] = f"WARNINGS ?= {warnings}"
    makefile.write_text("\n".join(lines) + "\n")


def by_clang(project: ExportedProject) -> None:
    """Build the project by clang."""
    require_tool("clang")
    require_core(project.core.name)
    options = [*CLANG[project.core.name], "-isystem", str(headers_of(project.core))]
    if project.core.name != "cortex-m0":
        options.append(ANY_ADDRESS)
    makefile = project.directory / "Makefile"
    text = makefile.read_text().replace("$(TARGET_FLAGS)", " ".join(options))
    makefile.write_text(text.replace("$(CC) $(FLAGS)", "clang $(FLAGS)"))
