"""Files that are written whole or not at all, and read with errors that say what to do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tinyrt.errors import OutputError


def write_atomic(path: str | Path, write: Callable[[BinaryIO], object]) -> Path:
    """Call ``write`` with a temporary file beside ``path``, then rename it to ``path``.

    Raises:
        OutputError: the folder is missing, not writable, or full; nothing is left behind.

    """
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write: {error.strerror or error}",
        file=str(path),
        expected="a path in an existing folder that you may write to",
        hint=f"create the folder (mkdir -p {path.parent}) or choose another path with -o",
    )


def cache_folder(kind: str) -> Path:
    """Where built code of that kind is kept: in ``$TINYRT_CACHE``, else the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TINYRT_CACHE") or Path(home) / "tinyrt") / kind
