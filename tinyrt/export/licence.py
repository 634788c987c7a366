"""What every exported file says of its licence, of tinyrt's version and of its export."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from tinyrt import __version__, kernels_c
from tinyrt.export.identity import IDENTITY

LICENCE_FILE = "LICENSE"

OWN = "Apache-2.0"
"""Of all that tinyrt writes by itself."""

MODEL = "LicenseRef-Model"
"""Of a model's constants: what its author says. tinyrt cannot know that."""


def licensed(files: Mapping[str, str]) -> dict[str, str]:
    """The files, licence and export in the first two lines of each, and the licence's text."""
    marked = {name: head(name) + text for name, text in files.items()}
    return marked | {LICENCE_FILE: (kernels_c.ROOT / LICENCE_FILE).read_text(encoding="utf-8")}


def head(name: str, identity: str = IDENTITY) -> str:
    """The first two lines of a file of that name."""
    lines = [
        f"SPDX-License-Identifier: {MODEL if name.endswith(('_weights.c', '_blob.c')) else OWN}",
        f"tinyrt {__version__}, export {identity}",
    ]
    if PurePosixPath(name).suffix in (".c", ".h", ".ld"):
        lines = [f"/* {line} */" for line in lines]
    else:
        lines = [f"# {line}" for line in lines]
    return "".join(f"{line}\n" for line in lines)
