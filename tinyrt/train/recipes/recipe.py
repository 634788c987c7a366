"""What a recipe consists of: data, a network, and how long to train it at which rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tinyrt.errors import DataError
from tinyrt.train.core.function import Array
from tinyrt.train.data import stratified_split
from tinyrt.train.fit import Augment, Loss
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import Sequential, Softmax
from tinyrt.train.schedules import cosine_lr

Answer = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Samples to train on, and others that are never trained on.

    Attributes:
        x_train: (n, ...), float32.
        y_train: what the loss compares with, (n, ...).
        x_test: as ``x_train``.
        y_test: what the score compares with; labels, (n,).

    """

    x_train: Array
    y_train: Array
    x_test: Array
    y_test: Array


@dataclass(frozen=True, slots=True)
class Training:
    """How long, and how fast.

    Attributes:
        epochs: passes over the training data.
        peak_lr: greatest learning rate; from there half a cosine leads down to 0.
        warmup: epochs until the peak.
        batch: samples per step.

    """

    epochs: int
    peak_lr: float
    warmup: int = 0
    batch: int = 32

    def lr(self, step: int, steps: int) -> float:
        """Learning rate of step ``step`` of ``steps``."""
        return cosine_lr(step, steps, self.peak_lr, self.warmup * steps // self.epochs)


def top1(answer: Answer, data: Dataset) -> dict[str, float]:
    """Share of the test samples whose greatest output is that of their label."""
    outputs = answer(data.x_test).reshape(len(data.x_test), -1)
    return {"top1": float(np.mean(outputs.argmax(axis=1) == data.y_test))}


@dataclass(frozen=True, slots=True)
class Recipe:
    """One problem from data to microcontroller.

    Attributes:
        name: as the command line takes it.
        summary: one line on data and network.
        load: the data; the argument seeds the split where the data come without one.
        network: the untrained network.
        training: of the float model.
        int8: of the int8 model, which starts from the float one.
        int4: of the model with int4 weights, which starts from there, too.
        healing: of what pruning has left, in float, before it is trained as int8.
        macs: share of the multiply-accumulates that pruning leaves.
        loss: of outputs and labels.
        score: figures on the test part, ``top1`` among them, each greater for better, from what
            computes outputs.
        augment: changes samples before each use.
        final: what the deployed model has behind the network.
        distils: whether the float model teaches those that come of it; needs classes.

    """

    name: str
    summary: str
    load: Callable[[int], Dataset]
    network: Callable[[np.random.Generator], Sequential]
    training: Training
    int8: Training
    int4: Training
    healing: Training
    macs: float = 0.5
    loss: Loss = cross_entropy
    score: Callable[[Answer, Dataset], dict[str, float]] = top1
    augment: Augment | None = None
    final: Sequential = field(default_factory=lambda: Sequential(softmax=Softmax()))
    distils: bool = True


def held_out(data: Dataset, fraction: float, seed: int) -> Dataset:
    """A part of the training samples in place of the test samples.

    What is chosen by hand (rates, epochs, sizes) is chosen on these, so that the test part stays
    what it is for.

    Args:
        data: classes as labels.
        fraction: share of each class that is held out.
        seed: draws which.

    Raises:
        DataError: the training samples have no classes.

    """
    if data.y_train.dtype.kind not in "iu" or data.y_train.ndim != 1:
        raise DataError(
            "the training samples have no classes to hold out a share of each",
            hint="judge this recipe by its training loss",
        )
    training, tested = stratified_split(data.y_train, fraction, np.random.default_rng(seed))
    x, y = data.x_train, data.y_train
    return Dataset(x[training], y[training], x[tested], y[tested])
