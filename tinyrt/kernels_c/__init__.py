"""The C kernels, as files: which sources and headers a set of kernels needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent
INCLUDE = ROOT / "include"
SRC = ROOT / "src"

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def source(kernel: str, isa: str = "scalar") -> Path:
    """The file of a kernel: it is named like the function.

    A file of the same name in ``src_dsp`` or ``src_mve`` takes the place of the portable one.
    """
    override = ROOT / f"src_{isa}" / f"{kernel}.c"
    return override if override.is_file() else SRC / f"{kernel}.c"


def own_header(path: Path) -> str:
    """The header that declares the kernel in this source file: the first one it includes."""
    return includes(path)[0]


def includes(path: Path) -> list[str]:
    """The headers of the library that a file includes, in its order."""
    return _INCLUDE.findall(path.read_text())


def closure(kernels: Iterable[str], isa: str = "scalar") -> list[Path]:
    """Sources of the kernels and every header that these need, sorted by name."""
    pending = [source(k, isa) for k in kernels]
    found: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += [INCLUDE / name for name in includes(path)]
    # A model without any kernel still needs the status codes.
    return sorted(found | {INCLUDE / "tinyrt_types.h"})
