"""Spoken vowels: which of nine men said them, from 12 cepstral coefficients over time.

The data are JapaneseVowels of aeon: 270 utterances of 7 to 29 frames to train on, 370 to test.
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

FRAMES, COEFFICIENTS, SPEAKERS = 29, 12, 9


def load_vowels(seed: int) -> Dataset:
    """Utterances (n, 1, 29, 12) with aeon's own split."""
    del seed
    return load_series("JapaneseVowels", FRAMES)


def vowels_cnn(rng: np.random.Generator) -> Sequential:
    """A convolution along time and two depthwise-separable ones; then the mean."""
    return Sequential(
        **normed("stem", Conv2d(COEFFICIENTS, 32, (1, 5), rng=rng, bias=False), 32),
        **normed("depthwise1", DepthwiseConv2d(32, (1, 5), stride=(1, 2), rng=rng, bias=False), 32),
        **normed("pointwise1", Conv2d(32, 64, 1, rng=rng, bias=False), 64),
        pool=GlobalAvgPool2d(),
        classifier=Linear(64, SPEAKERS, rng=rng),
    )


def vary_vowels(x: Array, rng: np.random.Generator) -> Array:
    """A little noise, louder or softer, up to two frames earlier or later."""
    return varied(x, rng, scale=0.05, noise=0.2, steps=2)


VOWELS = Recipe(
    name="vowels",
    summary="which of nine speakers said a vowel (aeon, JapaneseVowels); 1-D CNN",
    load=load_vowels,
    network=vowels_cnn,
    training=Training(epochs=40, peak_lr=1e-2, warmup=2),
    int8=Training(epochs=6, peak_lr=1e-3),
    int4=Training(epochs=12, peak_lr=1e-3),
    healing=Training(epochs=20, peak_lr=3e-3),
    augment=vary_vowels,
)
