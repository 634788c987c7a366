"""Data files: .npz archives with ``x`` (samples first) and, where there are labels, ``y``.

An .npy file counts as an archive of ``x`` alone. Models read many samples from a ``Source`` piece
by piece, so that files may be larger than memory.
"""

from __future__ import annotations

import itertools
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import Budget, current
from tinyrt.errors import DataError
from tinyrt.files import write_atomic
from tinyrt.npz import ArrayFile
from tinyrt.text import clean

Array = NDArray[Any]

LABELS = "y"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Shape and dtype of an array that may not be in memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def row_bytes(self) -> int:
        """Bytes of one entry of the first axis."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return math.prod(self.shape) * self.dtype.itemsize


class Source(Protocol):
    """Inputs of a model by name, samples first, that are given out a piece at a time."""

    @property
    def types(self) -> Mapping[str, ArrayType]:
        """Shapes and dtypes of all pieces together."""

    def pieces(self, rows: Mapping[str, int]) -> Iterator[dict[str, Array]]:
        """Pieces of the arrays in order, ``rows`` rows of each; errors as in the subclass."""


class InMemory:
    """A source of arrays in memory."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = dict(arrays)

    @property
    def types(self) -> Mapping[str, ArrayType]:
        """Shapes and dtypes of the arrays."""
        return {name: ArrayType(a.shape, a.dtype) for name, a in self._arrays.items()}

    def pieces(self, rows: Mapping[str, int]) -> Iterator[dict[str, Array]]:
        """Views of the arrays."""
        name, most = next(iter(rows.items()))
        for i in range(-(-len(self._arrays[name]) // most)):
            yield {n: a[i * rows[n] : (i + 1) * rows[n]] for n, a in self._arrays.items()}


class FromFile:
    """A source that reads a data file, all arrays of it but the labels.

    Args:
        path: an .npz or .npy file.
        budget: what pieces are taken from; the open one if not given.

    Raises:
        DataError: the file cannot be read, is damaged, or holds no inputs.
        BudgetError: it, or a piece of it, is too large.

    """

    def __init__(self, path: str | Path, budget: Budget | None = None) -> None:
        self._path, self._budget = path, budget
        with self._open() as file:
            self._types = _types_of(file)

    @property
    def types(self) -> Mapping[str, ArrayType]:
        """Shapes and dtypes of the arrays."""
        return self._types

    def pieces(self, rows: Mapping[str, int]) -> Iterator[dict[str, Array]]:
        """Pieces of the arrays as they are read, ``rows`` rows of each."""
        with self._again() as file:
            readers = {name: file.rows(name, rows[name]) for name in self._types}
            for parts in zip(*readers.values(), strict=True):
                yield dict(zip(readers, parts, strict=True))

    def whole(self) -> dict[str, Array]:
        """All arrays at once."""
        total = sum(array_type.nbytes for array_type in self._types.values())
        # Twice: as they are read, and as the model takes them.
        (self._budget or current()).reserve(2 * total, "all samples at once")
        with self._again() as file:
            return {name: file.read(name) for name in self._types}

    def _open(self) -> ArrayFile:
        return ArrayFile(self._path, self._budget)

    def _again(self) -> ArrayFile:
        file = self._open()
        if _types_of(file) != self._types:
            file.close()
            raise DataError(
                "the file was changed while it was read",
                file=str(self._path),
                hint="run it again once the file is whole",
            )
        return file


def _types_of(file: ArrayFile) -> dict[str, ArrayType]:
    """The inputs that a data file holds."""
    types = {
        name: ArrayType(header.shape, header.dtype.newbyteorder("="))
        for name, header in file.headers.items()
        if name != LABELS
    }
    if not types:
        raise DataError(
            "the file holds no inputs", file=file.path, expected="an array 'x', samples first"
        )
    for name, array_type in types.items():
        if not array_type.shape:
            raise DataError(
                "the array is a single number",
                file=file.path,
                tensor=ascii(name[:60]),
                expected="samples, along a first axis",
            )
    return types


def load_npz(path: str | Path, *, text: bool = False) -> dict[str, Array]:
    """All arrays of an .npz file, or the one of an .npy file as ``x``.

    Args:
        path: the file.
        text: whether it may hold arrays of strings, too.

    Raises:
        DataError: the file cannot be read, is damaged, or holds anything but numbers.
        BudgetError: there is no room for them.

    """
    with ArrayFile(path, text=text) as file:
        return {name: file.read(name) for name in file.headers}


def load_inputs(path: str | Path) -> dict[str, Array]:
    """The model inputs of a data file: all arrays but the labels.

    Raises:
        DataError: as ``load_npz``, or there is no array but labels.
        BudgetError: there is no room for them.

    """
    return FromFile(path).whole()


def load_labels(path: str | Path) -> Array | None:
    """The labels of a data file; None where it has none.

    Raises:
        DataError: as ``load_npz``.
        BudgetError: there is no room for them.

    """
    with ArrayFile(path) as file:
        return file.read(LABELS) if LABELS in file.headers else None


def read_inputs(path: str | Path, rows: int) -> Iterator[dict[str, Array]]:
    """The same as ``load_inputs``, a number of samples at a time.

    Arrays of different lengths come in one piece, and large samples fewer at a time.

    Args:
        path: the file.
        rows: samples of a piece, at most.

    Raises:
        DataError: as ``load_inputs``.
        BudgetError: there is no room for a piece.

    """
    source = FromFile(path)
    types = source.types.values()
    if len({t.shape[0] for t in types}) != 1:
        yield source.whole()
        return
    rows = max(1, min(rows, PIECE // max(1, sum(t.row_bytes for t in types))))
    yield from source.pieces(dict.fromkeys(source.types, rows))


PIECE = 128 << 20
"""Bytes of calibration data that are read at once."""


def save_npz(path: str | Path, arrays: Mapping[str, Array]) -> Path:
    """Write arrays by name, whole or not at all.

    A name that no member of an archive can have, or that leads out of a folder it is unpacked to,
    is written as ``clean`` shows it.

    Raises:
        OutputError: the file cannot be written.

    """

    def write(file: BinaryIO) -> None:
        # As np.savez does, which takes no array that is called "file".
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for member, array in zip(_members(arrays), arrays.values(), strict=True):
                with archive.open(f"{member}.npy", "w", force_zip64=True) as part:
                    np.lib.format.write_array(part, np.asanyarray(array), allow_pickle=False)

    return write_atomic(path, write)


MAX_MEMBER = 1_000
"""Characters of a member's name."""


def _members(arrays: Iterable[str]) -> Iterator[str]:
    """A member of an archive for each name; no two are equal."""
    names = tuple(arrays)
    members = set(names)
    for name in names:
        member = name
        if len(name) > MAX_MEMBER or not name.isprintable() or ".." in re.split(r"[/\\]", name):
            short = clean(name, MAX_MEMBER).replace("..", "__")
            numbered = (f"{short}_{i}" for i in itertools.count(1))
            member = next(m for m in itertools.chain((short,), numbered) if m not in members)
            members.add(member)
        yield member
