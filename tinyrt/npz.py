"""Archives of arrays (.npz) and single arrays (.npy), of which headers are looked at first.

Before anything is unpacked, each member must be an array of numbers of the size that its header
says, and their sum must be within the limit for a file of this size. Arrays that are read then
spend from the budget.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import Budget, current, readable
from tinyrt.errors import BudgetError, DataError, boundary
from tinyrt.npy import MAGIC, Header, read_header

Array = NDArray[Any]

MAX_MEMBERS = 10_000
MAX_DIRECTORY = 4 << 20
"""Bytes of an archive's directory, of which each costs ten times that when it is read."""
MAX_RATIO = 1032
"""Bytes that deflate can make of one."""
MAX_UNPACKED, UNPACKED_PER_BYTE = 64 << 20, 32
"""Bytes that a file may unpack to, however it is read, and what each byte of it adds: data of a
thousand zeros to a byte would be worked on for minutes."""
CHUNK = 1 << 20
ONLY = "x"
"""The name of the array of an .npy file."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1 | 0x20 | 0x40
_LOCAL_HEADER = 30
_EXPECTED = "an archive written by numpy.savez, or an array by numpy.save"
_HINT = "numpy.savez('data.npz', x=inputs, y=labels)"


class ArrayFile:
    """Arrays of a file by name; closed by ``close``, or at the end of a ``with`` block.

    Args:
        path: an .npz archive, or an .npy file, whose array is called ``x``.
        budget: what arrays are taken from; the open one if not given.
        text: whether arrays of strings are welcome, too.

    Attributes:
        headers: what the file says of each array.

    Raises:
        DataError: the file cannot be read, is damaged, or holds anything but numbers.
        BudgetError: unpacked, it is larger than a file of its size may be.

    """

    def __init__(
        self, path: str | Path, budget: Budget | None = None, *, text: bool = False
    ) -> None:
        self.path = str(path)
        self.headers: dict[str, Header] = {}
        self._budget = budget or current()
        self._text = text
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._archive: zipfile.ZipFile | None = None
        self._file = _open(path)
        try:
            with _reading(self.path):
                self._size = os.fstat(self._file.fileno()).st_size
                self._budget.allow_for(self._size)
                self._look()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def read(self, name: str) -> Array:
        """A whole array.

        Raises:
            DataError: it is damaged.
            BudgetError: there is no room for it.

        """
        header = self.headers[name]
        with _reading(self.path, name), self._opened(name) as stream:
            return _take(stream, header, header.shape, self._budget)

    def rows(self, name: str, count: int) -> Iterator[Array]:
        """An array of at least one dimension, ``count`` entries of its first axis at a time.

        An array in C order is read row by row; any other is read as a whole.

        Raises:
            DataError: it is damaged.
            BudgetError: there is no room for that many rows.

        """
        header = self.headers[name]
        total = header.shape[0]
        if header.fortran and len(header.shape) > 1:
            whole = self.read(name)
            yield from (
                np.ascontiguousarray(whole[at : at + count]) for at in range(0, total, count)
            )
            return
        with self._opened(name) as stream:
            for at in range(0, total, count):
                shape = (min(count, total - at), *header.shape[1:])
                with _reading(self.path, name):
                    part = _take(stream, header, shape, self._budget)
                yield part

    def _look(self) -> None:
        """Find the arrays and read their headers.

        Raises:
            DataError: something in the file is no array of numbers, or contradicts itself.
            BudgetError: it is too much.

        """
        start = self._file.read(len(MAGIC))
        self._file.seek(0)
        if start == MAGIC:
            with _reading(self.path, ONLY):
                header = self.headers[ONLY] = read_header(self._file, self._text)
                _same(header.length + header.nbytes, self._size)
        elif start.startswith((b"PK\3\4", b"PK\5\6")):
            self._archive = zipfile.ZipFile(self._file)
            self._file.limit = None
            self._members = _members(self._archive, self._size)
            for name, member in self._members.items():
                with _reading(self.path, name), self._archive.open(member) as stream:
                    header = self.headers[name] = read_header(stream, self._text)
                    _same(header.length + header.nbytes, member.file_size)
        else:
            raise DataError(
                "this is no .npz or .npy file"
                + (f": it begins with {start!r}" if start else ": it is empty"),
                expected=_EXPECTED,
                hint=_HINT,
            )
        total = sum(header.nbytes for header in self.headers.values())
        most = MAX_UNPACKED + UNPACKED_PER_BYTE * self._size
        if not self._budget.memory_per_byte:  # the user set the limit
            most = max(most, self._budget.memory)
        if total > most:
            raise BudgetError(
                f"the file takes {readable(total)} unpacked, and itself {readable(self._size)}",
                expected=f"at most {readable(most)}",
                hint="check the file; if it is meant to be so large, allow it with --max-memory",
            )

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        """The array's bytes, behind its header."""
        if self._archive is None:
            self._file.seek(self.headers[name].length)
            yield self._file
            return
        with _reading(self.path, name):
            stream = self._archive.open(self._members[name])
        with stream:
            with _reading(self.path, name):
                read_header(stream, self._text)
            yield stream


