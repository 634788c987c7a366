"""What the text of a source and of all that it includes says of the object that it becomes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

NAME = re.compile(r"^#define (\w+) (\w+)_([0-9a-f]{8}|@{8})_\1\n", re.MULTILINE)
"""What ``tinyrt_names.h`` has of each kernel: library, identity."""

KERNEL = "tinyrt_"
WORD = re.compile(rf"{KERNEL}\w+")
"""What may be the name of a kernel; names that begin otherwise are taken for used."""

NO_IDENTITY = "@" * 8


class Texts:
    """What sources of one exported folder depend on; each file is read once.

    Files that are included lie beside those that do so, or in ``folder``.
    """

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        self.identity, self.folder = identity, folder
        self._files: dict[Path, _File] = {}

    def of(self, source: Path) -> str:
        """Digests of a source and of all that it includes, and the names of kernels that these use;
        without the identity."""
        text, kernels = self.read(source)
        return "\0".join([text, *sorted(kernels)])

    def read(self, source: Path) -> tuple[str, frozenset[str]]:
        """The same, with the names apart."""
        files: dict[Path, _File] = {}
        waiting = [source]
        while waiting:
            path = waiting.pop()
            if path not in files:
                files[path] = self._read(path)
                waiting += files[path].beside
        words = {word for file in files.values() for word in file.words}
        listed, kernels = list[str](), set[str]()
        for path in sorted(files):
            names = files[path].names.items()
            kernels |= {name for name, _ in names if name in words}
            others = (line for name, line in names if not name.startswith(KERNEL))
            listed += [files[path].digest, *others]
        return "\0".join(listed), frozenset(kernels)

    def _read(self, path: Path) -> _File:
        if path not in self._files:
            self._files[path] = _File.of(path, self.identity, self.folder)
        return self._files[path]


@dataclass(frozen=True)
class _File:
    """A file's digest, the names that it gives to kernels, its words and what it includes."""

    digest: str
    names: dict[str, str]
    words: set[str]
    beside: list[Path]

    @classmethod
    def of(cls, path: Path, identity: str, folder: Path | None) -> _File:
        text = path.read_text()
        folders = [path.parent, *([folder] if folder else [])]
        beside = [place / name for name in INCLUDE.findall(text) for place in folders]
        text = text.replace(f"_{identity}_", f"_{NO_IDENTITY}_")
        text = text.replace(f"export {identity} */", f"export {NO_IDENTITY} */")
        included = [file.resolve() for file in beside if file.is_file()]
        return cls(*_said(text), included)


@lru_cache(2048)
def _said(text: str) -> tuple[str, dict[str, str], set[str]]:
    """A text's digest, its names and its words: most exports have the same files."""
    names = {line[1]: line[0] for line in NAME.finditer(text)}
    bare = NAME.sub("", text) if names else text
    return hashlib.sha256(bare.encode()).hexdigest(), names, {*WORD.findall(bare)}
