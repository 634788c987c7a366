"""Objects of exported code that one test compiles, kept for the tests that compile the same.

Most of what tests compile are kernels, the same for many models but for the library and the
identity in their names. So where a test builds an exported folder with its Makefile, objects of the
same content are put beside where make would, and taken from there after it. What an object depends
on is its key: the compiler and its flags, the Makefile, and the text of all files that the source
includes. Which kernels a project has, and so which get other names, matters only for those that the
object names. Sources of the harness are kept likewise, and kernels that backend ``native`` builds.
All is kept for one run of the tests.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.kept_texts import KERNEL, NAME, NO_IDENTITY, Texts
from tests.object_names import renamed

ANY_INCLUDE = re.compile(r'^\s*#\s*include\s+([A-Z]|"\w+\.c")', re.MULTILINE)
"""What a macro names, here or in a source that is part of this one."""

OBJECT = re.compile(r"^\t\$\(BUILD\)/(\w+)\.o ?\\?\n", re.MULTILINE)
COMMENT = re.compile(r"^#.*\n", re.MULTILINE)
OWN_CFLAGS = re.compile(r"^CFLAGS \?=.*\n", re.MULTILINE)
"""What says which core a Makefile is for: the second, unless others take its place."""

HARNESS = "harness_"
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

BUILDERS = ("tinyrt.emulate.toolchain", "tinyrt.interpreter.native")
"""What builds exported code, where this process has imported it."""

NOBODY = f"_{NO_IDENTITY}_".encode()
"""What stands for an identity in what is kept: as part of a name, since ``@`` alone is data."""

ELSEWHERE = ("-I", "-g", "-flto", "--coverage", "-isystem", "-iquote", "@")
"""Beginnings of flags by which an object depends on more than its key, or cannot be renamed."""

UNSURE = (*ELSEWHERE, "-include")

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
    bare = OBJECT.sub("", COMMENT.sub("", rules)).replace(identity, NO_IDENTITY)
    if "CFLAGS" in given:
        bare = OWN_CFLAGS.sub("", bare)
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
            text, used = texts.read(source)
            parts = "\0".join([*common, source.name, text])
            place = Path(command[-1]).with_name(source.stem)
            key = hashlib.sha256(parts.encode()).hexdigest()
            listed.append((key, source, place, Owner(library, identity, used)))
    return listed


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
                return objects.make(command, lambda: run(command, doing=doing, cwd=cwd), cwd)

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
