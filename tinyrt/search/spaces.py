"""Spaces that ship: each turns an Optuna trial's choices into an untrained network.

``raw_spaces`` has those that choose a front end, too; ``shipped`` has all of them by their names.

Samples are images (h, w, c), series (1, steps, channels), or rows of numbers (k,).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.search.candidate import Candidate
from tinyrt.search.problem import Purpose
from tinyrt.train.early_exit import EarlyExit
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    GlobalAvgPool2d,
    LayerNorm,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Residual,
    Sequential,
)
from tinyrt.train.sequence import MultiHeadAttention

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

    from tinyrt.train.core.tensor import Tensor

Rng = np.random.Generator
QUAD = 4
"""Channels come in fours, as the kernels for SIMD cores work on them."""


def cnn(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Convolutions that stride instead of pooling: one kernel's code for all layers."""
    h, w, channels = image_shape(problem)
    layers: dict[str, Module] = {}
    for i in range(1, trial.suggest_int("layers", 2, 5) + 1):
        kernel = _kernel(trial, f"conv{i}_kernel", h, w)
        wider = channels_of(trial, f"conv{i}", 64)
        stride = 1 if min(h, w) < 2 else trial.suggest_int(f"conv{i}_stride", 1, 2)
        conv = Conv2d(channels, wider, kernel, stride=stride, rng=rng, bias=False)
        layers |= normed(f"conv{i}", conv)
        channels, h, w = wider, -(-h // stride), -(-w // stride)
    return trained(trial, Sequential(**layers, **_head(trial, (h, w, channels), problem, rng)))


def dscnn(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """A convolution, then depthwise-separable ones (Zhang et al. 2017)."""
    h, w, c = image_shape(problem)
    channels = channels_of(trial, "stem", 32)
    stride = trial.suggest_int("stem_stride", 1, 2)
    kernel = _kernel(trial, "stem_kernel", h, w)
    layers = normed("stem", Conv2d(c, channels, kernel, stride=stride, rng=rng, bias=False))
    h, w = -(-h // stride), -(-w // stride)
    for i in range(1, trial.suggest_int("blocks", 1, 4) + 1):
        size = _kernel(trial, f"block{i}_kernel", h, w)
        wider = channels_of(trial, f"block{i}", 64)
        depthwise = DepthwiseConv2d(channels, size, rng=rng, bias=False)
        pointwise = Conv2d(channels, wider, 1, rng=rng, bias=False)
        layers |= normed(f"depthwise{i}", depthwise) | normed(f"pointwise{i}", pointwise)
        channels = wider
        pool = 1 if min(h, w) < 2 else trial.suggest_int(f"block{i}_pool", 1, 2)
        if pool > 1:
            layers[f"pool{i}"] = MaxPool2d(pool)
            h, w = h // pool, w // pool
    return trained(trial, Sequential(**layers, **_head(trial, (h, w, channels), problem, rng)))


def exits(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """The networks of ``dscnn`` with an early exit between two of their layers.

    Where it leaves is a choice: 0 is behind the stem, 1 behind the first block, and so on.
    """
    made = dscnn(trial, problem, rng)
    assert isinstance(made.network, Sequential), "as dscnn makes it"
    layers = dict(made.network.layers)
    blocks = sum(isinstance(layer, DepthwiseConv2d) for layer in layers.values())
    last = trial.suggest_int("exit", 0, blocks - 1)
    names, end = list(layers), f"pointwise{last}" if last else "stem"
    conv = layers[end]
    # What pools behind a block belongs to the front.
    at = names.index(f"{end}_relu") + (f"pool{last}" in layers) + 1
    front, rest = names[:at], names[at:]
    assert isinstance(conv, Conv2d), "what gives the channels"
    out = Linear(conv.weight.shape[0], problem.outputs, rng=rng)
    network = EarlyExit(
        Sequential(**{name: layers[name] for name in front}),
        Sequential(mean=GlobalAvgPool2d(), out=out),
        Sequential(**{name: layers[name] for name in rest}),
    )
    return replace(made, network=network)


def mobilenet(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Inverted bottlenecks: expand, filter, project (Sandler et al. 2018)."""
    h, w, c = image_shape(problem)
    channels = channels_of(trial, "stem", 24)
    stride = trial.suggest_int("stem_stride", 1, 2)
    stem = Conv2d(c, channels, _short(3, h, w), stride=stride, rng=rng, bias=False)
    layers = normed("stem", stem)
    h, w = -(-h // stride), -(-w // stride)
    for i in range(1, trial.suggest_int("blocks", 1, 5) + 1):
        wider = channels_of(trial, f"block{i}", 48)
        hidden = channels * trial.suggest_int(f"block{i}_expansion", 1, 4)
        step = 1 if min(h, w) < 2 else trial.suggest_int(f"block{i}_stride", 1, 2)
        kernel = _kernel(trial, f"block{i}_kernel", h, w)
        body = Sequential(
            **normed("expand", Conv2d(channels, hidden, 1, rng=rng, bias=False)),
            **normed("filter", DepthwiseConv2d(hidden, kernel, stride=step, rng=rng, bias=False)),
            project=Conv2d(hidden, wider, 1, rng=rng, bias=False),
            project_bn=BatchNorm(wider),
        )
        same = step == 1 and wider == channels
        layers[f"block{i}"] = Residual(body) if same else body
        channels, h, w = wider, -(-h // step), -(-w // step)
    return trained(trial, Sequential(**layers, **_head(trial, (h, w, channels), problem, rng)))


def resnet(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Pairs of convolutions with a shortcut around them (He et al. 2016)."""
    h, w, c = image_shape(problem)
    channels = channels_of(trial, "stem", 32)
    stem = Conv2d(c, channels, _short(3, h, w), rng=rng, bias=False)
    layers = normed("stem", stem)
    for i in range(1, trial.suggest_int("blocks", 1, 4) + 1):
        wider = channels_of(trial, f"block{i}", 64)
        step = 1 if min(h, w) < 2 else trial.suggest_int(f"block{i}_stride", 1, 2)
        kernel = _short(3, h, w)
        first = Conv2d(channels, wider, kernel, stride=step, rng=rng, bias=False)
        body = Sequential(
            **normed("first", first),
            second=Conv2d(wider, wider, kernel, rng=rng, bias=False),
            second_bn=BatchNorm(wider),
        )
        shortcut = None
        if step > 1 or wider != channels:
            shortcut = Conv2d(channels, wider, 1, stride=step, rng=rng, bias=False)
        layers[f"block{i}"], layers[f"block{i}_relu"] = Residual(body, shortcut), ReLU()
        channels, h, w = wider, -(-h // step), -(-w // step)
    return trained(trial, Sequential(**layers, **_head(trial, (h, w, channels), problem, rng)))


def tcn(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Convolutions along time whose steps grow from block to block (Bai et al. 2018)."""
    _, steps, c = series_shape(problem)
    channels = channels_of(trial, "channels", 48)
    stride = trial.suggest_int("stem_stride", 1, 4)
    kernel = trial.suggest_int("kernel", 3, 7, step=2)
    stem = Conv2d(c, channels, (1, kernel), stride=(1, stride), rng=rng, bias=False)
    layers = normed("stem", stem)
    steps = -(-steps // stride)
    for i in range(trial.suggest_int("blocks", 1, 5)):
        dilation = min(2**i, max(1, (steps - 1) // (kernel - 1)))
        along = DepthwiseConv2d(channels, (1, kernel), dilation=(1, dilation), rng=rng, bias=False)
        body = Sequential(
            **normed("along", along),
            across=Conv2d(channels, channels, 1, rng=rng, bias=False),
            across_bn=BatchNorm(channels),
        )
        layers[f"block{i}"], layers[f"block{i}_relu"] = Residual(body), ReLU()
    head = {"pool": GlobalAvgPool2d(), "out": Linear(channels, problem.outputs, rng=rng)}
    return trained(trial, Sequential(**layers, **head))


class _AsSequence(Module):
    """(n, 1, t, c) -> (n, t, c)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], *x.shape[2:])


class _MeanOverTime(Module):
    """(n, t, c) -> (n, c)."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1)


def transformer(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Attention over patches of a series (Vaswani et al. 2017)."""
    _, steps, c = series_shape(problem)
    heads = trial.suggest_int("heads", 1, 4)
    width = heads * trial.suggest_int("head_width", 4, 16, step=4)
    patch = trial.suggest_int("patch", 1, max(1, min(16, steps // 2)))
    patches = Conv2d(c, width, (1, patch), stride=(1, patch), padding="VALID", rng=rng)
    layers: dict[str, Module] = {"patches": patches, "sequence": _AsSequence()}
    hidden = width * trial.suggest_int("expansion", 1, 3)
    for i in range(trial.suggest_int("blocks", 1, 3)):
        layers[f"attention{i}"] = Residual(MultiHeadAttention(width, heads, rng=rng))
        layers[f"attention{i}_norm"] = LayerNorm(width)
        wide, narrow = Linear(width, hidden, rng=rng), Linear(hidden, width, rng=rng)
        layers[f"dense{i}"] = Residual(Sequential(wide=wide, relu=ReLU(), narrow=narrow))
        layers[f"dense{i}_norm"] = LayerNorm(width)
    head = {"mean": _MeanOverTime(), "out": Linear(width, problem.outputs, rng=rng)}
    return trained(trial, Sequential(**layers, **head), most=1e-2)


def autoencoder(trial: BaseTrial, problem: Purpose, rng: Rng) -> Candidate:
    """Dense layers down to a few numbers, and back."""
    size, widths = math.prod(problem.input_shape), list[int]()
    for i in range(trial.suggest_int("layers", 1, 3)):
        widths.append(channels_of(trial, f"width{i}", 128))
    code = channels_of(trial, "code", 16)
    layers: dict[str, Module] = {"flatten": Flatten()}
    for i, width in enumerate([*widths, code, *reversed(widths)]):
        layers |= normed(f"dense{i}", Linear(size, width, rng=rng, bias=False), width)
        size = width
    layers["out"] = Linear(size, problem.outputs, rng=rng)
    return trained(trial, Sequential(**layers))


def image_shape(problem: Purpose) -> tuple[int, int, int]:
    """Height, width and channels of a sample.

    Raises:
        ShapeError: samples have other dimensions.

    """
    shape = problem.input_shape
    if len(shape) != 3:
        raise ShapeError(
            f"the space is for images, samples are {list(shape)}",
            expected="(height, width, channels), series as (1, steps, channels)",
            hint="x[..., None] adds a channel; space autoencoder takes any shape",
        )
    return shape[0], shape[1], shape[2]


def series_shape(problem: Purpose) -> tuple[int, int, int]:
    """As ``image_shape``, of height 1.

    Raises:
        ShapeError: samples are no series.

    """
    h, steps, c = image_shape(problem)
    if h != 1:
        raise ShapeError(
            f"the space is for series, samples are {list(problem.input_shape)}",
            expected="(1, steps, channels)",
            hint="space cnn, dscnn, mobilenet or resnet is for images",
        )
    return h, steps, c


def channels_of(trial: BaseTrial, name: str, most: int) -> int:
    """A number of channels, as a choice."""
    return trial.suggest_int(name, QUAD, most, step=QUAD)


def _kernel(trial: BaseTrial, name: str, h: int, w: int) -> tuple[int, int]:
    return _short(trial.suggest_int(name, 3, 5, step=2), h, w)


def _short(kernel: int, h: int, w: int) -> tuple[int, int]:
    """A kernel of that size, no longer than an image."""
    return min(kernel, h), min(kernel, w)


def normed(
    name: str, layer: Conv2d | DepthwiseConv2d | Linear, channels: int | None = None
) -> dict[str, Module]:
    """A layer without bias, its batch norm and ReLU, under names that begin alike."""
    weight = layer.weight
    axis = -1 if isinstance(layer, DepthwiseConv2d) else 0
    norm = BatchNorm(channels or weight.shape[axis])
    return {name: layer, f"{name}_bn": norm, f"{name}_relu": ReLU()}


def _head(
    trial: BaseTrial, shape: tuple[int, int, int], problem: Purpose, rng: Rng
) -> dict[str, Module]:
    """Scores of an image: by the mean over places, or by all of them."""
    h, w, channels = shape
    if trial.suggest_categorical("head", ["mean", "flat"]) == "mean":
        return {"mean": GlobalAvgPool2d(), "out": Linear(channels, problem.outputs, rng=rng)}
    return {"flat": Flatten(), "out": Linear(h * w * channels, problem.outputs, rng=rng)}


def trained(trial: BaseTrial, network: Module, most: float = 3e-2) -> Candidate:
    """The network as a candidate, whose learning rate is a choice."""
    rate = trial.suggest_float("learning_rate", most / 10, most, log=True)
    return Candidate(network, learning_rate=rate)