class _File(io.FileIO):
    """A file that is not read in pieces above ``limit`` while an archive's directory is sought."""

    limit: int | None = MAX_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any file.

        Raises:
            BadZipFile: the piece is too large.

        """
        if self.limit is not None and size is not None and size > self.limit:
            raise zipfile.BadZipFile(f"a directory of {size:,} bytes")
        return super().read(size)


def _open(path: str | Path) -> _File:
    """The file, which must be a regular one: others may have no end, or never begin."""
    try:
        # Without waiting for the writer of a named pipe.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _unreadable(path, "it is a folder, a device or a pipe, not a file")
    return _File(handle)


def _unreadable(path: str | Path, why: str) -> DataError:
    return DataError(
        f"cannot read the data: {why}", file=str(path), expected=_EXPECTED, hint="check the path"
    )


@contextmanager
def _reading(path: str, name: str | None = None) -> Iterator[None]:
    """Add the names of file and array to every error while it is read."""
    try:
        with boundary(
            "data file",
            file=path,
            parsers=("zipfile",),
            corrupt=(zipfile.BadZipFile, EOFError),
            damaged=DataError,
        ):
            try:
                yield
            except OSError as error:
                raise _unreadable(path, error.strerror or str(error)) from error
            except DataError as error:
                if name is not None and error.tensor is None:
                    error.problem = f"array {_quoted(name)} {error.problem}"
                raise
    except DataError as error:
        if name is not None:
            error.tensor = error.tensor or _quoted(name)
        raise


def _quoted(name: str) -> str:
    """The name of an array as messages show it: short, and nothing but ASCII."""
    return ascii(name if len(name) <= 60 else f"{name[:57]}...")


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The archive's members by the names of the arrays they should be.

    Raises:
        DataError: there are too many, or one cannot be an array that is safe to unpack.

    """
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise DataError(f"the file has {len(infos):,} members", expected=f"at most {MAX_MEMBERS}")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        problem = _problem_of(info)
        if name in members:
            problem = "is there twice"
        if problem is not None:
            raise DataError(
                f"array {_quoted(name)} {problem}",
                tensor=_quoted(name),
                expected=_EXPECTED,
                hint=_HINT,
            )
        members[name] = info
    ordered = sorted(infos, key=lambda info: info.header_offset)
    ends = [m.header_offset + _LOCAL_HEADER + m.compress_size for m in ordered]
    starts = [*(m.header_offset for m in ordered), size][1:]
    if any(end > start for end, start in zip(ends, starts, strict=True)) or (
        ordered and ordered[0].header_offset < 0
    ):
        raise DataError("arrays of the file overlap, or reach beyond its end", expected=_EXPECTED)
    return members


def _problem_of(member: zipfile.ZipInfo) -> str | None:
    """Why a member cannot be unpacked, as the archive's directory has it."""
    if member.is_dir():
        return "is a folder"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if member.compress_type not in _METHODS:
        return f"is packed by method {member.compress_type}, not by deflate (8), or at all"
    packed = member.compress_type == zipfile.ZIP_DEFLATED
    most = member.compress_size * (MAX_RATIO if packed else 1) + 64 * packed
    if member.file_size > most or (not packed and member.file_size != most):
        return f"cannot be {member.file_size:,} bytes, packed in {member.compress_size:,}"
    return None


def _same(declared: int, actual: int) -> None:
    if declared != actual:
        raise DataError(
            f"is {actual:,} bytes long, but its header says {declared:,}",
            expected="an array as numpy.save writes it",
            hint="the file is cut short or damaged: copy or write it again",
        )


def _take(stream: IO[bytes], header: Header, shape: tuple[int, ...], budget: Budget) -> Array:
    """The next elements of an array, in this machine's byte order.

    Raises:
        DataError: there are fewer, or what should be bool is not.
        BudgetError: there is no room for them.

    """
    nbytes = Header(header.dtype, shape, False, 0).nbytes
    memory = budget.zeros(nbytes, "the array")
    at = 0
    while at < nbytes:
        data = stream.read(min(CHUNK, nbytes - at))
        if not data:
            raise EOFError(f"{nbytes - at:,} bytes are missing")
        memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        at += len(data)
    if header.dtype.kind == "b" and nbytes and memory.max() > 1:
        raise DataError("has bytes other than 0 and 1, but is of dtype bool", expected="0 or 1")
    array = memory.view(header.dtype)
    if not array.dtype.isnative:
        array = array.byteswap(inplace=True).view(header.dtype.newbyteorder("="))
    return array.reshape(shape, order="F" if header.fortran else "C")
