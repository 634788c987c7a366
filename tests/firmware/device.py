"""Graphs on emulated cores, compared with the references."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.facts import problems_of_library
from tests.sampling import sampled
from tinyrt.emulate import Image, Run, build_image, run_image, toolchain
from tinyrt.emulate.cycles import cores_with_cycles, table_of
from tinyrt.emulate.cycles.disassembly import read_listing
from tinyrt.emulate.cycles.kinds import facts_of
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import CORES, Core, ExportOptions, export_graph, find_core
from tinyrt.ir import Graph
from tinyrt.ops.shared.evaluate import evaluate

HEAP = {"malloc", "malloc_r", "calloc", "calloc_r", "realloc", "realloc_r", "free", "sbrk"}
"""What an image has if anything in it allocates, but for leading underscores."""

MAX_STACK = 1024
"""Bytes of stack that an inference may use, whatever the ops."""

BLOB_STACK = 640
"""Bytes more where constants lie in a blob: parameters of the op that runs."""

ANY_ARENA = 1 << 30
"""A limit that any arena keeps to: the first that the planner finds is enough for these tests."""

BYTES_PER_PORT = 8
"""What every input and output adds: a pointer of the caller's, and one of the model's."""

ONE_OF_EACH_KIND = ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc", "rv32imcv"]
"""A core for each set of kernels and each compiler."""

CORES_THAT_RUN = sampled(ONE_OF_EACH_KIND, [core for core in CORES if not core.startswith("host")])
"""Cores that every op runs on; ``test_boards`` runs a model on each of the others."""

UNKNOWN_TO_SOME = {"cortex-m85", "rv32imcb", "rv32imcv"}
"""Cores that some releases of the compiler do not know."""


def require_core(name: str) -> None:
    """Skip where the core's compiler is missing or too old; in CI only the latter will do."""
    core = find_core(name)
    if toolchain.knows(core):
        return
    if os.environ.get("CI") and name not in UNKNOWN_TO_SOME:
        pytest.fail(f"{core.compiler} does not build for {name}: run tools/setup_system.sh --tests")
    pytest.skip(f"{core.compiler} does not build for {name}")


def check_image(image: Image, core: Core) -> None:
    """No heap, no variables, no floats but in float kernels, and a bound on the stack wherever the
    compiler gives one: so there is no recursion, and no call that leads nobody knows where."""
    listing = toolchain.run([f"{core.prefix}nm", image.path], doing="reading symbols")
    symbols = {line.split()[-1].lstrip("_") for line in listing.splitlines()}
    assert not symbols & HEAP or not core.prefix, symbols & HEAP
    assert image.sizes.static == 0
    assert image.stack_bound is not None or not core.prefix
    if core.name in cores_with_cycles():
        check_cycles_are_known(image, core)
    for library in image.path.parent.rglob("lib*.a") if core.prefix else ():
        assert problems_of_library(library, core) == []


def check_cycles_are_known(image: Image, core: Core) -> None:
    """Every instruction of the model's code is of a kind that the core's table has."""
    kinds = {facts_of(each).kind for each in read_listing(image.path, core).code.values()}
    assert kinds <= {*table_of(core.name).kinds}


def check_on_device(
    graph: Graph,
    feeds: dict[str, np.ndarray],
    folder: Path,
    core: str,
    cflags: str = "",
    optimize: str = "balanced",
    slices: int | None = None,
    *,
    blob: bool = False,
) -> None:
    """Every output: integers bit for bit, floats to 1e-5 of the reference's."""
    choices = cflags, optimize, slices
    image, found, outputs = run_on_device(graph, feeds, folder, core, *choices, blob=blob)
    check_image(image, find_core(core))
    if image.stack_bound is not None:
        ports = len(graph.inputs) + len(graph.outputs)
        most = MAX_STACK + BYTES_PER_PORT * ports + BLOB_STACK * blob
        assert found.stack_bytes <= image.stack_bound <= most
    for name, expected in evaluate(graph, feeds).items():
        answer = outputs[name].reshape(expected.shape)
        if np.issubdtype(expected.dtype, np.floating):
            np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(answer, expected, err_msg=name, strict=True)


def run_on_device(
    graph: Graph,
    feeds: dict[str, np.ndarray],
    folder: Path,
    core: str,
    cflags: str = "",
    optimize: str = "balanced",
    slices: int | None = None,
    *,
    blob: bool = False,
) -> tuple[Image, Run, dict[str, np.ndarray]]:
    """Build for a core and run once; the outputs by name."""
    require_core(core)
    options = ExportOptions(slices=slices, blob=blob, max_arena=ANY_ARENA)
    made_for = {"core": core, "optimize": optimize}
    project = export_graph(graph, folder / "project", **made_for, options=options)
    if cflags:
        makefile = project.directory / "Makefile"
        text = makefile.read_text().replace("CFLAGS ?= -O2", f"CFLAGS ?= -O2 {cflags}")
        makefile.write_text(text)
    data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
    image = build_image(project, folder)
    found = run_image(image, data, folder)
    return image, found, unpack_outputs(project.outputs, found.outputs, 1)
