"""Calibration data wherever they are: batches of inputs by name, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.data import read_inputs
from tinyrt.errors import DataError

Array = NDArray[Any]
Batch = Mapping[str, Array]
Samples = str | Path | Array | Batch | Iterable[Array | Batch]
"""A file, a folder, an array, arrays by input name, or an iterable of the latter two."""

ONLY_INPUT = "x"
SLICE = 64
"""Samples of a file that are read at once."""


def read_batches(samples: Samples) -> Iterator[dict[str, Array]]:
    """The samples as arrays by input name (``x`` for the only input), samples first.

    Args:
        samples: an .npz file with ``x`` or arrays named as the inputs, or an .npy file, read slice
            by slice; a folder of .npy files, in the order of their names, each a batch; arrays; or
            an iterable that yields arrays or dicts of them. Files and iterables are read as they
            are asked for: memory holds one batch.

    Raises:
        DataError: a file cannot be read, or there is nothing to read.

    """
    empty = True
    for batch in _batches(samples):
        empty = False
        yield dict(batch) if isinstance(batch, Mapping) else {ONLY_INPUT: np.asarray(batch)}
    if empty:
        raise DataError(
            "there are no samples",
            file=str(samples) if isinstance(samples, str | Path) else None,
            expected="an .npz or .npy file, a folder of .npy files, or arrays",
        )


def _batches(samples: Samples) -> Iterable[Array | Batch]:
    if isinstance(samples, str | Path):
        path = Path(samples)
        if path.is_dir():
            files = sorted(path.glob("*.npy"))
            return (batch for file in files for batch in read_inputs(file, SLICE))
        return read_inputs(path, SLICE)
    if isinstance(samples, Mapping | np.ndarray):
        return (samples,)
    return samples


def split_head(
    batches: Iterable[Batch], count: int, rows: Mapping[str, int] | None = None
) -> tuple[dict[str, Array], Iterator[Batch]]:
    """The first ``count`` samples as one batch, and all batches again, these included.

    Args:
        batches: at least one, each of whole samples; read as far as the head needs.
        count: most samples of the head.
        rows: rows of each input that a sample has, where they are not one.

    """
    rest = iter(batches)
    first: list[Batch] = []
    sample_count = 0
    for batch in rest:
        first.append(batch)
        name, array = next(iter(batch.items()))
        sample_count += len(array) // (rows or {}).get(name, 1)
        if sample_count >= count:
            break
    most = {name: count * (rows or {}).get(name, 1) for name in first[0]}
    head = {name: np.concatenate([b[name] for b in first])[: most[name]] for name in first[0]}
    return head, chain(first, rest)
