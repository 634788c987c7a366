"""A folder of written files, replaced as a whole: a kill leaves the old files or the new ones.

The new files are written beside the folder, what is not tinyrt's is linked to them, and both change
places in one step. Where the system cannot do that, or where the folder must stay the same one (it
is a mount point, or somebody works in it), files are moved into it one after the other. Meanwhile
its headers hold nothing but an ``#error``: until all files belong together, nothing is compiled.

A manifest in the folder says which files tinyrt wrote: they are removed when they are not written
again, unless they were changed. Everything else is left alone.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from tinyrt.files import UNFINISHED, sync_folder, unfinished_folder, writing

MANIFEST = "tinyrt-files.json"

INTERRUPTED = b"#error this export was interrupted: run tinyrt export again\n"
"""Content of the headers while files are moved into a folder."""

MAX_OTHERS = 2000
"""Files that are not tinyrt's, as many as are linked."""

PATIENCE_S = 20.0
"""How long to wait for another export into the same folder."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_MAX_MANIFEST = 4 << 20
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2

Files = Mapping[str, bytes]
Written = Mapping[str, str]
"""Name -> SHA-256 of the file's content."""


def written_files(files: Mapping[str, object]) -> tuple[str, ...]:
    """The names of all that ``write_folder`` writes for these files, sorted."""
    return tuple(sorted({*files, MANIFEST}))


