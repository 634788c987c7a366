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


COMMENTS = dict.fromkeys((".c", ".h", ".ino", ".ld"), ("/* ", " */"))
"""Ending of a file's name -> what opens and closes a comment; a number sign for all others."""

SAY_IT_THEMSELVES = (".json", ".pdsc")
"""Endings of files whose text has these lines in another place, since it cannot begin with them."""


def licensed(files: Mapping[str, str]) -> dict[str, str]:
    """The files, licence and export in the first two lines of each, and the licence's text."""
    marked = {name: head(name) + text for name, text in files.items()}
    return marked | {LICENCE_FILE: (kernels_c.ROOT / LICENCE_FILE).read_text(encoding="utf-8")}


def head(name: str, identity: str = IDENTITY) -> str:
    """The first two lines of a file of that name."""
    open_, close = COMMENTS.get(PurePosixPath(name).suffix, ("# ", ""))
    lines = [
        f"SPDX-License-Identifier: {MODEL if name.endswith(('_weights.c', '_blob.c')) else OWN}",
        f"tinyrt {__version__}, export {identity}",
    ]
    return (
        ""
        if PurePosixPath(name).suffix in SAY_IT_THEMSELVES
        else "".join(f"{open_}{line}{close}\n" for line in lines)
    )
