"""Folders of data: what their files may cost, decoded and all together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.ledger.case import Run, asks
from tests.ledger.watch import Entry
from tinyrt.datasets import load_images, load_series

SIDE = 64


@asks("datasets/dataset.py", "datasets/images.py", measured=False)
def images(folder: Path) -> tuple[Run, list[Entry]]:
    """One of colours; as samples, its half in both directions."""
    path = folder / "a.png"
    Image.fromarray(np.zeros((SIDE, 2 * SIDE, 3), np.uint8)).save(path)
    half = SIDE // 2
    return lambda: load_images(folder, size=(half, half)), [
        ("allow_for", path.stat().st_size),
        ("reserve", 4 * half * half * 3, f"1 samples of shape [{half}, {half}, 3]"),
        ("reserve", 12 * SIDE * 2 * SIDE, "the image 'a.png'"),
    ]


@asks("datasets/series.py", measured=False)
def tables(folder: Path) -> tuple[Run, list[Entry]]:
    """Ten rows of two columns, in windows of four."""
    text = "x,y\n" + "1,2\n" * 10
    (folder / "a.csv").write_text(text)
    return lambda: load_series(folder, window=4), [
        ("reserve", 12 * len(text), "the table 'a.csv'"),
        ("reserve", 4 * 4 * 2 * 2, "2 windows"),
    ]
