"""Backend ``native``: the model's exported C code, built for this host by the system's compiler.

It is the code that a device runs, so its answers are the device's; samples of a batch are run one
after the other. One shared library per model lies in the user's cache, named after the hash of
everything that it depends on.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tinyrt.backends.program import Program, Tensors
from tinyrt.budget import current
from tinyrt.cache import entry_path, keep, key_of
from tinyrt.errors import ShapeError, ToolError, UnsupportedError
from tinyrt.files import scratch_folder, write_text
from tinyrt.ir import Graph
from tinyrt.ops.shared.batch import batch_of, rebatch
from tinyrt.tools import PROBE_S, Finished, first_program, limit, run_tool

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
MAX_OPTIMISED = 400_000
"""Bytes of a source file above which it is compiled as it stands."""
RUN = "tinyrt_native_run"
RUN_FILE = f"{RUN}.c"  # models have no names that begin so


def prepare(graph: Graph, tensors: Tensors) -> Program:
    """Export, build where the cache has nothing, load.

    Raises:
        UnsupportedError: an op has no C kernel.
        ToolError: there is no C compiler, or it failed.
        OutputError: the cache, or the temporary directory, cannot be written.

    """
    # The exporter is only imported where C is written.
    from tinyrt.export import export_graph

    compiler = find_compiler()
    graph = replace(graph, states=())  # to the C code they are ports, which the interpreter feeds
    try:
        sample = rebatch(graph, 1)
    except ShapeError:
        sample = graph
    with scratch_folder() as folder:
        project = export_graph(sample, folder / "model", core=core_of(compiler))
        write_text(project.directory / RUN_FILE, _batch_source(project))
        library = load_library(build_library(compiler, project.directory))
    ports = [tensors[name] for name in (*graph.inputs, *graph.outputs)]
    samples = batch_of(graph) if sample is not graph else 1
    packed = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    return _Native(library, ports, samples, project.arena_bytes, packed)


def _batch_source(project: ExportedProject) -> str:
    """C of the function that runs the model on samples that lie one behind the other."""
    fields = [f"input_{i}" for i in range(len(project.inputs))]
    fields += [f"output_{i}" for i in range(len(project.outputs))]
    places = ",\n".join(f"        offsetof({project.name}_io_t, {field})" for field in fields)
    # A loop over a table: over thousands of assignments a compiler thinks for minutes.
    return f"""#include <stddef.h>
#include <string.h>
#include "{project.name}.h"

int {RUN}(size_t samples, char *const *ports, const size_t *bytes, void *arena);

int {RUN}(size_t samples, char *const *ports, const size_t *bytes, void *arena) {{
    static const size_t places[] = {{
{places},
    }};
    int status = 0;
    for (size_t n = 0; n < samples && status == 0; ++n) {{
        {project.name}_io_t io;
        for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {{
            char *const port = ports[i] + n * bytes[i];
            memcpy((char *)&io + places[i], &port, sizeof port);
        }}
        status = {project.name}_invoke(&io, arena);
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
        arena = current().zeros(arena_bytes + ALIGNMENT, "the arena of the compiled model")
        base = arena.ctypes.data
        self._alive = (arena, ports, library)
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
            raise ToolError(
                f"the compiled model returned {status}",
                expected="0",
                hint="choose backend 'numba'; this is a defect of tinyrt: please report it",
            )

    def run_op(self, index: int) -> None:
        """Refuse: the model is one function.

        Raises:
            UnsupportedError: always.

        """
        raise UnsupportedError(
            f"backend native cannot stop at op {index}: it runs the whole model in one call",
            hint="watch ops with another backend, which answers the same",
        )


def find_compiler() -> str:
    """The system's C compiler.

    Raises:
        ToolError: there is none.

    """
    compiler = first_program(COMPILERS)
    if compiler is None:
        raise ToolError(
            "there is no C compiler for backend native",
            expected=f"one of {', '.join(COMPILERS)}",
            hint="install one (apt install gcc), or choose backend 'numba'",
        )
    return compiler


@cache
def core_of(compiler: str) -> str:
    """The best core whose kernels run on this processor, as its compiler knows it.

    Raises:
        ToolError: the compiler does not answer.

    """
    process = _probe(compiler, "-march=native", "-dM", "-E", "-x", "c", os.devnull)
    defined = {line.split()[1] for line in process.out.splitlines() if line.startswith("#define ")}
    return next(core for core, needs in CORES.items() if defined.issuperset(needs))


@cache
def flags_of(compiler: str) -> tuple[str, ...]:
    """Options, with those of ``TUNING`` that the compiler knows."""
    empty = ("-Werror", "-x", "c", "-c", os.devnull, "-o", os.devnull)
    supported = [option for option in TUNING if not _probe(compiler, option, *empty).status]
    return (*FLAGS, *supported)


def _probe(compiler: str, *options: str) -> Finished:
    """Ask the compiler something that it answers at once."""
    return run_tool([compiler, *options], limit_s=min(PROBE_S, limit()))


def build_library(compiler: str, project: Path) -> Path:
    """The shared library of an exported project, from the cache where it is there.

    Raises:
        ToolError: the compiler failed, or took too long.
        OutputError: the cache cannot be written.

    """
    sources = sorted(p for p in project.rglob("*") if p.suffix in (".c", ".h"))
    texts = [part for p in sources for part in (str(p.relative_to(project)), p.read_bytes())]
    key = key_of(_host(compiler), *flags_of(compiler), *texts)
    name = f"{project.name}-{key}.so"
    library = entry_path("native", name)
    if library is None:
        library = keep("native", name, _built(compiler, project, sources))
    return library


def _built(compiler: str, project: Path, sources: list[Path]) -> bytes:
    files = [source for source in sources if source.suffix == ".c"]
    with scratch_folder() as folder:
        library = folder / "model.so"
        command = [compiler, *flags_of(compiler), f"-I{project / 'tinyrt'}"]
        # All that large models' own files hold is calls, over which compilers think for minutes.
        for i, large in enumerate([f for f in files if f.stat().st_size > MAX_OPTIMISED]):
            plain = folder / f"{i}.o"
            _compile([*command, "-O0", "-c", large, "-o", plain])
            files[files.index(large)] = plain
        _compile([*command, *files, "-lm", "-o", library])
        return library.read_bytes()


def _compile(command: Sequence[str | Path]) -> None:
    process = run_tool([str(word) for word in command])
    if process.status or not Path(command[-1]).is_file():
        status, words = process.status, process.last_words
        raise ToolError(
            f"{command[0]} could not build the model (status {status}):\n{words}",
            hint="choose backend 'numba'",
        )


def load_library(path: Path) -> ctypes.CDLL:
    """The library, as code of this process.

    Raises:
        ToolError: the system does not load it.

    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolError(
            f"the system does not load what the compiler built: {error}",
            file=str(path),
            hint="remove that file, set TINYRT_CACHE to another folder, or choose backend 'numba'",
        ) from error


@cache
def _host(compiler: str) -> str:
    """What a library depends on besides its sources: compiler, C library and processor."""
    version = _probe(compiler, "--version").out
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    machine = (platform.machine(), platform.processor(), *platform.libc_ver())
    return f"{version} {' '.join(machine)} {features}"
