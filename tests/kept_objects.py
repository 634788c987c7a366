"""Objects of exported code that one test compiles, kept for the tests that compile the same.

Most of what tests compile are kernels, the same for many models but for the library and the
identity in their names. So where a test builds an exported folder with its Makefile, objects of the
same content are put beside where make would, and taken from there after it. What an object depends
on is its key: the compiler and its flags, the Makefile, and the text of all files that the source
includes. Which kernels a project has, and so which get other names, matters only for those that the
object names. Sources of the harness are kept likewise. All is kept for one run of the tests.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.object_names import renamed

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r'^\s*#\s*include\s+([A-Z]|"\w+\.c")', re.MULTILINE)
"""What a macro names, here or in a source that is part of this one."""

NAME = re.compile(r"^#define (\w+) (\w+)_([0-9a-f]{8}|@{8})_\1\n", re.MULTILINE)
"""What ``tinyrt_names.h`` has of each kernel: library, identity."""

OBJECT = re.compile(r"^\t\$\(BUILD\)/(\w+)\.o ?\\?\n", re.MULTILINE)
KERNEL = "tinyrt_"
HARNESS = "harness_"
WORD = re.compile(rf"{KERNEL}\w+")
"""What may be the name of a kernel; names that begin otherwise are taken for used."""

WORD_IN_OBJECT = re.compile(rb"tinyrt_\w+\b(?!\.[ch]\b)")
"""The same in what the compiler wrote; the names of files are none."""

EXPORT = re.compile(r"export ([0-9a-f]{8}) \*/")
"""What the first lines of a file say of the project that it is of."""

CALLS = ".ci"
PARTS = (".o", CALLS)
"""What the compiler writes of a source that is needed later."""

CALL_GRAPH = "-fcallgraph-info=su"
HOOKS = re.compile(rf" {CALL_GRAPH}(?= )| -include \S*/harness_profile\.h(?= )")
"""Flags that leave objects of kernels as they are."""

ELF = b"\x7fELF"

NO_IDENTITY = "@" * 8
NOBODY = f"_{NO_IDENTITY}_".encode()
"""What stands for an identity in what is kept: as part of a name, since ``@`` alone is data."""

ELSEWHERE = ("-I", "-g", "-flto", "--coverage", "-isystem", "-iquote", "@")
"""Beginnings of flags by which an object depends on more than its key, or cannot be renamed."""

FROM_OUTSIDE = ("CFLAGS", "WARNINGS", "CPATH", "C_INCLUDE_PATH", "MAKEFLAGS")
"""Variables of the environment that make or compilers heed."""


class Owner(NamedTuple):
    """What a project's kernels have in their names, those that a source may use, and whether the
    compiler is to write who calls whom."""

    library: str
    identity: str
    kernels: frozenset[str] = frozenset()
    calls: bool = False


def _named(content: bytes, old: bytes, new: bytes) -> bytes | None:
    """What the compiler wrote, with another name; nothing where that may not be enough."""
    return renamed(content, old, new) if content[:4] == ELF else content.replace(old, new)


class Kept(NamedTuple):
    """What the compiler wrote, without the identity, for a library of that name.

    ``own`` are the kernels that it names with the library, ``plain`` those without.
    """

    library: str
    parts: dict[str, bytes]
    own: set[str]
    plain: set[str]

    @classmethod
    def of(cls, library: str, parts: dict[str, bytes]) -> Kept:
        """Read off the names."""
        own, plain = set[str](), set[str]()
        prefix = re.escape(library.encode() + NOBODY)
        for content in parts.values():
            names = re.compile(prefix + rb"(tinyrt_\w+)")
            own |= {name.decode() for name in names.findall(content)}
            bare = names.sub(b"", content)
            plain |= {name.decode() for name in WORD_IN_OBJECT.findall(bare)}
        return cls(library, parts, own, plain)

    def serves(self, owner: Owner) -> bool:
        """Whether all that the project asks for is there, and the kernels that it renames are those
        that were renamed here."""
        told = CALLS in self.parts or not owner.calls
        return told and self.own <= owner.kernels and not self.plain & owner.kernels


class Objects:
    """A folder of objects by their keys, which processes share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(
        self, command: Sequence[object], run: Callable[[], str], cwd: Path | None = None
    ) -> str:
        """Run a command that compiles, with the objects that are there already.

        It is a ``make`` of an exported folder, or compiles one source of the harness.
        """
        words = [str(word) for word in command]
        one = harness_source(words, cwd)
        sources = sources_of(words) if one is None else [one]
        missing = {}
        for key, place, owner in sources:
            if not self._bring(key, place, owner):
                missing[key] = (place, owner)
        if one is not None and not missing:
            return ""
        said = run()
        for key, (place, owner) in missing.items():
            self._keep(key, place, owner)
        return said

    def _kept(self, key: str) -> list[Kept]:
        file = self.folder / key
        return pickle.loads(file.read_bytes()) if file.exists() else []

    def _bring(self, key: str, place: Path, owner: Owner) -> bool:
        kept = next((each for each in self._kept(key) if each.serves(owner)), None)
        if kept is None:
            return False
        parts: dict[str, bytes | None] = {**kept.parts}
        if kept.library != owner.library:
            old = kept.library.encode() + NOBODY
            new = f"{owner.library}_{owner.identity}_".encode()
            parts = {suffix: _named(content, old, new) for suffix, content in kept.parts.items()}
        if None in parts.values():
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        for suffix, content in parts.items():
            if suffix == CALLS and not owner.calls:
                continue
            assert content is not None
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
        kept = [*self._kept(key), Kept.of(owner.library, parts)]
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            file.write(pickle.dumps(kept))
        Path(file.name).replace(self.folder / key)


