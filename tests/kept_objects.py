"""Objects of exported code that one test compiles, kept for the tests that compile the same.

Most of what tests compile are kernels, the same for many models but for the library and the
identity in their names. So where a test builds an exported folder with its Makefile, objects of the
same content are put beside where make would, and taken from there after it. What an object depends
on is its key: the compiler and its flags, the Makefile, and the text of all files that the source
includes. They are kept for one run of the tests. Backend ``native`` has its kernels likewise.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.object_names import renamed

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
NAME = re.compile(r"^#define (\w+) (\w+)_([0-9a-f]{8}|@{8})_\1\n", re.MULTILINE)
"""What ``tinyrt_names.h`` has of each kernel: library, identity."""

OBJECT = re.compile(r"^\t\$\(BUILD\)/(\w+)\.o ?\\?\n", re.MULTILINE)
KERNEL = "tinyrt_"
WORD = re.compile(rf"{KERNEL}\w+")
"""What may be the name of a kernel; names that begin otherwise are taken for used."""

PARTS = (".o", ".ci")
"""What the compiler writes of a source that is needed later."""

ELF = b"\x7fELF"

BUILDERS = ("tinyrt.emulate.toolchain", "tinyrt.interpreter.native")
"""What builds exported code, where this process has imported it."""

NO_IDENTITY = "@" * 8
NOBODY = f"_{NO_IDENTITY}_".encode()
"""What stands for an identity in what is kept: as part of a name, since ``@`` alone is data."""

ELSEWHERE = ("-I", "-g", "-flto", "--coverage", "-isystem", "-iquote", "@")
"""Beginnings of flags by which an object depends on more than its key, or cannot be renamed."""

UNSURE = (*ELSEWHERE, "-include")

FROM_OUTSIDE = ("CFLAGS", "WARNINGS", "CPATH", "C_INCLUDE_PATH", "MAKEFLAGS")
"""Variables of the environment that make or compilers heed."""


class Owner(NamedTuple):
    """What a project's kernels have in their names."""

    library: str
    identity: str


def _named(content: bytes, old: bytes, new: bytes) -> bytes | None:
    """What the compiler wrote, with another name; nothing where that may not be enough."""
    return renamed(content, old, new) if content[:4] == ELF else content.replace(old, new)


