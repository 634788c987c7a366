"""Gestures with a game controller, ten of them, from its vertical acceleration alone.

The data are PickupGestureWiimoteZ of aeon: 50 series of up to 361 samples to train on and 50 to
test, by ten people: five of each gesture to learn from.
"""

from __future__ import annotations

import numpy as np

from tinyrt.train.core.function import Array
from tinyrt.train.nn import (
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    Sequential,
)
from tinyrt.train.recipes.recipe import Dataset, Recipe, Training
from tinyrt.train.recipes.series import load_series, normed, varied

STEPS, GESTURES = 361, 10


def load_gesture(seed: int) -> Dataset:
    """Series (n, 1, 361, 1) with aeon's own split."""
    del seed
    return load_series("PickupGestureWiimoteZ", STEPS)


def gesture_cnn(rng: np.random.Generator) -> Sequential:
    """A convolution along time and two depthwise-separable ones, each of stride 2."""
    return Sequential(
        **normed("stem", Conv2d(1, 16, (1, 9), stride=(1, 4), rng=rng, bias=False), 16),
        **normed("depthwise1", DepthwiseConv2d(16, (1, 7), stride=(1, 2), rng=rng, bias=False), 16),
        **normed("pointwise1", Conv2d(16, 32, 1, rng=rng, bias=False), 32),
        **normed("depthwise2", DepthwiseConv2d(32, (1, 7), stride=(1, 2), rng=rng, bias=False), 32),
        **normed("pointwise2", Conv2d(32, 48, 1, rng=rng, bias=False), 48),
        pool=GlobalAvgPool2d(),
        classifier=Linear(48, GESTURES, rng=rng),
    )


def vary_gesture(x: Array, rng: np.random.Generator) -> Array:
    """Stronger or weaker, a little noise, up to 20 samples earlier or later."""
    return varied(x, rng, scale=0.1, noise=0.05, steps=20)


GESTURE = Recipe(
    name="gesture",
    summary="ten gestures from one axis of acceleration (aeon, PickupGestureWiimoteZ); 1-D CNN",
    load=load_gesture,
    network=gesture_cnn,
    training=Training(epochs=80, peak_lr=1e-2, warmup=4, batch=8),
    int8=Training(epochs=10, peak_lr=1e-3, batch=8),
    int4=Training(epochs=20, peak_lr=1e-3, batch=8),
    healing=Training(epochs=30, peak_lr=3e-3, batch=8),
    augment=vary_gesture,
)
