"""Samples with their classes, and the files of a folder by their classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.data import LABELS, save_npz
from tinyrt.errors import DataError

Array = NDArray[Any]

MOST_FILES = 1_000_000
"""Files of a folder; more are taken for a mistake, such as a whole disk."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Samples and their classes.

    Attributes:
        x: float32, samples first.
        y: int64 (n,), the class of each sample; None where the folder has no classes.
        classes: their names; ``y`` counts along it.
        left_out: files that were not read, for they are of another kind, and windows of no one
            class, each in a few words.

    """

    x: Array
    y: Array | None
    classes: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Class -> its samples."""
        if self.y is None:
            return {}
        found = np.bincount(self.y, minlength=len(self.classes))
        return dict(zip(self.classes, found.tolist(), strict=True))

    def save(self, path: str | Path) -> Path:
        """Write ``x`` and ``y`` as an .npz file, which every command takes.

        Raises:
            OutputError: the file cannot be written.

        """
        labels = {} if self.y is None else {LABELS: self.y}
        return save_npz(path, {"x": self.x, **labels})


@dataclass(frozen=True, slots=True)
class ClassFiles:
    """The files of one kind in a folder.

    Attributes:
        files: in the order of classes, then of names.
        classes: names of the folders that have such files; empty where these lie in the folder.
        labels: the class of each file.
        left_out: files of other kinds.

    """

    files: tuple[Path, ...]
    classes: tuple[str, ...]
    labels: tuple[int, ...]
    left_out: tuple[str, ...]


def files_by_class(folder: str | Path, endings: Collection[str], what: str) -> ClassFiles:
    """The files in a folder, whose folders are the classes; hidden ones do not count.

    Args:
        folder: it has one folder for each class, with files at any depth, or files and no folders.
        endings: of the files' names, in lower case, with the dot.
        what: the files, in the plural, as an error calls them.

    Raises:
        DataError: there is no such folder, no such file, or there are files beside such folders.

    """
    top = Path(folder)
    if not top.is_dir():
        raise DataError("there is no such folder", file=str(top), expected=f"a folder of {what}")
    visible = [p for p in _walk(top) if not any(n.startswith(".") for n in p.parts)]
    fitting = [path for path in visible if path.suffix.lower() in endings]
    left_out = tuple(str(path) for path in visible if path not in set(fitting))
    if not fitting:
        raise DataError(
            f"the folder has no {what}",
            file=str(top),
            expected=f"files that end in {', '.join(sorted(endings))}",
            hint="one folder for each class, called as the class",
        )
    loose = [path for path in fitting if len(path.parts) == 1]
    classes = tuple(sorted({path.parts[0] for path in fitting if len(path.parts) > 1}))
    if loose and classes:
        raise DataError(
            f"{len(loose)} {what} lie beside the folders of classes, '{loose[0]}' first",
            file=str(top),
            expected=f"all {what} in folders, whose names are the classes, or none",
            hint="move them into the folder of their class",
        )
    labels = tuple(classes.index(path.parts[0]) for path in fitting) if classes else ()
    return ClassFiles(tuple(top / path for path in fitting), classes, labels, left_out)


def _walk(top: Path) -> list[Path]:
    """All files below a folder, relative to it, in the order of their names."""
    found: list[Path] = []
    for path in top.rglob("*"):
        if path.is_file():
            found.append(path.relative_to(top))
        if len(found) > MOST_FILES:
            raise DataError(
                f"the folder has more than {MOST_FILES:,} files",
                file=str(top),
                hint="name the folder of the data themselves",
            )
    return sorted(found)


def stacked(files: Sequence[Path], shape: tuple[int, ...], read: Callable[[Path], Array]) -> Array:
    """What is read of each file, as one array of float32.

    Args:
        files: what to read.
        shape: of each sample.
        read: a file as float32 of that shape.

    Raises:
        BudgetError: there is no room for all.
        DataError: as ``read``.

    """
    for file in files:
        current().allow_for(file.stat().st_size)
    nbytes = 4 * len(files) * int(np.prod(shape))
    current().reserve(nbytes, f"{len(files):,} samples of shape {list(shape)}")
    x = np.empty((len(files), *shape), np.float32)
    for i, file in enumerate(files):
        x[i] = read(file)
    return x