class Objects:
    """A folder of objects by their keys, which processes share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, command: Sequence[object], run: Callable[[], str]) -> str:
        """Run ``make`` on an exported folder, with the objects that are there already."""
        sources = sources_of([str(word) for word in command])
        if not sources:
            return run()
        missing = {}
        for key, place, owner in sources:
            if not self._bring(key, place, owner):
                missing[key] = (place, owner)
        said = run()
        for key, (place, owner) in missing.items():
            self._keep(key, place, owner)
        return said

    def link(self, command: Sequence[object], run: Callable[[list[str]], None]) -> None:
        """Have ``run`` build an exported folder's sources, with the kernels that are there.

        Args:
            command: a compiler with flags, sources and, at the end, what is to be built; libraries
                stand behind the sources.
            run: compiles and links, as such a command says.

        """
        words = [str(word) for word in command]
        flags = [word for word in words if word.startswith("-") and word[:2] not in ("-l", "-o")]
        sources = [] if "-c" in words else kernels_of(words)
        for key, source, place, owner in sources:
            place = place.with_suffix(".o")
            if not self._bring(key, place, owner):
                run([words[0], *flags, "-c", str(source), "-o", str(place)])
                self._keep(key, place, owner)
            words[words.index(str(source))] = str(place)
        run(words)

    def _bring(self, key: str, place: Path, owner: Owner) -> bool:
        kept = self.folder / key
        if not kept.exists():
            return False
        library, parts = pickle.loads(kept.read_bytes())
        if library != owner.library:
            old = library.encode() + NOBODY
            new = f"{owner.library}_{owner.identity}_".encode()
            parts = {suffix: _named(content, old, new) for suffix, content in parts.items()}
        if None in parts.values():
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        for suffix, content in parts.items():
            written = content.replace(NOBODY, f"_{owner.identity}_".encode())
            place.with_suffix(suffix).write_bytes(written)
        return True

    def _keep(self, key: str, place: Path, owner: Owner) -> None:
        parts = {
            suffix: place.with_suffix(suffix).read_bytes()
            for suffix in PARTS
            if place.with_suffix(suffix).exists()
        }
        if any(NOBODY in content for content in parts.values()):
            return  # data that would be taken for a name
        own = f"_{owner.identity}_".encode()
        parts = {suffix: content.replace(own, NOBODY) for suffix, content in parts.items()}
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            file.write(pickle.dumps((owner.library, parts)))
        Path(file.name).replace(self.folder / key)


def sources_of(command: list[str]) -> list[tuple[str, Path, Owner]]:
    """Key, place without suffix, and owner, of each object that a command builds.

    Nothing where the command is no ``make`` of an exported folder, where it goes on with an earlier
    one, or where objects depend on what no key holds.
    """
    if command[0] != "make" or "-C" not in command:
        return []
    project = Path(command[command.index("-C") + 1])
    given = dict(word.split("=", 1) for word in command if "=" in word)
    names = project / "tinyrt" / "tinyrt_names.h"
    if not {"CC", "BUILD", "TARGET_FLAGS"} <= given.keys() or not names.is_file():
        return []
    build, rules = project / given.pop("BUILD"), (project / "Makefile").read_text()
    found = NAME.search(names.read_text())
    flags = [*" ".join(given.values()).split(), *rules.split()]
    unsure = any(flag.startswith(ELSEWHERE) for flag in flags)
    if found is None or unsure or build.exists():
        return []
    library, identity = found[2], found[3]
    bare = OBJECT.sub("", rules).replace(identity, NO_IDENTITY)
    bare = bare.replace(f"lib{library}.a", "lib.a")
    outside = (os.environ.get(name, "") for name in FROM_OUTSIDE)
    common = [shutil.which(given["CC"]) or "", bare, *outside]
    for word in " ".join(f"{name}={value}" for name, value in given.items()).split():
        common.append(Texts(identity).of(Path(word)) if Path(word).is_file() else word)
    texts, listed = Texts(identity), []
    places = {path.stem: path for path in sorted(project.rglob("*.c"), reverse=True)}
    for name in OBJECT.findall(rules):
        # Names of a model's own code are the same in whatever library it is.
        of_library = [] if name.startswith(KERNEL) else [library]
        parts = [*common, *of_library, name, texts.of(places[name])]
        digest = hashlib.sha256("\0".join(parts).encode())
        listed.append((digest.hexdigest(), build / name, Owner(library, identity)))
    return listed


def kernels_of(command: list[str]) -> list[tuple[str, Path, Path, Owner]]:
    """Key, source, place without suffix, and owner, of each kernel that a command compiles.

    Kernels include nothing from other folders: what the flags say of these is of no matter.
    """
    flags = [word for word in command if word.startswith("-") and not word.startswith("-I")]
    sources = [Path(word) for word in command if word.endswith(".c")]
    kernels = [source for source in sources if source.name.startswith(KERNEL)]
    beside = {source.parent / "tinyrt_names.h" for source in kernels}
    names = next((path for path in beside if path.is_file()), None)
    found = NAME.search(names.read_text()) if names else None
    if names is None or found is None or any(flag.startswith(UNSURE) for flag in flags):
        return []
    library, identity = found[2], found[3]
    common = [shutil.which(command[0]) or "", *flags]
    common += [os.environ.get(name, "") for name in FROM_OUTSIDE]
    texts, listed = Texts(identity), []
    for source in kernels:
        if source.parent == names.parent:
            parts = "\0".join([*common, source.name, texts.of(source)])
            place = Path(command[-1]).with_name(source.stem)
            key = hashlib.sha256(parts.encode()).hexdigest()
            listed.append((key, source, place, Owner(library, identity)))
    return listed


class Texts:
    """What sources of one exported folder depend on; each file is read once."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self._files: dict[Path, _File] = {}

    def of(self, source: Path) -> str:
        """Digests of a source and of all that it includes, and the names of kernels that these use;
        without the identity."""
        files: dict[Path, _File] = {}
        waiting = [source]
        while waiting:
            path = waiting.pop()
            if path not in files:
                files[path] = self._read(path)
                waiting += files[path].beside
        words = {word for file in files.values() for word in file.words}
        listed = []
        for path in sorted(files):
            names = files[path].names.items()
            kernels = (name for name, _ in names if name in words)
            others = (line for name, line in names if not name.startswith(KERNEL))
            listed += [files[path].digest, *kernels, *others]
        return "\0".join(listed)

    def _read(self, path: Path) -> _File:
        if path not in self._files:
            self._files[path] = _File.of(path, self.identity)
        return self._files[path]


@dataclass(frozen=True)
class _File:
    """A file's digest, the names that it gives to kernels, its words and what it includes."""

    digest: str
    names: dict[str, str]
    words: set[str]
    beside: list[Path]

    @classmethod
    def of(cls, path: Path, identity: str) -> _File:
        text = path.read_text()
        beside = [path.parent / name for name in INCLUDE.findall(text)]
        text = text.replace(f"_{identity}_", f"_{NO_IDENTITY}_")
        text = text.replace(f"export {identity} */", f"export {NO_IDENTITY} */")
        names = {line[1]: line[0] for line in NAME.finditer(text)}
        bare = NAME.sub("", text) if names else text
        digest = hashlib.sha256(bare.encode()).hexdigest()
        included = [file.resolve() for file in beside if file.is_file()]
        return cls(digest, names, {*WORD.findall(bare)}, included)


SHARED: dict[str, Objects] = {}
"""What this process shares: under ``here``, if it does."""


def compile_sources(command: Sequence[object]) -> None:
    """Run a compiler on an exported folder's sources, see ``Objects.link``."""

    def run(words: Sequence[object]) -> None:
        subprocess.run([str(word) for word in words], check=True)

    if "here" in SHARED:
        SHARED["here"].link(command, run)
    else:
        run(command)


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Have what this process builds, and what it forks, take objects from there and keep its own.

    Args:
        folder: is there; other processes may share it.

    """
    toolchain, native = map(sys.modules.get, BUILDERS)
    objects = Objects(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SHARED, "here", objects)
        if toolchain is not None:
            run = toolchain.run

            def watched(command: Sequence[object], *, doing: str, cwd: Path | None = None) -> str:
                return objects.make(command, lambda: run(command, doing=doing, cwd=cwd))

            patch.setattr(toolchain, "run", watched)
        if native is not None:
            compile_ = native._compile
            patch.setattr(native, "_compile", lambda command: objects.link(command, compile_))
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have tests that build exported folders in this process share their objects; the folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "objects"
    folder.mkdir(exist_ok=True)
    with shared(folder):
        yield folder
