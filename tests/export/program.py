"""Drivers in C, linked with what was exported: programs of this machine under sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.c.host import SANITIZE, core_flags, host_compiler
from tinyrt.emulate import toolchain
from tinyrt.export import ExportedProject
from tinyrt.export.standalone import ExportedAlone


def build_program(
    exported: ExportedProject | ExportedAlone, source: Path, folder: Path, *options: str
) -> Path:
    """The driver's program, in ``folder``.

    The library is built with the folder's own Makefile, from kernels that another test compiled
    where there are such.
    """
    compiler, program = host_compiler(), folder / "program"
    make = ["make", "-s", "-C", exported.directory, f"CC={compiler}", "BUILD=build"]
    make.append(f"CFLAGS={' '.join(('-O1', SANITIZE, *options))}")
    make.append(f"TARGET_FLAGS={' '.join(core_flags(exported.core))}")
    toolchain.run(make, doing="building the library")
    (library,) = (exported.directory / "build").glob("lib*.a")
    command = [compiler, *SANITIZE.split(), f"-I{exported.directory}", str(source), str(library)]
    subprocess.run([*command, "-lm", "-o", str(program)], check=True)
    return program
