"""Files and folders that are written whole or not at all: the one place where the package writes.

An unfinished file has the name ``.tinyrt-`` and 16 hex digits, and is locked while its writer
lives. A killed writer's lock is released: the next writer in the same folder removes its files.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tinyrt.errors import OutputError

UNFINISHED = re.compile(r"\.tinyrt-[0-9a-f]{16}")
"""Names of unfinished files and folders."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a file that has no room for more."""

MAX_LINKS = 40
"""Symbolic links that lead from one to the next; as many as Linux follows."""

_OPEN_FILES = re.compile(r"/proc/(\d+)(?:/task/\d+)?/fd")


def write_atomic(
    path: str | Path, write: Callable[[BinaryIO], object], *, private: bool = False
) -> Path:
    """Call ``write`` with an unfinished file beside ``path``, then rename it to ``path``.

    A symbolic link stays one: the file that it leads to is replaced. Devices, pipes and open files
    (``/dev/stdout``) are written to. A file that is there gives its permissions to the new one.

    Args:
        path: the file.
        write: gets a file to write to, which can be sought in.
        private: whether nobody but the user may read it.

    Raises:
        OutputError: the folder is missing, not writable, or full; nothing is left behind.

    """
    path = Path(path)
    with writing(path):
        goal = _followed(path)
        kind = _mode_of(goal)
        if _number_of_open(goal) is not None or not (kind is None or stat.S_ISREG(kind)):
            _write_through(goal, write)
        else:
            _replace(goal, write, 0o600 if private else kind)
    return path


def write_text(path: str | Path, text: str) -> Path:
    """Write UTF-8 text as ``write_atomic`` does."""
    return write_atomic(path, lambda file: file.write(text.encode()))


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file as ``write_atomic`` does."""
    return write_atomic(path, lambda file: file.write(content))


def make_folder(path: str | Path) -> Path:
    """Make a folder, and those above it, where they are missing.

    Raises:
        OutputError: it cannot be made.

    """
    path = Path(path)
    with writing(path, what="cannot create the folder"):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def unfinished_folder(parent: Path) -> Iterator[Path]:
    """A new folder in ``parent`` for this user alone; it is removed at the end if it still exists.

    Raises:
        OSError: it cannot be made.

    """
    remove_abandoned(parent)
    folder, handle = _begin_folder(parent)
    try:
        yield folder
    finally:
        try:
            # The next writer removes the rest.
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder in the temporary directory, removed at the end.

    Raises:
        OutputError: there is no temporary directory that can be written to.

    """
    hint = "set TMPDIR to a folder with space that you may write to"
    with ExitStack() as stack:
        with writing(None, what="cannot write to the temporary directory", hint=hint):
            folder = stack.enter_context(unfinished_folder(Path(tempfile.gettempdir())))
        try:
            yield folder
        except OutputError as error:
            if error.file and Path(error.file).is_relative_to(folder):
                error.hint = hint
            raise


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of this user's killed writers from the folder."""
    try:
        paths = list(folder.iterdir())
    except OSError:
        return  # a folder that may be written to, but not be looked into, or none at all
    for path in paths:
        if UNFINISHED.fullmatch(path.name):
            # Another process may remove it, or prevent this: neither matters to the caller.
            with suppress(OSError):
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid():
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its writer lives
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """See to it that names in the folder outlast a loss of power."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some file systems have no such thing for folders.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(path: Path | None, *, what: str = "cannot write", hint: str = "") -> Iterator[None]:
    """Turn the operating system's errors into an ``OutputError`` that names the path."""
    try:
        yield
    except OSError as error:
        full = error.errno in FULL
        choose = "choose another path with -o"
        if full:
            choose = f"make room on the disk, or {choose}"
        elif error.errno == errno.ENOENT and path is not None:
            choose = f"create the folder (mkdir -p {path.parent}) or {choose}"
        elsewhere = "a path in an existing folder that you may write to"
        raise OutputError(
            f"{what}: {error.strerror or error}",
            file=None if path is None else str(path),
            expected=None if full or path is None else elsewhere,
            hint=hint or choose,
        ) from error


def _followed(path: Path) -> Path:
    """The path that a symbolic link leads to, which need not exist."""
    for _ in range(MAX_LINKS):
        if _number_of_open(path) is not None or not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _number_of_open(path: Path) -> int | None:
    """The number of the file that this process has open under the path, /dev/fd/1 or the like."""
    if not path.name.isdecimal():
        return None
    match = _OPEN_FILES.fullmatch(os.path.realpath(path.parent))
    return int(path.name) if match and int(match[1]) == os.getpid() else None


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _write_through(goal: Path, write: Callable[[BinaryIO], object]) -> None:
    content = io.BytesIO()
    write(content)
    number = _number_of_open(goal)
    # By descriptor, so that output written before and after by other means keeps its place.
    handle = os.open(goal, os.O_WRONLY) if number is None else os.dup(number)
    with os.fdopen(handle, "wb") as file:
        file.write(content.getbuffer())


def _replace(goal: Path, write: Callable[[BinaryIO], object], mode: int | None) -> None:
    remove_abandoned(goal.parent)
    unfinished, handle = _begin_file(goal.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            if mode is not None:
                os.fchmod(handle, stat.S_IMODE(mode) & 0o777)
            os.fsync(handle)
            unfinished.replace(goal)
        sync_folder(goal.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _begin_file(folder: Path) -> tuple[Path, int]:
    """An unfinished file, and its number: as long as that is open, the file is locked."""
    while True:
        path = _unfinished(folder)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if _hold(path, handle):
            return path, handle
        os.close(handle)


def _begin_folder(parent: Path) -> tuple[Path, int]:
    while True:
        path = _unfinished(parent)
        path.mkdir(0o700)
        try:
            path.chmod(0o700)  # whatever the umask
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # taken for abandoned before it was locked
        if _hold(path, handle):
            return path, handle
        os.close(handle)


def _unfinished(folder: Path) -> Path:
    return folder / f".tinyrt-{secrets.token_hex(8)}"


def _hold(path: Path, handle: int) -> bool:
    """Lock a new file; false if another writer has already taken it for abandoned."""
    # Where a file system has no locks, nobody can take it for abandoned either.
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return path.exists()
