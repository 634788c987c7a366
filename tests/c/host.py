"""Exported projects built for this machine with sanitizers, and run as a process.

A process that stops early says in which op: the model's code notes the number of each op that it
begins, and the driver writes it behind the sanitizer's report.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.c.owned import owned
from tinyrt import kernels_c
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.emulate import toolchain
from tinyrt.emulate.run import pack_inputs, unpack_outputs
from tinyrt.export import Core, ExportedProject, Memories
from tinyrt.export.rendering import render

SANITIZE = "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
RUNNING_HEADER = Path(__file__).parent / "running.h"
"""What makes a model's code note its ops, and kernels check what they require."""

ABORT = dict.fromkeys(("ASAN_OPTIONS", "UBSAN_OPTIONS"), "abort_on_error=1")
"""Sanitizers stop by a signal, on which the driver says which op ran."""

HANDED_ON = " ".join(
    f"-fno-sanitize={check}" for check in ("null", "alignment", "object-size", "pointer-overflow")
)
"""For a model's own code, which hands addresses of arrays on: it is compiled in half the time."""

LONGEST_S = 300
"""Many times what any program takes: one that never ends fails its own test."""

LONG = "-Wno-misleading-indentation"
"""For code of thousands of layers: GCC's time for it grows with the square of a file's length."""

CFLAGS = " ".join(
    (
        f"-O0 {SANITIZE} -include {RUNNING_HEADER}",
        f"$(if $(filter-out $(BUILD)/tinyrt_%,$@),{HANDED_ON} {LONG})",
    )
)
"""Without optimisation, which would take several times as long as running all cases."""

BESIDE = Memories(inputs_in_arena=False, outputs_in_arena=False)
"""Inputs and outputs that have no places in the arena, for tests that run "beside" alone: planning
hundreds of them, all in use at once, takes several times as long as all else."""


MVE = (f"-I{Path(__file__).parent / 'mve'}", "-D__ARM_FEATURE_MVE=3", "-DTINYRT_NO_ASM", "-O0")
"""What makes kernels of cores with MVE compile for this machine: their intrinsics as plain C, and
for what is assembly its form in intrinsics."""


def core_flags(core: Core) -> tuple[str, ...]:
    """Options that this machine's compiler needs for kernels that are made for a core."""
    return MVE if core.isa is InstructionSet.MVE else ()


def _make_flags(core: Core, others: tuple[str, ...]) -> list[str]:
    """The same as variables of ``make``; folders have their own, so that objects are kept."""
    flags = core_flags(core)
    folders = [flag.removeprefix("-I") for flag in flags if flag.startswith("-I")]
    rest = [flag for flag in flags if not flag.startswith("-I")]
    paths = [f"CPATH={':'.join(folders)}"] if folders else []
    return [f"TARGET_FLAGS={' '.join((*rest, *others))}", *paths]


def host_compiler() -> str:
    """A C compiler for this machine; the test is skipped where there is none."""
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    pytest.skip("no C compiler on this machine")


def build_program(project: ExportedProject, build_dir: Path, *flags: str) -> Path:
    """The project, built with its own Makefile, linked with a driver.

    Args:
        project: what to build.
        build_dir: where.
        flags: options that select the processor.

    """
    library = build_library(project, build_dir, *flags)
    driver = write_driver(project, build_dir)
    return link(library, project, driver, "-std=gnu99", "-g", "-Wall", "-Wextra", "-Werror")


def build_library(
    project: ExportedProject, build_dir: Path, *flags: str, cflags: str = CFLAGS
) -> Path:
    """The project's library, built with its own Makefile; see ``build_program``."""
    make = [
        "make",
        "-s",
        "-C",
        project.directory,
        f"CC={host_compiler()}",
        f"CFLAGS={cflags}",
        *_make_flags(project.core, flags),
    ]
    toolchain.run([*make, f"BUILD={build_dir / 'library'}"], doing="building the project")
    return build_dir / "library" / f"lib{project.name}.a"


