"""The C kernels, as files: which sources and headers a set of kernels needs.

A kernel's portable source lies in ``src``; one in an instruction set's own folder (``OWN_SOURCES``)
takes its place. Headers of primitives that differ between instruction sets lie in ``isa/<set>``.
Of all others, ``include`` has those that a model's code includes and what these include; the
kernels' own helpers lie in ``internal``. A header that is named like a source brings that source
along: this is how kernels share functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent
INCLUDE = ROOT / "include"
INTERNAL = ROOT / "internal"
SRC = ROOT / "src"

FALLBACKS = {
    "scalar": ("scalar",),
    "dsp": ("dsp", "scalar"),
    "mve": ("mve", "dsp", "scalar"),
    "rvv": ("rvv", "scalar"),
    "avx2": ("avx2", "scalar"),
    "avx512": ("avx512", "avx2", "scalar"),
}
"""Instruction set -> the sets whose code its cores can run, best first."""

OWN_SOURCES = {
    "dsp": ROOT / "src_dsp",
    "mve": ROOT / "src_mve",
    "rvv": ROOT / "src_rvv",
    "avx2": ROOT / "src_x86",
    "avx512": ROOT / "src_x86",
}
"""Instruction set -> the folder of kernels that are written for it."""

NAMES = "tinyrt_names.h"
"""The header, empty in the library itself, in which an export renames its kernels."""

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_PROTOTYPE = re.compile(
    r"^(?!typedef|extern|static|TINYRT_NOINLINE static|#)[A-Za-z_][\w *]*?\b(tinyrt_\w+)\(",
    re.MULTILINE,
)


@cache
def source(kernel: str, isa: str = "scalar") -> Path:
    """The file of a kernel: it is named like the function.

    A file of that name in the instruction set's own folder takes the place of the portable one.
    """
    own = OWN_SOURCES.get(isa, SRC) / f"{kernel}.c"
    return own if own.is_file() else SRC / f"{kernel}.c"


@cache
def header(name: str, isa: str = "scalar") -> Path:
    """The file of a header, by its name."""
    places = [folder / name for folder in header_folders(isa)]
    return next((path for path in places if path.is_file()), INCLUDE / name)


def header_folders(isa: str = "scalar") -> list[Path]:
    """Where an instruction set's headers lie: the first folder that has a name counts."""
    return [*(ROOT / "isa" / fallback for fallback in FALLBACKS[isa]), INCLUDE, INTERNAL]


def _file_of(kernel: str, isa: str) -> Path:
    path = source(kernel, isa)
    return path if path.is_file() else header(f"{kernel}.h", isa)


def own_header(path: Path) -> str:
    """The header that declares the kernel in this source file: the first one it includes."""
    return _included(path)[0] if path.is_file() else f"{path.stem}.h"


def includes(path: Path) -> list[str]:
    """The headers of the library that a file includes, in its order."""
    return _INCLUDE.findall(path.read_text(encoding="utf-8"))


@cache
def _included(path: Path) -> tuple[str, ...]:
    """The same for a file of the library, which stays as it is."""
    return tuple(includes(path))


def functions(paths: Iterable[Path]) -> list[str]:
    """The functions with external linkage that these files define or declare, sorted.

    A source is named like the function that it defines; others are declared in headers.
    """
    return sorted({name for path in paths for name in _functions_of(path)})


@cache
def _functions_of(path: Path) -> tuple[str, ...]:
    if path.suffix == ".c":
        return (path.stem,)
    return tuple(_PROTOTYPE.findall(_COMMENT.sub("", path.read_text(encoding="utf-8"))))


def closure(kernels: Iterable[str], isa: str = "scalar") -> list[Path]:
    """Sources of the kernels and everything that these need, sorted by name.

    A kernel may be a header alone.
    """
    # A model without any kernel still needs the status codes.
    pending = [_file_of(k, isa) for k in kernels] + [INCLUDE / "tinyrt_types.h"]
    found: set[Path] = set()
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        shared = source(path.stem, isa)
        pending += [header(name, isa) for name in _included(path)]
        pending += [shared] if shared.is_file() else []
    return sorted(found, key=lambda path: path.name)
