"""Data files: .npz archives with ``x`` (samples first) and, where there are labels, ``y``."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.files import write_atomic

LABELS = "y"


def load_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz file.

    Raises:
        DataError: the file is missing, is no .npz archive, or holds pickled objects.

    """
    with _readable(path):
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an archive")
        with loaded as archive:
            return {name: archive[name] for name in archive.files}


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Name the file in whatever goes wrong while it is read."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot read the data: {error.strerror or error}",
            file=str(path),
            hint="check the path",
        ) from error
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError, zlib.error) as error:
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


def read_inputs(path: str | Path, rows: int) -> Iterator[dict[str, NDArray[Any]]]:
    """The same, a number of samples at a time: memory holds no more than these.

    Archives that cannot be read from front to back (arrays in Fortran order, or of different
    lengths) come in one piece.

    Args:
        path: the .npz file.
        rows: samples of a piece.

    Raises:
        DataError: as ``load_inputs``.

    """
    with _readable(path), zipfile.ZipFile(path) as archive, ExitStack() as files:
        readers = {
            name: _Reader(files.enter_context(archive.open(member)))
            for member in archive.namelist()
            if (name := member.removesuffix(".npy")) != LABELS
        }
        counts = {reader.count for reader in readers.values()}
        if len(counts) == 1 and None not in counts:
            while any(reader.count for reader in readers.values()):
                yield {name: reader.read(rows) for name, reader in readers.items()}
            return
    yield load_inputs(path)


class _Reader:
    """One array of an archive, read from its first sample on.

    Attributes:
        count: samples left; None where they do not lie one after the other.

    """

    def __init__(self, file: IO[bytes]) -> None:
        header = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}
        read = header.get(read_magic(file))
        self.count: int | None = None
        self._file = file
        if read is not None:
            shape, fortran, self._dtype = read(file)
            if shape and not fortran and not self._dtype.hasobject:
                self.count, self._shape = shape[0], shape[1:]

    def read(self, rows: int) -> NDArray[Any]:
        """The next samples."""
        assert self.count is not None, "asked of arrays only whose samples follow each other"
        rows = min(rows, self.count)
        size = rows * math.prod(self._shape) * self._dtype.itemsize
        data = self._file.read(size)
        if len(data) != size:
            raise EOFError(f"{size - len(data)} bytes are missing")
        self.count -= rows
        return np.frombuffer(data, self._dtype).reshape(rows, *self._shape).copy()


def save_npz(path: str | Path, arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write arrays by name, whole or not at all.

    Raises:
        OutputError: the file cannot be written.

    """

    def write(file: BinaryIO) -> None:
        np.savez(file, allow_pickle=False, **dict(arrays))

    return write_atomic(path, write)
