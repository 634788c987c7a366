"""Handwritten digits: a CNN for 8 x 8 pixels that fits the smallest microcontrollers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ToolError
from tinyrt.ir import Graph
from tinyrt.train.data import Labels, shift_images, stratified_split
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.function import Array
from tinyrt.train.history import Epoch
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
    Softmax,
)
from tinyrt.train.optim import Adam, cosine_lr
from tinyrt.train.tensor import Tensor, no_grad
from tinyrt.train.trace import trace

TEST_FRACTION = 0.25
BATCH = 32
PEAK_LR = 1e-2
WARMUP_EPOCHS = 2
SMOOTHING = 0.1
SHIFTED = 0.5
"""Share of the images that augmentation moves; the others stay centred, as test images are."""


@dataclass(frozen=True, slots=True, eq=False)
class DigitsResult:
    """A trained model and its data.

    Attributes:
        module: from (n, 8, 8, 1) to logits (n, 10).
        x_train: (n, 8, 8, 1), float32, 0 to 1.
        y_train: (n,), 0 to 9.
        x_test: as ``x_train``; never trained on.
        y_test: as ``y_train``.
        history: one entry per epoch.

    """

    module: Sequential
    x_train: Array
    y_train: Labels
    x_test: Array
    y_test: Labels
    history: tuple[Epoch, ...]

    @property
    def test_accuracy(self) -> float:
        """After the last epoch, as a fraction."""
        return self.history[-1].score

    def graph(self) -> Graph:
        """The float graph for one image, with a softmax at its end."""
        return trace(Sequential(**self.module.layers, softmax=Softmax()), (8, 8, 1), name="digits")


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


def digits_cnn(rng: np.random.Generator) -> Sequential:
    """The untrained network: a convolution and two depthwise-separable ones."""
    return Sequential(
        stem=Conv2d(1, 16, 3, rng=rng, bias=False),
        stem_bn=BatchNorm(16),
        stem_relu=ReLU(),
        depthwise1=DepthwiseConv2d(16, 3, rng=rng, bias=False),
        depthwise1_bn=BatchNorm(16),
        depthwise1_relu=ReLU(),
        pointwise1=Conv2d(16, 32, 1, rng=rng, bias=False),
        pointwise1_bn=BatchNorm(32),
        pointwise1_relu=ReLU(),
        pool1=MaxPool2d(2),
        depthwise2=DepthwiseConv2d(32, 3, rng=rng, bias=False),
        depthwise2_bn=BatchNorm(32),
        depthwise2_relu=ReLU(),
        pointwise2=Conv2d(32, 48, 1, rng=rng, bias=False),
        pointwise2_bn=BatchNorm(48),
        pointwise2_relu=ReLU(),
        pool2=MaxPool2d(2),
        flatten=Flatten(),
        classifier=Linear(2 * 2 * 48, 10, rng=rng),
    )


def accuracy(module: Module, x: Array, y: Labels) -> float:
    """Share of the samples whose greatest logit is that of their label."""
    with module.evaluating(), no_grad():
        return float(np.mean(module(Tensor(x)).data.argmax(axis=-1) == y))


def train_digits(
    *, seed: int = 0, epochs: int = 40, on_epoch: Callable[[Epoch], None] | None = None
) -> DigitsResult:
    """Train the digits CNN; the same seed gives the same bits on the same kind of processor.

    Args:
        seed: of the split, the initial weights, the order and the augmentation.
        epochs: passes over the training data.
        on_epoch: called after each, for progress.

    Raises:
        ToolError: scikit-learn is not installed.

    """
    rng = np.random.default_rng(seed)
    x, y = load_digits()
    train, test = stratified_split(y, TEST_FRACTION, rng)
    module = digits_cnn(rng)
    with one_thread():
        history = fit(
            module,
            Adam(module.parameters(), PEAK_LR),
            x[train],
            y[train],
            FitConfig(epochs, BATCH),
            rng=rng,
            loss=digits_loss,
            lr=lambda step, steps: cosine_lr(step, steps, PEAK_LR, WARMUP_EPOCHS * steps // epochs),
            augment=augment,
            validate=lambda m: accuracy(m, x[test], y[test]),
            on_epoch=on_epoch,
        )
    return DigitsResult(module, x[train], y[train], x[test], y[test], history)


def digits_loss(logits: Tensor, labels: Array) -> Tensor:
    """Cross entropy with smoothed labels."""
    return cross_entropy(logits, labels, smoothing=SMOOTHING)


def augment(images: Array, rng: np.random.Generator) -> Array:
    """Move a share of the images by up to one pixel."""
    return shift_images(images, rng, share=SHIFTED)


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products on one thread.

    Matrices as small as these gain nothing from more, and the number of threads decides the order
    in which sums are taken, hence the last bits.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
