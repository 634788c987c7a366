"""What compilers make of kernels with a fault: nothing, the same program as before, or another."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tinyrt import kernels_c
from tinyrt.export.target import find_core

CORES = {
    **{"scalar": "host", "avx2": "host-avx2", "avx512": "host-avx512"},
    **{"m0": "cortex-m0", "dsp": "cortex-m4", "mve": "cortex-m55", "rvv": "rv32imcv"},
}
"""Kind of core -> one of it."""
MOST = 3
"""Kernels that are compiled for a header that many include."""


def is_another_program(path: str, after: str) -> bool:
    """Whether what includes the file, or is it, still compiles, and not to what it was.

    Of a header that only a model's code includes nothing is known: it passes.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kernels_c"
        shutil.copytree(kernels_c.ROOT, copy)
        (copy / Path(path).relative_to("tinyrt/kernels_c")).write_text(after)
        built = [
            (_before(source, kind), _assembly(copy / source, kind))
            for kind in _kinds(path)
            for source in _sources(path, kind)
        ]
    changes = [(old, new) for old, new in built if old is not None]
    compiles = all(new is not None for _, new in changes)
    return not changes or (compiles and any(old != new for old, new in changes))


def _kinds(path: str) -> Iterator[str]:
    """The kinds of cores that the file may be for."""
    folder = Path(path).parent.name
    if folder in ("src_mve", "mve") or "_mve" in path:
        yield "mve"
    elif folder in ("src_rvv", "rvv") or "_strip" in path:
        yield "rvv"
    elif folder == "src_x86" or "_x86" in path:
        yield from ("avx2", "avx512")
    elif folder in ("src_dsp", "dsp", "avx2", "avx512"):
        yield folder.removeprefix("src_")
    elif folder == "scalar":
        yield from ("scalar", "m0")
    else:
        yield from ("scalar", "m0", "dsp", "mve")


@cache
def _sources(path: str, kind: str) -> list[str]:
    """The file, or sources whose code has it: relative to the folder of kernels."""
    file = Path(path).relative_to("tinyrt/kernels_c")
    if file.suffix == ".c":
        return [str(file)]
    isa = "scalar" if kind == "m0" else kind
    sources = {kernels_c.source(source.stem, isa) for source in kernels_c.ROOT.glob("src*/*.c")}
    named = sorted(
        source
        for source in sources
        if source.is_file() and kernels_c.ROOT / file in kernels_c.closure([source.stem], isa)
    )
    return [str(source.relative_to(kernels_c.ROOT)) for source in named[:MOST]]


@cache
def _before(source: str, kind: str) -> str | None:
    return _assembly(kernels_c.ROOT / source, kind)


def _assembly(source: Path, kind: str) -> str | None:
    """The file as assembly; none where it does not compile.

    What it includes is named from its own folder: assembly repeats these names.
    """
    core = find_core(CORES[kind])
    isa = "scalar" if kind == "m0" else kind
    places = [folder.relative_to(kernels_c.ROOT) for folder in kernels_c.header_folders(isa)]
    folders = [f"-I../{place}" for place in places]
    command = [
        core.compiler,
        *core.flags,
        "-std=c99",
        "-O2",
        "-w",
        *folders,
        "-S",
        source.name,
        "-o",
        "-",
    ]
    done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