def link(library: Path, project: ExportedProject, main: Path, *flags: str) -> Path:
    """A program of a library and the source of its main function, beside which it lies."""
    program = main.parent / "program"
    sources = [*SANITIZE.split(), f"-I{project.directory}", main, library]
    _run([host_compiler(), *flags, *sources, "-lm", "-o", program])
    return program


def write_driver(project: ExportedProject, folder: Path) -> Path:
    """The C source of a main function that runs samples of the model, see ``driver.c.j2``."""
    context = {
        "model": project.name,
        "MODEL": project.name.upper(),
        "inputs": len(project.inputs),
        "outputs": len(project.outputs),
        "pushed": project.pushed is not None,
        "sliced": project.slices is not None,
        "owned": owned(project),
        "has_places": all(p.offset is not None for p in (*project.inputs, *project.outputs)),
    }
    driver = folder / "driver.c"
    driver.write_text(render(Path(__file__).parent, "driver.c.j2", context))
    return driver


class StoppedError(AssertionError):
    """The program stopped early; ``op`` is the name of the node that it had begun."""

    def __init__(self, op: str, report: str) -> None:
        super().__init__(f"the program stopped in '{op}':\n{report}")
        self.op = op


def run_program(program: Path, project: ExportedProject, feeds, *mode: str):
    """Output name -> array, for one sample of every input."""
    return run_samples(program, project, [feeds], *mode)[0]


def run_samples(program: Path, project: ExportedProject, samples, *mode: str):
    """For each sample, output name -> array; one process runs them all."""
    columns = {
        port.name: np.stack([feeds[port.name].reshape(_sample(port)) for feeds in samples])
        for port in project.inputs
    }
    packed, count = pack_inputs(project.inputs, columns)
    environment = os.environ | ABORT
    command = [program, *mode]
    done = subprocess.run(
        command, input=packed, capture_output=True, check=False, env=environment, timeout=LONGEST_S
    )
    if done.returncode != 0:
        raise StoppedError(_op_of(project, done.stderr.decode()), done.stderr.decode())
    outputs = unpack_outputs(project.outputs, done.stdout, count)
    return [
        {port.name: outputs[port.name][i].reshape(port.shape) for port in project.outputs}
        for i in range(count)
    ]


def _op_of(project: ExportedProject, report: str) -> str:
    """The name of the op that a report ends in, from the comments of the model's code."""
    number = re.search(r"^stopped in op (\d+)$", report, re.MULTILINE)
    if number is None:
        return "no op"
    source = (project.directory / f"{project.name}.c").read_text()
    title = re.search(rf"/\* {number[1]}: \w+ '([^']*)'", source)
    assert title is not None, f"no comment names op {number[1]}"
    return title[1]


def answer_of(
    source: str, folder: Path, data: bytes = b"", *others: str | Path, isa: str = "scalar"
) -> bytes:
    """What a program beside the kernels' headers writes when it reads the data.

    Args:
        source: its text.
        folder: where it is built, with sanitizers.
        data: its standard input.
        others: further sources and flags.
        isa: the set of instructions whose headers it sees.

    """
    main, program = folder / "main.c", folder / "main"
    main.write_text(source)
    folders = [f"-I{path}" for path in kernels_c.header_folders(isa)]
    flags = ("-std=c99", "-O2", *SANITIZE.split(), *folders, *others)
    subprocess.run([host_compiler(), *flags, main, "-o", program], check=True)
    return subprocess.run([program], input=data, capture_output=True, check=True).stdout


def require_tool(name: str) -> None:
    """Skip where a tool is missing; in CI its absence is a failure."""
    if shutil.which(name) is None:
        message = f"{name} is not installed: run tools/setup_system.sh --tests"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


def _sample(port):
    return port.shape[1:] if port.shape[:1] == (1,) else port.shape


def _run(command) -> None:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}{done.stderr}"
