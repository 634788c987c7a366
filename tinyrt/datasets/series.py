"""Tables of measurements (CSV) as windows along time."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.data import Array
from tinyrt.datasets.dataset import Dataset, files_by_class
from tinyrt.errors import DataError

CELLS = 12
"""Bytes of memory for each byte of a table, while its cells are text."""


def load_series(
    folder: str | Path,
    *,
    window: int,
    step: int | None = None,
    columns: Sequence[str] | None = None,
    label: str | None = None,
) -> Dataset:
    """Windows of tables, whose folders are their classes, or one of whose columns is.

    Args:
        folder: of CSV files with a row of names first: one folder for each class, or none.
        window: rows of a sample.
        step: rows from one window to the next; None for a window, so that none overlap.
        columns: those that are taken, in this order; None for all of the first file but the label.
        label: the column of the class; windows in which it changes are left out.

    Returns:
        ``x`` of shape (n, window, columns).

    Raises:
        DataError: there are no such files, a column is missing, a cell is no finite number, no
            table is as long as a window, or there are classes by folders and by a column.
        BudgetError: there is no room for all.

    """
    step = window if step is None else step
    if window < 1 or step < 1:
        raise DataError(
            f"windows of {window} rows, {step} rows apart", expected="one row or more, of both"
        )
    found = files_by_class(folder, (".csv",), "tables")
    if found.classes and label is not None:
        raise DataError(
            f"classes by the folders' names and by the column '{label}'",
            file=str(folder),
            expected="one of both",
            hint="leave out the column, or put all tables into one folder",
        )
    samples: list[Array] = []
    names: list[str] = []
    left_out = list(found.left_out)
    for i, file in enumerate(found.files):
        table, labels, columns = read_table(file, columns, label)
        starts = range(0, len(table) - window + 1, step)
        if not starts:
            left_out.append(f"{file}: {len(table)} rows")
        for start in starts:
            inside = set(labels[start : start + window])
            if len(inside) > 1:
                rows = f"rows {start + 1} to {start + window}"
                left_out.append(f"{file}: {rows}, of {len(inside)} classes")
                continue
            samples.append(table[start : start + window])
            names += [found.classes[found.labels[i]]] if found.classes else list(inside)
    if not samples:
        raise DataError(
            f"no table has a window of {window} rows",
            file=str(folder),
            expected="longer tables, or a shorter window",
        )
    current().reserve(4 * window * samples[0].shape[1] * len(samples), f"{len(samples):,} windows")
    classes = tuple(sorted(set(names)))
    y = np.searchsorted(classes, names).astype(np.int64) if names else None
    return Dataset(np.stack(samples), y, classes, tuple(left_out))


def read_table(
    file: Path, columns: Sequence[str] | None, label: str | None
) -> tuple[NDArray[np.float32], list[str], tuple[str, ...]]:
    """A table's columns as (rows, columns), the class of each row, and the columns' names.

    Raises:
        DataError: it cannot be read, a column is missing, or a cell is no finite number.

    """
    current().reserve(CELLS * file.stat().st_size, f"the table '{file.name}'")
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            rows = list(csv.reader(opened, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"the table cannot be read: {error}",
            file=str(file),
            expected="comma-separated values in UTF-8, with a row of names first",
        ) from error
    header = [name.strip() for name in rows[0]] if rows else []
    chosen = tuple(columns) if columns is not None else tuple(n for n in header if n != label)
    places = [_place(name, header, file) for name in (*chosen, *([label] if label else []))]
    body = [(i, row) for i, row in enumerate(rows[1:], start=2) if row]
    table = np.empty((len(body), len(chosen)), np.float32)
    labels: list[str] = []
    for row_index, (line, row) in enumerate(body):
        if len(row) != len(header):
            raise DataError(
                f"line {line} has {len(row)} cells",
                file=str(file),
                expected=f"{len(header)}, one for each name of the first line",
            )
        for column, place in enumerate(places[: len(chosen)]):
            table[row_index, column] = _number(row[place], header[place], line, file)
        labels += [row[places[-1]].strip()] if label else []
    return table, labels, chosen


def _place(name: str, header: Sequence[str], file: Path) -> int:
    if header.count(name) == 1:
        return header.index(name)
    raise DataError(
        f"{header.count(name)} columns are called '{name}'",
        file=str(file),
        expected=f"one; the first line has {', '.join(header) or 'nothing'}",
    )


def _number(cell: str, name: str, line: int, file: Path) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not abs(value) <= float(np.finfo(np.float32).max):
        raise DataError(
            f"'{cell}' in line {line}, column '{name}'",
            file=str(file),
            expected="a finite number",
            hint="leave the column out, or name the ones to take",
        )
    return value
