"""The external programs: found, run, and turned into errors where they fail."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tinyrt.emulate.boards import ARM_QEMU, RISCV_QEMU
from tinyrt.errors import ToolError
from tinyrt.export import ARM, RISCV, Core
from tinyrt.tools import OWN_WORDS, PROBE_S, run_tool

PACKAGES = {
    f"{ARM}gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    f"{ARM}ar": "binutils-arm-none-eabi",
    f"{ARM}size": "binutils-arm-none-eabi",
    f"{RISCV}gcc": "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    f"{RISCV}ar": "binutils-riscv64-unknown-elf",
    f"{RISCV}size": "binutils-riscv64-unknown-elf",
    "cc": "gcc",
    "ar": "binutils",
    "size": "binutils",
    "make": "make",
    ARM_QEMU: "qemu-system-arm",
    RISCV_QEMU: "qemu-system-misc",
}
"""Program -> the Debian and Ubuntu packages that bring it."""


def require(*programs: str) -> None:
    """Check that the programs are installed.

    Raises:
        ToolError: some are not; the hint is the command that installs them.

    """
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        packages = sorted({name for p in missing for name in PACKAGES[p].split()})
        raise ToolError(
            f"not installed: {', '.join(missing)}",
            hint=f"apt-get install {' '.join(packages)}",
        )


def require_core(core: Core) -> None:
    """Check that the core's compiler, which is installed, knows the core and has a C library.

    Raises:
        ToolError: it does not.

    """
    if not knows(core):
        raise ToolError(
            f"{core.compiler} does not build for {core.name}: {_probe(core).splitlines()[0]}",
            expected=f"a compiler that takes {' '.join(core.flags)}, with a C library",
            hint="install a later release of the compiler, or choose a core that this one knows",
        )


def knows(core: Core) -> bool:
    """Whether the core's compiler is there and builds for the core."""
    return shutil.which(core.compiler) is not None and not _probe(core)


def _probe(core: Core) -> str:
    """The compiler's error on a file that includes the C library's header; empty if it has none."""
    command = [core.compiler, *core.flags, "-x", "c", "-E", "-o", "/dev/null", "-"]
    process = run_tool(command, input_text="#include <string.h>\n", limit_s=PROBE_S)
    return process.err or f"status {process.status}" if process.status else ""


def run(command: Sequence[object], *, doing: str, cwd: Path | None = None) -> str:
    """Run a program and return what it wrote to standard output.

    Raises:
        ToolError: it returned an error, whose last lines are shown, or took too long.

    """
    process = run_tool(command, cwd=cwd)
    if process.status != 0:
        raise ToolError(f"{doing} failed:\n{process.last_words}", hint=OWN_WORDS)
    return process.out
