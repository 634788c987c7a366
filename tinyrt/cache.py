"""Built code, cached on disk for this user alone, and checked before it is loaded.

An entry is one file: its content, a mark, and a digest of name and content. An entry that is cut
short, altered, renamed or another user's counts as missing: it is built again and replaced. The
digest detects accidents. Owner and permissions of folder and file ensure that nobody else wrote it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tinyrt.errors import OutputError
from tinyrt.files import write_atomic, writing

MARK = b"\ntinyrt cache 1\n"
_TAIL = len(MARK) + hashlib.sha256().digest_size
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
KINDS = ("numba", "native", "cuda")
"""What is kept, a folder for each."""
HINT = "set TINYRT_CACHE to a folder of your own with some space"


def cache_folder(kind: str) -> Path:
    """Where built code of that kind is kept: in ``$TINYRT_CACHE``, else the user's cache folder.

    Raises:
        OutputError: there is neither.

    """
    override = os.environ.get("TINYRT_CACHE")
    if override:
        return Path(override) / kind
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        problem = "there is no home folder to keep built code in"
        raise OutputError(problem, hint=HINT) from error
    return home / "tinyrt" / kind


@dataclass(frozen=True, slots=True)
class CacheState:
    """The folder of a kind, as it is.

    Attributes:
        path: where it is, or would be made; empty where there is no place for it.
        entries: files in it.
        nbytes: what they take.
        problem: why nothing can be kept in it; None where it can.

    """

    path: str
    entries: int
    nbytes: int
    problem: str | None


def state_of(kind: str) -> CacheState:
    """Size of the folder of that kind, and whether it can be used; nothing is written."""
    try:
        path = cache_folder(kind)
    except OutputError as error:
        return CacheState("", 0, 0, error.problem)
    try:
        sizes = [entry.stat().st_size for entry in path.iterdir()] if path.exists() else []
        there = next(folder for folder in (path, *path.parents) if folder.exists())
        return CacheState(str(path), len(sizes), sum(sizes), _problem(path, there))
    except OSError as error:
        return CacheState(str(path), 0, 0, f"it cannot be read: {error.strerror}")


def _problem(path: Path, there: Path) -> str | None:
    """What keeps entries out of a folder, of which ``there`` exists already."""
    if not there.is_dir():
        return f"{there} is no folder"
    if there == path and not _is_own_folder(path.lstat()):
        return "it is a link, or another user's, or others may write to it"
    return None if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"


def key_of(*parts: str | bytes) -> str:
    """The name of the entry built from these parts: 32 hex digits of their hash."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(raw)} ".encode() + raw)
    return digest.hexdigest()[:32]


def read_entry(kind: str, name: str) -> bytes | None:
    """The content of an entry; None where it is missing, damaged or not this user's own."""
    try:
        folder = cache_folder(kind)
        if not _is_own_folder(folder.lstat()):
            return None
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, OutputError):
        return None
    try:
        return _content(handle, name) if _is_own(os.fstat(handle)) else None
    except OSError:
        return None  # a read error of the disk
    finally:
        os.close(handle)


def entry_path(kind: str, name: str) -> Path | None:
    """The path of an entry, for loading it by path; None as for ``read_entry``.

    The mark and the digest follow the content; loaders of libraries ignore them.
    """
    return None if read_entry(kind, name) is None else cache_folder(kind) / name


def keep(kind: str, name: str, content: bytes) -> Path:
    """Write an entry; returns its path.

    Raises:
        OutputError: the folder cannot be written, or is another user's.

    """

    def write(file: BinaryIO) -> None:
        file.write(content)
        file.write(_tail(name, content))

    path = _own_folder(kind) / name
    with writing(path, what="cannot write to the cache", hint=HINT):
        _clear(path)
    try:
        return write_atomic(path, write, private=True)
    except OutputError as error:
        error.problem = error.problem.replace("cannot write", "cannot write to the cache", 1)
        error.expected, error.hint = None, HINT
        raise


def _tail(name: str, content: bytes) -> bytes:
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(content)
    return MARK + digest.digest()


def _content(handle: int, name: str) -> bytes | None:
    size = os.fstat(handle).st_size - _TAIL
    # The mark first: a file that is not an entry may be of any size.
    if size < 0 or os.pread(handle, len(MARK), size) != MARK:
        return None
    with os.fdopen(os.dup(handle), "rb") as file:
        raw = file.read(size + _TAIL)
    content = raw[:size]
    return content if raw[size:] == _tail(name, content) else None


def _is_own(status: os.stat_result) -> bool:
    """Whether it is a plain file of this user's that nobody else can write."""
    is_owner = status.st_uid == os.geteuid()
    return is_owner and stat.S_ISREG(status.st_mode) and not status.st_mode & _OTHERS_MAY_WRITE


def _is_own_folder(status: os.stat_result) -> bool:
    is_owner = status.st_uid == os.geteuid()
    return is_owner and stat.S_ISDIR(status.st_mode) and not status.st_mode & _OTHERS_MAY_WRITE


def _own_folder(kind: str) -> Path:
    """The folder of that kind, which nobody else may look into or change.

    Raises:
        OutputError: it cannot be made, or is another user's.

    """
    path = cache_folder(kind)
    with writing(path, what="cannot make the cache folder", hint=HINT):
        for folder in (path.parent, path):
            if not folder.is_dir():
                folder.mkdir(0o700, parents=True, exist_ok=True)
                folder.chmod(0o700)  # whatever the umask
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise OutputError(
                "the cache folder is a link, or belongs to another user",
                file=str(path),
                expected="a folder of your own: machine code is loaded from it",
                hint=HINT,
            )
        # Where others could write until now, the owner of each entry tells who wrote it.
        if stat.S_IMODE(status.st_mode) != 0o700:
            path.chmod(0o700)
    return path


def _clear(path: Path) -> None:
    """Remove anything at the entry's path that is not a plain file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        shutil.rmtree(path)
    elif not stat.S_ISREG(mode):
        path.unlink()
