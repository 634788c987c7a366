"""Recipes for classes of time series: a record says what a problem has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.nn import Conv2d, DepthwiseConv2d, GlobalAvgPool2d, Linear, Sequential
from tinyrt.train.recipes.recipe import Dataset, Recipe, Training
from tinyrt.train.recipes.series import load_series, normed, varied


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution along time without bias, with batch norm and ReLU behind it.

    Attributes:
        channels: of the output; None where it is depthwise, and keeps the input's.
        kernel: steps that an output reads.
        stride: steps from one output to the next.

    """

    channels: int | None = None
    kernel: int = 1
    stride: int = 1

    def module(self, c_in: int, rng: np.random.Generator) -> Module:
        """The untrained convolution."""
        kernel, stride = (1, self.kernel), (1, self.stride)
        if self.channels is None:
            return DepthwiseConv2d(c_in, kernel, stride=stride, rng=rng, bias=False)
        return Conv2d(c_in, self.channels, kernel, stride=stride, rng=rng, bias=False)


@dataclass(frozen=True, slots=True)
class Epochs:
    """How long each stage trains, as in ``Recipe``; the float network warms up for a twentieth.

    Attributes:
        training: in float.
        int8: for int8.
        int4: for int4 weights.
        healing: in float after pruning.
        healing_rate: greatest learning rate of that.

    """

    training: int
    int8: int
    int4: int
    healing: int
    healing_rate: float = 3e-3


@dataclass(frozen=True, slots=True)
class Variation:
    """How training series differ from those measured, as in ``varied``."""

    scale: float
    noise: float
    steps: int


@dataclass(frozen=True, slots=True)
class SeriesProblem:
    """A problem of aeon: series of some steps, each of which belongs to a class.

    Attributes:
        data: aeon's name for it.
        steps: of a series; longer ones are cut, shorter ones end in zeros.
        channels: values at each step.
        classes: how many there are.
        layers: name -> convolution, in order; the mean over time and a dense layer follow.
        variation: of the series before each use.
        epochs: of each stage.
        batch: series per training step.

    """

    data: str
    steps: int
    channels: int
    classes: int
    layers: Mapping[str, Layer]
    variation: Variation
    epochs: Epochs
    batch: int = 32

    def load(self, seed: int) -> Dataset:
        """Series (n, 1, steps, channels) with aeon's own split, whatever the seed."""
        del seed
        return load_series(self.data, self.steps)

    def network(self, rng: np.random.Generator) -> Sequential:
        """The untrained network."""
        modules: dict[str, Module] = {}
        channels = self.channels
        for name, layer in self.layers.items():
            module = layer.module(channels, rng)
            channels = layer.channels or channels
            modules |= normed(name, module, channels)
        classifier = Linear(channels, self.classes, rng=rng)
        return Sequential(**modules, pool=GlobalAvgPool2d(), classifier=classifier)

    def vary(self, x: Array, rng: np.random.Generator) -> Array:
        """Series as they might also have been measured."""
        v = self.variation
        return varied(x, rng, scale=v.scale, noise=v.noise, steps=v.steps)

    def recipe(self, name: str, summary: str) -> Recipe:
        """The recipe of that name; ``summary`` says what classes are told apart from what."""
        epochs, batch = self.epochs, self.batch
        warmup = epochs.training // 20
        return Recipe(
            name=name,
            summary=f"{summary} (aeon, {self.data}); 1-D CNN",
            load=self.load,
            network=self.network,
            training=Training(epochs.training, peak_lr=1e-2, warmup=warmup, batch=batch),
            int8=Training(epochs.int8, peak_lr=1e-3, batch=batch),
            int4=Training(epochs.int4, peak_lr=1e-3, batch=batch),
            healing=Training(epochs.healing, peak_lr=epochs.healing_rate, batch=batch),
            augment=self.vary,
        )