def harness_source(command: list[str], cwd: Path | None) -> tuple[str, Path, Owner] | None:
    """Key, place without suffix, and owner, of the object of a harness's source.

    Nothing where the command does something else, or the object depends on what no key holds.
    """
    if cwd is None or "-c" not in command or "-iquote" not in command:
        return None
    source = cwd / command[command.index("-c") + 1]
    if not source.name.startswith(HARNESS):
        return None
    text = source.read_text()
    quoted = command.index("-iquote")
    flags = [*command[1:quoted], *command[quoted + 2 :]]
    found = EXPORT.search(text)
    unsure = any(flag.startswith(ELSEWHERE) for flag in flags if flag != "-I.")
    place = cwd / source.stem
    if found is None or unsure or place.with_suffix(".o").exists():
        return None
    texts = Texts(found[1], Path(command[quoted + 1]))
    # A macro may name any of the headers there.
    headers = sorted(cwd.glob("*.h")) if ANY_INCLUDE.search(text) else []
    listed = [texts.of(Path(f)) if Path(f).is_file() else f for f in flags]
    listed += [os.environ.get(name, "") for name in FROM_OUTSIDE]
    parts = [shutil.which(command[0]) or "", *listed, *map(texts.of, [source, *headers])]
    owner = Owner("", found[1], calls=CALL_GRAPH in flags)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest(), place, owner


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
    texts, listed = Texts(identity), []
    all_flags, of_kernels = (_spelt(given, identity, hooks) for hooks in (True, False))
    places = {path.stem: path for path in sorted(project.rglob("*.c"), reverse=True)}
    for name in OBJECT.findall(rules):
        # Names of a model's own code are the same in whatever library it is, and it calls hooks.
        own = of_kernels if name.startswith(KERNEL) else [*all_flags, library]
        text, kernels = texts.read(places[name])
        digest = hashlib.sha256("\0".join([*common, *own, name, text]).encode())
        owner = Owner(library, identity, kernels, CALL_GRAPH in flags)
        listed.append((digest.hexdigest(), build / name, owner))
    return listed


def _spelt(given: Mapping[str, str], identity: str, hooks: bool) -> list[str]:
    """Variables and their flags, with the text of files; ``hooks`` as well, which ops call that
    are counted, and what has the compiler write more than the object."""
    listed = []
    for name, value in given.items():
        bare = value if hooks else HOOKS.sub(" ", f" {value} ")
        listed.append(f"{name}=")
        for word in bare.split():
            listed.append(Texts(identity).of(Path(word)) if Path(word).is_file() else word)
    return listed


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
        names = {line[1]: line[0] for line in NAME.finditer(text)}
        bare = NAME.sub("", text) if names else text
        digest = hashlib.sha256(bare.encode()).hexdigest()
        included = [file.resolve() for file in beside if file.is_file()]
        return cls(digest, names, {*WORD.findall(bare)}, included)


@contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Have what this process builds, and what it forks, take objects from there and keep its own.

    Args:
        folder: is there; other processes may share it.

    """
    toolchain = sys.modules.get("tinyrt.emulate.toolchain")
    if toolchain is None:  # nothing that this process imported builds anything
        yield
        return
    objects, run = Objects(folder), toolchain.run

    def watched(command: Sequence[object], *, doing: str, cwd: Path | None = None) -> str:
        return objects.make(command, lambda: run(command, doing=doing, cwd=cwd), cwd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "run", watched)
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have tests that build exported folders in this process share their objects; the folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "objects"
    folder.mkdir(exist_ok=True)
    with shared(folder):
        yield folder