def write_folder(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write the files, and remove those of the last time; all or none.

    Args:
        directory: the folder; a symbolic link to one stays a link.
        files: name -> text, or bytes; names may have folders in front.

    Raises:
        OutputError: the folder cannot be written.

    """
    contents = {n: text.encode() if isinstance(text, str) else text for n, text in files.items()}
    with writing(directory, what="cannot write the C project"):
        goal = Path(os.path.realpath(directory))
        goal.parent.mkdir(parents=True, exist_ok=True)
        if not _write_new(goal, contents):
            with _alone(goal):
                _replace(goal, contents)


def _write_new(goal: Path, files: Files) -> bool:
    """Write a folder that is not there yet; false where there is one."""
    if goal.exists():
        return False
    with unfinished_folder(goal.parent) as room:
        staged = room / "project"
        staged.mkdir()
        _write_all(staged, files, _manifest(files))
        try:
            staged.rename(goal)
        except OSError as error:
            # Somebody else has written it meanwhile.
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
    sync_folder(goal.parent)
    return True


def _replace(goal: Path, files: Files) -> None:
    _look_for_obstacles(goal, files)
    before = _read_manifest(goal)
    stale = [name for name in before if name not in files and _is_unchanged(goal, name, before)]
    if not _exchange(goal, files, {*files, *stale, MANIFEST}):
        _move_into(goal, files, stale, before)


def _look_for_obstacles(goal: Path, files: Files) -> None:
    """Refuse, before anything is changed, if an existing file cannot be replaced."""
    for name in files:
        path = goal / name
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, f"'{name}' is a folder")
        for folder in map(goal.__truediv__, _folders_of(name)):
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, f"'{folder.name}' is not a folder")


def _folders_of(name: str) -> list[str]:
    """The folders in front of a name, the innermost first: ``a/b/c`` is in ``a/b`` and ``a``."""
    return [str(folder) for folder in PurePosixPath(name).parents][:-1]


@contextmanager
def _alone(goal: Path) -> Iterator[None]:
    """Keep other exports out of the folder."""
    end = time.monotonic() + PATIENCE_S
    while True:
        handle = os.open(goal, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _try_lock(handle) and os.path.samestat(os.fstat(handle), goal.stat()):
                yield
                return
        finally:
            os.close(handle)
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "another export is writing to it")
        time.sleep(0.02)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


# The manifest


def _manifest(files: Files, before: Written | None = None) -> bytes:
    """The manifest: digests of the new files, and during the exchange of the old ones, too."""
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    data: dict[str, Any] = {"SPDX-License-Identifier": "Apache-2.0", "written_by": "tinyrt"}
    data["files"] = digests
    if before is not None:
        data["before"] = dict(before)
    return f"{json.dumps(data, indent=1)}\n".encode()


def _read_manifest(folder: Path) -> dict[str, str]:
    """Name -> digests, with spaces, of the files that tinyrt wrote there."""
    path = folder / MANIFEST
    try:
        if not path.is_file() or path.stat().st_size > _MAX_MANIFEST:
            return {}
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    digests: dict[str, str] = {}
    for part in ("files", "before"):
        table = data.get(part) if isinstance(data, dict) else None
        for name, digest in table.items() if isinstance(table, dict) else ():
            if _NAME.fullmatch(name) and isinstance(digest, str):
                digests[name] = f"{digests.get(name, '')} {digest}".strip()
    return digests


def _is_unchanged(folder: Path, name: str, before: Written) -> bool:
    """Whether a file is as tinyrt wrote it; nothing that a link leads to is."""
    path = folder / name
    if any((folder / part).is_symlink() for part in (name, *_folders_of(name))):
        return False
    if not path.is_file():
        return False
    content = path.read_bytes()
    return content == INTERRUPTED or hashlib.sha256(content).hexdigest() in before[name].split()


# In one step


def _exchange(goal: Path, files: Files, own: set[str]) -> bool:
    """Put a whole new folder in place; false, with nothing changed, where that cannot be."""
    if _must_stay(goal):
        return False
    try:
        with unfinished_folder(goal.parent) as room:
            staged = room / "project"
            _link_others(goal, staged, own, {f for name in files for f in _folders_of(name)})
            _write_all(staged, files, _manifest(files))
            _swap(staged, goal)
            _after_swap(staged, goal, own)
    except _CannotSwapError:
        return False
    return True


class _CannotSwapError(OSError):
    """The two folders cannot change places; nothing has changed."""


def _must_stay(goal: Path) -> bool:
    """Whether the folder must remain the one that it is."""
    current = Path(os.path.realpath(Path.cwd()))
    status, above = goal.stat(), goal.parent.stat()
    is_foreign = status.st_uid != os.geteuid() or status.st_dev != above.st_dev
    return (
        is_foreign
        or goal == current
        or goal in current.parents
        or not os.access(goal.parent, os.W_OK)
    )


def _link_others(
    source: Path, target: Path, own: set[str], needed: set[str], within: str = ""
) -> int:
    """Hard-link files that are not tinyrt's into the new folder; returns how many.

    Folders of tinyrt's files alone go with these, but for those that are needed again.
    """
    try:
        target.mkdir()
        status, new_status = source.stat(), target.stat()
        if not os.access(source, os.W_OK | os.X_OK):
            raise _CannotSwapError(errno.EACCES, "a folder that nothing can be removed from")
        if (status.st_uid, status.st_gid) != (new_status.st_uid, new_status.st_gid):
            os.chown(target, status.st_uid, status.st_gid)
        target.chmod(status.st_mode & 0o7777)
        count = 0
        for entry in list(os.scandir(source)):
            name = within + entry.name
            if name in own or UNFINISHED.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                found = _link_others(
                    *(Path(entry.path), target / entry.name, own, needed), within=f"{name}/"
                )
                if not found and name not in needed and any(os.scandir(entry.path)):
                    (target / entry.name).rmdir()
                    continue
                count += found
            else:
                os.link(entry.path, target / entry.name, follow_symlinks=False)
            count += 1
            if count > MAX_OTHERS:
                raise _CannotSwapError(errno.EMLINK, "too many files of others")
    except OSError as error:
        raise _CannotSwapError(error.errno, error.strerror) from error
    return count


@cache
def _of_libc(name: str) -> Any:
    """A function of the C library that Python does not have; None where it has not either."""
    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


def _swap(one: Path, other: Path) -> None:
    """Have two folders change places in one step."""
    function = _of_libc("renameat2")
    if function is None:
        raise _CannotSwapError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    if function(*names, ctypes.c_uint(_RENAME_EXCHANGE)):
        number = ctypes.get_errno()
        raise _CannotSwapError(number, os.strerror(number))


def _after_swap(old: Path, new: Path, own: set[str]) -> None:
    """Move over the files that others put into the old folder while the new one was written."""
    sync_folder(new.parent)
    for path in old.rglob("*"):
        name = path.relative_to(old)
        if str(name) in own or (path.is_dir() and not path.is_symlink()):
            continue
        goal = new / name
        with suppress(FileNotFoundError):  # removed meanwhile
            if not os.path.lexists(goal) or not os.path.samestat(path.lstat(), goal.lstat()):
                goal.parent.mkdir(parents=True, exist_ok=True)
                path.replace(goal)


# One after the other


def _move_into(goal: Path, files: Files, stale: list[str], before: Written) -> None:
    headers = [n for n in (*files, *stale) if n.endswith(".h")]
    with unfinished_folder(goal) as room:
        _write_all(room, files, _manifest(files))

        def bring(name: str, content: bytes | None = None) -> None:
            """Move a file into place, or one of other content."""
            source = room / name
            if content is not None:
                source = room / "other"
                source.write_bytes(content)
            (goal / name).parent.mkdir(parents=True, exist_ok=True)
            source.replace(goal / name)

        # From here on the folder is said to hold files of both times, and none is compiled.
        bring(MANIFEST, _manifest(files, before))
        for name in headers:
            bring(name, INTERRUPTED)
        sync_folder(goal)
        for name in files:
            if name not in headers:
                bring(name)
        for name in stale:
            (goal / name).unlink(missing_ok=True)
            for folder in _folders_of(name):
                with suppress(OSError):  # something of others is in it
                    (goal / folder).rmdir()
        sync_folder(goal)
        for name in files:
            if name in headers:
                bring(name)
        bring(MANIFEST, _manifest(files))
        sync_folder(goal)


def _write_all(folder: Path, files: Files, manifest: bytes) -> None:
    """Write all files, onto the disk, into a folder that has none of them."""
    contents = {**files, MANIFEST: manifest}
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    _sync([folder / name for name in contents])


def _sync(paths: list[Path]) -> None:
    """See to it that files and their folders outlast a loss of power."""
    function = _of_libc("syncfs")
    with paths[0].open("rb") as file:
        # One flush of the disk for all of them, where one for each takes many times as long.
        if function is not None and function(file.fileno()) == 0:
            return
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    for folder in {path.parent for path in paths}:
        sync_folder(folder)
