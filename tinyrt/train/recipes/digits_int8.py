"""The digits CNN, trained further on what int8 will make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tinyrt.convert.passes import optimise
from tinyrt.ir import Graph
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.history import Epoch
from tinyrt.train.optim import Adam, cosine_lr
from tinyrt.train.qat import QatConfig, QatModel
from tinyrt.train.recipes.digits import (
    BATCH,
    DigitsResult,
    accuracy,
    augment,
    digits_loss,
    one_thread,
)

CALIBRATION_IMAGES = 100
PEAK_LR = 1e-4
FROZEN_EPOCHS = 2
"""Epochs at the end in which ranges and batch norms hold still."""


@dataclass(frozen=True, slots=True, eq=False)
class Int8Result:
    """A model trained for int8.

    Attributes:
        model: gives the logits of the int8 model, in training and out of it.
        graph: what is deployed: int8, with the softmax at its end.
        history: one entry per epoch; the score is the accuracy on the test part.

    """

    model: QatModel
    graph: Graph
    history: tuple[Epoch, ...]


def train_digits_int8(
    digits: DigitsResult,
    *,
    seed: int = 0,
    epochs: int = 6,
    config: QatConfig | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Int8Result:
    """Go on training the float model of the digits as int8.

    Args:
        digits: the trained float model and its data.
        seed: of the order and the augmentation.
        epochs: passes over the training data.
        config: of quantisation-aware training.
        on_epoch: called after each, for progress.

    """
    source = digits.graph()
    calibration = digits.x_train[:CALIBRATION_IMAGES]
    model = QatModel(optimise(source), calibration, source=source, config=config)

    def before_epoch(number: int) -> None:
        if number > epochs - FROZEN_EPOCHS:
            model.freeze()

    with one_thread():
        history = fit(
            model,
            Adam(model.parameters(), PEAK_LR),
            digits.x_train,
            digits.y_train,
            FitConfig(epochs, BATCH),
            rng=np.random.default_rng(seed),
            loss=digits_loss,
            lr=lambda step, steps: cosine_lr(step, steps, PEAK_LR),
            augment=augment,
            validate=lambda m: accuracy(m, digits.x_test, digits.y_test),
            before_epoch=before_epoch,
            on_epoch=on_epoch,
        )
    return Int8Result(model, model.deployed(), history)
