"""A model's answers, printed where no file takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinyrt.cli.tables import named

MAX_SAMPLES = 16
"""Samples that are printed; a file takes all of them."""
MAX_ELEMENTS = 12
"""Elements of a sample that are printed."""


def answers(name: str, array: NDArray[Any]) -> RenderableType:
    """One output: a line for each sample, with the greatest element's index where that is a class.

    Args:
        name: the output's name.
        array: (samples, ...), raw or real values.

    """
    rows = array.reshape(len(array), -1)
    classes = array.ndim == 2 and rows.shape[1] > 1
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("sample", *(["greatest"] if classes else []), "values"):
        table.add_column(column, justify="left" if column == "values" else "right")
    for i, row in enumerate(rows[:MAX_SAMPLES]):
        values = " ".join(map(_element, row[:MAX_ELEMENTS]))
        rest = f" and {row.size - MAX_ELEMENTS:,} more" if row.size > MAX_ELEMENTS else ""
        table.add_row(str(i), *([str(row.argmax())] if classes else []), values + rest)
    lines: list[RenderableType] = [Text(f"  {named(name)}"), table]
    if len(rows) > MAX_SAMPLES:
        left = len(rows) - MAX_SAMPLES
        lines.append(Text(f"  and {left:,} more samples; -o FILE.npz writes all of them"))
    return Group(*lines)


def _element(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)
