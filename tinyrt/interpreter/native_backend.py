"""Backend ``native``: the model's exported C code, built for this host by the system's compiler.

It is the code that a device runs, so its answers are the device's; samples of a batch are run one
after the other. One shared library per model lies in the user's cache, named after the hash of
everything that it depends on.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, ToolError, UnsupportedError
from tinyrt.interpreter.batch import batch_of, rebatch
from tinyrt.interpreter.program import Program, Tensors
from tinyrt.ir import Graph

if TYPE_CHECKING:
    from tinyrt.export import ExportedProject

CORES = {
    "host-avx512": ("__AVX512BW__", "__AVX512VL__", "__AVX512VNNI__"),
    "host-avx2": ("__AVX2__",),
    "cortex-m3": (),
}
"""Cores, best first, and what the compiler must define when it builds for this processor; the last
one's kernels are portable C."""
FLAGS = ("-std=c99", "-O3", "-march=native", "-fPIC", "-shared")
TUNING = ("-fno-tree-pre", "-malign-data=cacheline")
"""Options of gcc on x86: the first keeps sums in registers over a loop's first iteration."""
COMPILERS = ("cc", "gcc", "clang")
ALIGNMENT = 64
RUN = "tinyrt_native_run"


def prepare(graph: Graph, tensors: Tensors) -> Program:
    """Export, build where the cache has nothing, load.

    Raises:
        UnsupportedError: an op has no C kernel.
        ToolError: there is no C compiler, or it failed.

    """
    # The exporter is only imported where C is written.
    from tinyrt.export import export_graph

    compiler = find_compiler()
    graph = replace(graph, states=())  # to the C code they are ports, which the interpreter feeds
    try:
        sample = rebatch(graph, 1)
    except ShapeError:
        sample = graph
    with tempfile.TemporaryDirectory(prefix="tinyrt-native-") as folder:
        project = export_graph(sample, Path(folder) / "model", core=core_of(compiler))
        (project.directory / "batch.c").write_text(_batch_source(project))
        library = ctypes.CDLL(str(build_library(compiler, project.directory)))
    ports = [tensors[name] for name in (*graph.inputs, *graph.outputs)]
    samples = batch_of(graph) if sample is not graph else 1
    packed = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    return _Native(library, ports, samples, project.arena_bytes, packed)


def _batch_source(project: ExportedProject) -> str:
    """C of the function that runs the model on samples that lie one behind the other."""
    fields = [f"input_{i}" for i in range(len(project.inputs))]
    fields += [f"output_{i}" for i in range(len(project.outputs))]
    steps = "".join(
        f"        io.{field} = (void *)(ports[{i}] + n * bytes[{i}]);\n"
        for i, field in enumerate(fields)
    )
    return f"""#include <stddef.h>
#include "{project.name}.h"

int {RUN}(size_t samples, char *const *ports, const size_t *bytes, void *arena);

int {RUN}(size_t samples, char *const *ports, const size_t *bytes, void *arena) {{
    int status = 0;
    for (size_t n = 0; n < samples && status == 0; ++n) {{
        {project.name}_io_t io;
{steps}        status = {project.name}_invoke(&io, arena);
    }}
    return status;
}}
"""


class _Native:
    """The model as one C function."""

    def __init__(
        self,
        library: ctypes.CDLL,
        ports: list[NDArray[Any]],
        samples: int,
        arena_bytes: int,
        packed_bytes: int,
    ) -> None:
        arena = np.zeros(arena_bytes + ALIGNMENT, np.uint8)
        base = arena.ctypes.data
        self._kept = (arena, ports, library)
        self._arguments = (
            ctypes.c_size_t(samples),
            (ctypes.c_void_p * len(ports))(*(array.ctypes.data for array in ports)),
            (ctypes.c_size_t * len(ports))(*(array.nbytes // samples for array in ports)),
            ctypes.c_void_p(base + -base % ALIGNMENT),
        )
        self._run = getattr(library, RUN)
        self.packed_bytes = packed_bytes

    def run(self) -> None:
        """Run all ops."""
        status = self._run(*self._arguments)
        if status:
            raise ToolError(f"the compiled model returned {status}", expected="0")

    def run_op(self, index: int) -> None:
        """Refuse: the model is one function.

        Raises:
            UnsupportedError: always.

        """
        raise UnsupportedError(
            f"backend native cannot stop at op {index}: it runs the whole model in one call",
            hint="watch ops with another backend, which answers the same",
        )


def cache_folder() -> Path:
    """Where libraries are kept: ``$TINYRT_CACHE``, else below the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TINYRT_CACHE") or Path(home) / "tinyrt") / "native"


def find_compiler() -> str:
    """The system's C compiler.

    Raises:
        ToolError: there is none.

    """
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None:
        raise ToolError(
            "there is no C compiler for backend native",
            expected=f"one of {', '.join(COMPILERS)}",
            hint="install one (apt install gcc), or choose backend 'numba'",
        )
    return compiler


@cache
def core_of(compiler: str) -> str:
    """The best core whose kernels run on this processor, as its compiler knows it."""
    done = _run([compiler, "-march=native", "-dM", "-E", "-x", "c", os.devnull])
    defined = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("#define")}
    return next(core for core, needs in CORES.items() if defined.issuperset(needs))


@cache
def flags_of(compiler: str) -> tuple[str, ...]:
    """Options, with those of ``TUNING`` that the compiler knows."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int empty;\n")
        command = [compiler, "-Werror", "-c", str(source), "-o", os.devnull]
        known = [o for o in TUNING if not _run([*command, o]).returncode]
    return (*FLAGS, *known)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def build_library(compiler: str, project: Path) -> Path:
    """The shared library of an exported project, from the cache where it is there."""
    sources = sorted(p for p in project.rglob("*") if p.suffix in (".c", ".h"))
    digest = hashlib.sha256(f"{_host(compiler)} {flags_of(compiler)}".encode())
    for source in sources:
        digest.update(f"{source.relative_to(project)}\n".encode() + source.read_bytes())
    library = cache_folder() / f"{project.name}-{digest.hexdigest()[:32]}.so"
    if not library.exists():
        _build(compiler, project, [s for s in sources if s.suffix == ".c"], library)
    return library


def _build(compiler: str, project: Path, sources: list[Path], library: Path) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=library.parent, suffix=".so")
    os.close(handle)
    include = f"-I{project / 'tinyrt'}"
    command = [compiler, *flags_of(compiler), include, *map(str, sources), "-lm", "-o", unfinished]
    done = _run(command)
    if done.returncode:
        Path(unfinished).unlink()
        raise ToolError(
            f"{compiler} could not build the model: {done.stderr.strip()[:2000]}",
            hint="choose backend 'numba'",
        )
    Path(unfinished).rename(library)


@cache
def _host(compiler: str) -> str:
    """What a library depends on besides its sources: compiler and processor."""
    version = _run([compiler, "--version"])
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{version.stdout} {platform.machine()} {platform.processor()} {features}"
