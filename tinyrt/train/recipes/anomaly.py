"""Anomalies in blood pressure: what an autoencoder cannot reproduce is out of the ordinary.

The data are InternalBleeding16 of the UCR anomaly archive, which comes with aeon: an animal's
arterial pressure, 1,200 samples without anomaly and then 6,300 with one of 12 samples.
"""

from __future__ import annotations

import numpy as np

from tinyrt.train.core.function import Array
from tinyrt.train.losses import mse_loss
from tinyrt.train.nn import BatchNorm, Linear, ReLU, Sequential
from tinyrt.train.recipes.recipe import Answer, Dataset, Recipe, Training
from tinyrt.train.recipes.series import aeon_file

WINDOW = 64
STRIDE = 2
FALSE_ALARMS = 0.01
"""Share of the training windows that the threshold lets count as anomalies."""


def load_anomaly(seed: int) -> Dataset:
    """Windows (n, 64), each also its own target; test labels are 1 where the anomaly is inside.

    Values are shifted and scaled by the training part's mean and deviation.
    """
    del seed
    parts = []
    for part in ("TRAIN", "TEST"):
        path = aeon_file("KDD-TSAD_135", f"135_UCR_Anomaly_InternalBleeding16_{part}.csv")
        parts.append(np.loadtxt(path, delimiter=",", skiprows=1))
    train, test = parts
    test = test[len(train) :]  # the file repeats the training part
    mean, deviation = train[:, 1].mean(), train[:, 1].std()
    x_train, x_test = (windows((p[:, 1] - mean) / deviation) for p in (train, test))
    labels = windows(test[:, 2]).max(axis=1).astype(np.int64)
    return Dataset(x_train, x_train, x_test, labels)


def windows(values: Array) -> Array:
    """Overlapping windows of a series, (n, 64), float32."""
    parts = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[::STRIDE]
    return np.ascontiguousarray(parts, np.float32)


def autoencoder(rng: np.random.Generator) -> Sequential:
    """64 samples through 8 numbers and back."""
    return Sequential(
        encoder1=Linear(WINDOW, 32, rng=rng, bias=False),
        encoder1_bn=BatchNorm(32),
        encoder1_relu=ReLU(),
        encoder2=Linear(32, 8, rng=rng, bias=False),
        encoder2_bn=BatchNorm(8),
        encoder2_relu=ReLU(),
        decoder1=Linear(8, 32, rng=rng, bias=False),
        decoder1_bn=BatchNorm(32),
        decoder1_relu=ReLU(),
        decoder2=Linear(32, WINDOW, rng=rng),
    )


def detection(answer: Answer, data: Dataset) -> dict[str, float]:
    """How well the error of reproduction tells windows with the anomaly from others.

    ``auc`` is the share of pairs of a window with and one without in which the former's error is
    greater; ``top1`` the share of windows told rightly by a threshold, which all but 1 % of the
    training windows stay below.
    """
    normal, errors = (np.square(answer(x) - x).mean(axis=1) for x in (data.x_train, data.x_test))
    threshold = np.quantile(normal, 1 - FALSE_ALARMS)
    with_it, without = errors[data.y_test == 1], errors[data.y_test == 0]
    ranks = np.searchsorted(np.sort(without), with_it) / len(without)
    return {"top1": float(np.mean((errors > threshold) == data.y_test)), "auc": float(ranks.mean())}


ANOMALY = Recipe(
    name="anomaly",
    summary="anomalies in blood pressure (aeon, UCR InternalBleeding16); dense autoencoder",
    load=load_anomaly,
    network=autoencoder,
    training=Training(epochs=60, peak_lr=1e-2, warmup=2),
    int8=Training(epochs=10, peak_lr=1e-3),
    int4=Training(epochs=20, peak_lr=1e-3),
    healing=Training(epochs=30, peak_lr=3e-3),
    macs=0.6,
    loss=mse_loss,
    score=detection,
    final=Sequential(),
    distils=False,
)
