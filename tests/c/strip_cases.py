"""Layers in sizes around a strip, for cores with vectors of RISC-V."""

from __future__ import annotations

import numpy as np

from tests.c.vector_cases import weighted
from tests.ops.build import Built, Case, build_s8
from tests.ops.cases import rng_of
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs

ACTIVATIONS = ("NONE", "RELU", "RELU6")
CHANNELS = (1, 3, 15, 16, 17, 31, 32, 33, 65)
"""Around the channels of a strip, of four pixels and of two."""


def conv2d(rng: np.random.Generator) -> Case:
    """Rows of any number of taps, pixels of any number, windows inside and beyond the image."""
    h, w, n = rng.integers((1, 1, 1), (9, 12, 3))
    kernel = (1, 1) if rng.random() < 0.3 else tuple(rng.integers(1, 5, 2))
    dilation = (2, 2) if rng.random() < 0.15 else (1, 1)
    attrs = Conv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)) if dilation == (1, 1) else (1, 1),
        padding="SAME",
        dilation=dilation,
        activation=str(rng.choice(ACTIVATIONS)),
    )
    c_in, c_out = int(rng.integers(1, 9)), int(rng.choice(CHANNELS))
    return weighted("conv2d", attrs, (n, h, w, c_in), (c_out, *kernel, c_in), c_out)


def depthwise_conv2d(rng: np.random.Generator) -> Case:
    """Odd and even numbers of taps."""
    h, w, n = rng.integers((1, 1, 1), (9, 9, 3))
    kernel = tuple(rng.integers(1, 5, 2))
    dilation = (2, 2) if rng.random() < 0.15 else (1, 1)
    attrs = DepthwiseConv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)) if dilation == (1, 1) else (1, 1),
        padding="SAME",
        dilation=dilation,
        activation=str(rng.choice(ACTIVATIONS)),
    )
    channels = int(rng.choice(CHANNELS))
    shapes = (n, h, w, channels), (1, *kernel, channels)
    return weighted("depthwise_conv2d", attrs, *shapes, channels)


def fully_connected(rng: np.random.Generator) -> Case:
    """One to seven rows."""
    rows, c_in, c_out = int(rng.integers(1, 8)), int(rng.integers(1, 40)), int(rng.choice(CHANNELS))
    attrs = FullyConnectedAttrs(activation=str(rng.choice(ACTIVATIONS)))
    return weighted("fully_connected", attrs, (rows, c_in), (c_out, c_in), c_out)


def max_pool2d(rng: np.random.Generator) -> Case:
    """Windows that reach beyond the image."""
    h, w = (int(s) for s in rng.integers(2, 8, 2))
    kernel = tuple(int(s) for s in rng.integers(1, 4, 2))
    attrs = Pool2dAttrs(kernel, (2, 1), "SAME", str(rng.choice(ACTIVATIONS)))
    return Case("max_pool2d", attrs, ((2, h, w, int(rng.choice((*CHANNELS, 129)))),))


def add(rng: np.random.Generator) -> Case:
    """Tensors of one shape, and of rows that repeat."""
    shape = (3, int(rng.choice((*CHANNELS, 129))))
    other = shape if rng.random() < 0.7 else (1, shape[1])
    return Case("add", AddAttrs(str(rng.choice(ACTIVATIONS))), (shape, other))


def tanh(rng: np.random.Generator) -> Case:
    """Table look-ups of more elements than registers hold, and fewer."""
    return Case("tanh", NoAttrs(), ((1, int(rng.choice((1, 127, 128, 129, 300)))),))


CASES = (conv2d, depthwise_conv2d, fully_connected, max_pool2d, add, tanh)


def of_strips(count: int) -> dict[str, Built]:
    """So many layers of each kind."""
    made = {}
    for case in CASES:
        for seed in range(count):
            rng = rng_of(case.__name__, seed)
            made[f"strips {case.__name__} {seed}"] = build_s8(case(rng), rng)
    return made
