"""Objects of exported code that one test compiles, kept for the tests that compile the same.

Most of what tests compile are kernels, the same for many models but for the identity in their
names. So where a test builds an exported folder with its Makefile, objects of the same content are
put beside where make would, and taken from there after it. What an object depends on is its key:
the compiler and its flags, the Makefile, and the text of all files that the source includes. They
are kept for one run of the tests.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
NAME = re.compile(r"^#define (\w+) (\w+)_([0-9a-f]{8})_\1\n", re.MULTILINE)
"""What ``tinyrt_names.h`` has of each kernel: library, identity."""

OBJECT = re.compile(r"^\t\$\(BUILD\)/(\w+)\.o ?\\?\n", re.MULTILINE)
WORD = re.compile(r"\w+")
PARTS = (".o", ".ci")
"""What the compiler writes of a source that is needed later."""

NO_IDENTITY = "@" * 8
NOBODY = f"_{NO_IDENTITY}_".encode()
"""What stands for an identity in what is kept: as part of a name, since ``@`` alone is data."""

ELSEWHERE = ("-I", "-g", "-flto", "--coverage", "-isystem", "-iquote", "@")
"""Beginnings of flags by which an object depends on more than its key, or cannot be renamed."""

FROM_OUTSIDE = ("CFLAGS", "WARNINGS", "CPATH", "C_INCLUDE_PATH", "MAKEFLAGS")
"""Variables of the environment that make or compilers heed."""


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
        for key, place, identity in sources:
            if not self._bring(key, place, identity):
                missing[key] = (place, identity)
        said = run()
        for key, (place, identity) in missing.items():
            self._keep(key, place, identity)
        return said

    def _bring(self, key: str, place: Path, identity: str) -> bool:
        kept = self.folder / key
        if not kept.exists():
            return False
        place.parent.mkdir(parents=True, exist_ok=True)
        for suffix, content in pickle.loads(kept.read_bytes()).items():
            written = content.replace(NOBODY, f"_{identity}_".encode())
            place.with_suffix(suffix).write_bytes(written)
        return True

    def _keep(self, key: str, place: Path, identity: str) -> None:
        parts = {
            suffix: place.with_suffix(suffix).read_bytes()
            for suffix in PARTS
            if place.with_suffix(suffix).exists()
        }
        if any(NOBODY in content for content in parts.values()):
            return  # data that would be taken for a name
        own = f"_{identity}_".encode()
        parts = {suffix: content.replace(own, NOBODY) for suffix, content in parts.items()}
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            file.write(pickle.dumps(parts))
        Path(file.name).replace(self.folder / key)


def sources_of(command: list[str]) -> list[tuple[str, Path, str]]:
    """Key, place without suffix, and identity, of each object that a command builds.

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
    identity = found[3]
    bare = OBJECT.sub("", rules).replace(identity, NO_IDENTITY)
    outside = (os.environ.get(name, "") for name in FROM_OUTSIDE)
    common = [shutil.which(given["CC"]) or "", bare, *outside]
    for word in " ".join(f"{name}={value}" for name, value in given.items()).split():
        common.append(closure(Path(word)) if Path(word).is_file() else word)
    listed = []
    for name in OBJECT.findall(rules):
        source = next(path for path in sorted(project.rglob(f"{name}.c")))
        text = neutral(closure(source), identity)
        digest = hashlib.sha256("\0".join([*common, name, text]).encode())
        listed.append((digest.hexdigest(), build / name, identity))
    return listed


def closure(source: Path) -> str:
    """A source and all that it includes, one after the other."""
    texts: dict[Path, str] = {}
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file not in texts:
            texts[file] = file.read_text()
            beside = [file.parent / name for name in INCLUDE.findall(texts[file])]
            waiting += [path.resolve() for path in beside if path.is_file()]
    return "\0".join(texts[file] for file in sorted(texts))


def neutral(text: str, identity: str) -> str:
    """Text without the identity, and without the names of kernels that it does not use."""
    words = set(WORD.findall(NAME.sub("", text)))
    text = NAME.sub(lambda name: name[0] if name[1] in words else "", text)
    return text.replace(f"_{identity}_", f"_{NO_IDENTITY}_").replace(
        f"export {identity} */", f"export {NO_IDENTITY} */"
    )


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
        return objects.make(command, lambda: run(command, doing=doing, cwd=cwd))

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
