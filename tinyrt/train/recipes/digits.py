"""Handwritten digits: 8 x 8 pixels, ten classes; the data come with scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.errors import ToolError
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.data import Labels, shift_images, stratified_split
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
)
from tinyrt.train.recipes.recipe import Dataset, Recipe, Training

TEST_FRACTION = 0.25
SMOOTHING = 0.1
SHIFTED = 0.5
"""Share of the images that augmentation moves; the others stay centred, as test images are."""


def load_digits() -> tuple[Array, Labels]:
    """1,797 images of handwritten digits, which come with scikit-learn.

    Returns:
        Images (n, 8, 8, 1), float32 from 0 to 1, and labels (n,).

    Raises:
        ToolError: scikit-learn is not installed.

    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ToolError(
            "the digits come with scikit-learn, which is not installed",
            hint="pip install 'tinyrt[demo]'",
        ) from error
    digits = datasets.load_digits()
    images = digits.images.astype(np.float32) / 16
    return images[..., np.newaxis], digits.target.astype(np.int64)


def split_digits(seed: int) -> Dataset:
    """The digits, a quarter of each class kept for the test; the seed draws which."""
    x, y = load_digits()
    train, test = stratified_split(y, TEST_FRACTION, np.random.default_rng(seed))
    return Dataset(x[train], y[train], x[test], y[test])


def digits_cnn(rng: np.random.Generator, width: int = 1) -> Sequential:
    """The untrained network: a convolution and two depthwise-separable ones.

    Args:
        rng: draws the weights.
        width: factor on all channels.

    """
    c1, c2, c3 = 16 * width, 32 * width, 48 * width
    return Sequential(
        stem=Conv2d(1, c1, 3, rng=rng, bias=False),
        stem_bn=BatchNorm(c1),
        stem_relu=ReLU(),
        depthwise1=DepthwiseConv2d(c1, 3, rng=rng, bias=False),
        depthwise1_bn=BatchNorm(c1),
        depthwise1_relu=ReLU(),
        pointwise1=Conv2d(c1, c2, 1, rng=rng, bias=False),
        pointwise1_bn=BatchNorm(c2),
        pointwise1_relu=ReLU(),
        pool1=MaxPool2d(2),
        depthwise2=DepthwiseConv2d(c2, 3, rng=rng, bias=False),
        depthwise2_bn=BatchNorm(c2),
        depthwise2_relu=ReLU(),
        pointwise2=Conv2d(c2, c3, 1, rng=rng, bias=False),
        pointwise2_bn=BatchNorm(c3),
        pointwise2_relu=ReLU(),
        pool2=MaxPool2d(2),
        flatten=Flatten(),
        classifier=Linear(2 * 2 * c3, 10, rng=rng),
    )


def smoothed(logits: Tensor, labels: Array) -> Tensor:
    """Cross entropy with smoothed labels."""
    return cross_entropy(logits, labels, smoothing=SMOOTHING)


def shifted(images: Array, rng: np.random.Generator) -> Array:
    """Move a share of the images by up to one pixel."""
    return shift_images(images, rng, share=SHIFTED)


DIGITS = Recipe(
    name="digits",
    summary="handwritten digits, 8 x 8 pixels (scikit-learn); depthwise-separable CNN",
    load=split_digits,
    network=lambda rng: digits_cnn(rng, width=3),
    training=Training(epochs=30, peak_lr=1e-2, warmup=2, batch=64),
    int8=Training(epochs=6, peak_lr=1e-4),
    int4=Training(epochs=12, peak_lr=1e-3),
    healing=Training(epochs=20, peak_lr=1e-2),
    macs=0.2,
    loss=smoothed,
    augment=shifted,
)
"""Wide enough to have something to prune."""

SMALL_DIGITS = replace(
    DIGITS,
    network=digits_cnn,
    training=Training(epochs=40, peak_lr=1e-2, warmup=2),
    macs=0.5,
)
"""A third as wide, for the smallest microcontrollers: what ``tinyrt demo`` trains."""
