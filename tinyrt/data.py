"""Data files: .npz archives with ``x`` (samples first) and, where there are labels, ``y``."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.files import write_atomic

LABELS = "y"


def load_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz file.

    Raises:
        DataError: the file is missing, is no .npz archive, or holds pickled objects.

    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an archive")
        with loaded as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise DataError(
            f"cannot read the data: {error.strerror or error}",
            file=str(path),
            hint="check the path",
        ) from error
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise DataError(
            f"this is not a readable .npz file ({error})",
            file=str(path),
            expected="an archive written by numpy.savez, without pickled objects",
            hint="numpy.savez('data.npz', x=inputs, y=labels)",
        ) from error


def load_inputs(path: str | Path) -> dict[str, NDArray[Any]]:
    """The model inputs of an .npz file: all arrays but the labels.

    Raises:
        DataError: as ``load_npz``, or there is no array but labels.

    """
    arrays = load_npz(path)
    inputs = {name: array for name, array in arrays.items() if name != LABELS}
    if not inputs:
        raise DataError(
            "the file holds no inputs", file=str(path), expected="an array 'x', samples first"
        )
    return inputs


def save_npz(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write arrays by name, whole or not at all.

    Raises:
        OutputError: the file cannot be written.

    """

    def write(file: BinaryIO) -> None:
        np.savez(file, allow_pickle=False, **dict(arrays))

    return write_atomic(path, write)
