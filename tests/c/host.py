"""Exported projects built for this machine with sanitizers, and run as a process."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tinyrt.emulate.run import pack_inputs, unpack_outputs
from tinyrt.export import ExportedProject, Memories
from tinyrt.export.rendering import render

SANITIZE = "-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
CFLAGS = f"-O0 {SANITIZE} -DTINYRT_ASSERT=assert -include assert.h"
"""Without optimisation, which would take several times as long as running all cases."""

BESIDE = Memories(inputs_in_arena=False, outputs_in_arena=False)
"""Inputs and outputs that have no places in the arena, for tests that run "beside" alone: planning
hundreds of them, all in use at once, takes several times as long as all else."""


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
    cc = host_compiler()
    make = [
        "make",
        "-s",
        "-C",
        project.directory,
        f"CC={cc}",
        f"CFLAGS={CFLAGS}",
        f"TARGET_FLAGS={' '.join(flags)}",
    ]
    _run([*make, f"BUILD={build_dir / 'library'}"])
    context = {
        "model": project.name,
        "MODEL": project.name.upper(),
        "inputs": len(project.inputs),
        "outputs": len(project.outputs),
        "has_places": all(p.offset is not None for p in (*project.inputs, *project.outputs)),
    }
    driver = build_dir / "driver.c"
    driver.write_text(render(Path(__file__).parent, "driver.c.j2", context))
    program = build_dir / "program"
    library = build_dir / "library" / f"lib{project.name}.a"
    link = [*SANITIZE.split(), f"-I{project.directory}", driver, library, "-lm", "-o", program]
    _run([cc, "-std=gnu99", "-g", "-Wall", "-Wextra", "-Werror", *link])
    return program


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
    done = subprocess.run([program, *mode], input=packed, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    outputs = unpack_outputs(project.outputs, done.stdout, count)
    return [
        {port.name: outputs[port.name][i].reshape(port.shape) for port in project.outputs}
        for i in range(count)
    ]


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
