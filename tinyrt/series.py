"""Recordings of several numbers a sample: int16 from .npy files, and from .csv files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.data import load_npz
from tinyrt.errors import DataError, error_context

S16 = np.iinfo(np.int16)
TEXT_BYTES = 60
"""Memory for a byte of text, while its numbers are read: a number of one digit is an object."""


def read_series(path: str | Path, axes: int) -> NDArray[np.int16]:
    """Read int16 (n, axes) of an .npy file, or of a .csv file with a line for each sample.

    A first line of a .csv file that holds no number is a heading.

    Raises:
        DataError: the file cannot be read, is of another kind, or holds no such numbers.
        BudgetError: it is too large.

    """
    path = Path(path)
    with error_context(file=str(path)):
        match path.suffix.lower():
            case ".npy":
                series = load_npz(path)["x"]
            case ".csv":
                series = _of_text(path, axes)
            case _:
                raise DataError(
                    f"a recording of {axes} axes in a file called *{path.suffix}",
                    expected="an .npy or a .csv file",
                    hint="numpy.save(FILE, samples), int16 (n, axes)",
                )
        if series.dtype != np.int16 or series.ndim != 2 or series.shape[1] != axes:
            raise DataError(
                f"the recording is {series.dtype} of the shape {list(series.shape)}",
                expected=f"int16 (n, {axes}): a number of each axis, as the sensor gives them",
                hint="numpy.save(FILE, samples.astype(numpy.int16))",
            )
        return series


def _of_text(path: Path, axes: int) -> NDArray[np.int16]:
    try:
        nbytes = path.stat().st_size
        current().allow_for(nbytes)
        current().reserve(TEXT_BYTES * nbytes, "the recording")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"cannot read the recording: {getattr(error, 'strerror', None) or 'no text in UTF-8'}",
            expected="lines of whole numbers with commas between them",
            hint="check the path",
        ) from error
    if lines and not any(character.isdigit() for character in lines[0]):
        lines[0] = ""
    rows = [_row(line, number, axes) for number, line in enumerate(lines, 1) if line.strip()]
    return np.array(rows, np.int16).reshape(-1, axes)


def _row(line: str, number: int, axes: int) -> list[int]:
    cells = line.split(",")
    try:
        row = [int(cell) for cell in cells]
    except ValueError:
        row = []
    if len(row) != axes or min(row) < S16.min or max(row) > S16.max:
        raise DataError(
            f"line {number} is {line[:60]!r}",
            expected=f"{axes} whole numbers from {S16.min} to {S16.max}, with commas between them",
            hint="write the integers that the sensor gives, a line for each sample",
        )
    return row
