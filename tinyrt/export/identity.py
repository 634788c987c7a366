"""The identity of an exported folder: a digest of its files, and a part of every symbol in it.

Two exports whose symbols are the same are the same, byte for byte. So whichever of two definitions
a linker takes, the program is the one that was exported; a header of one export and the library of
another have no symbol in common and do not link.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tinyrt.export.rendering import TEMPLATES, Source, render

IDENTITY = Source("@identity@")
"""What stands for the identity in files until it is known. No text of a model has an @ in it."""

DIGITS = 8
"""Hexadecimal digits of an identity."""


def sealed(files: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The identity of these files, and their text with it."""
    digest = hashlib.sha256()
    for name in sorted(files):
        for part in (name.encode(), files[name].encode()):
            digest.update(b"%d:" % len(part) + part)
    identity = digest.hexdigest()[:DIGITS]
    return identity, {name: text.replace(IDENTITY, identity) for name, text in files.items()}


def sha256_of(model_path: Path) -> str:
    """The SHA-256 of a model's file, in hexadecimal."""
    with model_path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kernel_names(
    library: str,
    functions: Iterable[str],
    *,
    unaligned: bool = True,
    definitions: Iterable[str] = (),
) -> str:
    """The header that gives kernels the names of one library.

    Args:
        library: its name.
        functions: their names in the sources.
        unaligned: whether code may load words at any address.
        definitions: macros that the build files cannot define.

    """
    context: dict[str, object] = {"library": library, "identity": IDENTITY}
    context["definitions"] = list(definitions)
    context |= {"functions": list(functions), "unaligned": unaligned}
    return render(TEMPLATES, "names.h.j2", context)
