"""Wearable motion: standing, walking, running, badminton, from six axes at 10 Hz for 10 seconds.

The data are BasicMotions of aeon: acceleration and rotation from a smart watch, 40 series to train
on and 40 to test.
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

STEPS, AXES, CLASSES = 100, 6, 4


def load_motion(seed: int) -> Dataset:
    """Series (n, 1, 100, 6) with aeon's own split."""
    del seed
    return load_series("BasicMotions", STEPS)


def motion_cnn(rng: np.random.Generator) -> Sequential:
    """A convolution along time and a depthwise-separable one, each of stride 2; then the mean."""
    return Sequential(
        **normed("stem", Conv2d(AXES, 16, (1, 7), stride=(1, 2), rng=rng, bias=False), 16),
        **normed("depthwise", DepthwiseConv2d(16, (1, 5), stride=(1, 2), rng=rng, bias=False), 16),
        **normed("pointwise", Conv2d(16, 32, 1, rng=rng, bias=False), 32),
        pool=GlobalAvgPool2d(),
        classifier=Linear(32, CLASSES, rng=rng),
    )


def vary_motion(x: Array, rng: np.random.Generator) -> Array:
    """Stronger or weaker, a little noise, up to a second earlier or later."""
    return varied(x, rng, scale=0.1, noise=0.05, steps=10)


MOTION = Recipe(
    name="motion",
    summary="standing, walking, running or badminton from 6 axes (aeon, BasicMotions); 1-D CNN",
    load=load_motion,
    network=motion_cnn,
    training=Training(epochs=40, peak_lr=1e-2, warmup=2, batch=8),
    int8=Training(epochs=6, peak_lr=1e-3, batch=8),
    int4=Training(epochs=12, peak_lr=1e-3, batch=8),
    healing=Training(epochs=20, peak_lr=3e-3, batch=8),
    augment=vary_motion,
)
