"""What a model is trained on, and which samples are held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.data import part_of, stratified_split
from tinyrt.train.pipeline.lessons import Kind, Lesson


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What a model is trained on.

    Attributes:
        inputs: input name -> (n, ...), as the optimised model takes them.
        labels: output name -> (n, ...); outputs without labels learn from a teacher.

    """

    inputs: dict[str, Array]
    labels: dict[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    def rows(self, rows: Array) -> dict[str, Array]:
        """The inputs of some samples."""
        return {name: array[rows] for name, array in self.inputs.items()}


def digest(arrays: Iterable[Array]) -> str:
    """A few hexadecimal digits that tell these arrays from others."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(str((array.shape, array.dtype.str)).encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:12]


def split(
    lessons: Iterable[Lesson], n: int, share: float, seed: int, fold: int = 0
) -> tuple[Array, Array]:
    """Which samples are trained on, in random order, and which are held out.

    Classes are held out in the same proportion: those of the first output that has one for each
    sample. Folds of the same seed hold out different samples.

    Raises:
        DataError: so few are left on one side.

    """
    rng = np.random.default_rng([seed, 0])
    labels = [lesson.labels for lesson in lessons if lesson.kind is Kind.CLASSES]
    classes = next((a.reshape(n) for a in labels if a is not None and a.size == n), None)
    if classes is None:
        order = rng.permutation(n)
        held = np.sort(order[part_of(n, share, fold)])
        training = np.setdiff1d(order, held)
    else:
        training, held = stratified_split(classes, share, rng, fold)
    if min(len(training), len(held)) == 0:
        raise DataError(
            f"of {n} samples, {len(training)} are left to train on and {len(held)} to hold out",
            expected="one or more of each",
            hint="more samples, or another share to hold out: --validation 0.25",
        )
    return rng.permutation(training), held
