"""Random modules of every layer, and of arithmetic between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinyrt.train import Tensor
from tinyrt.train.activations import (
    GELU,
    HardSwish,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
from tinyrt.train.functional import cat, maximum, minimum, stack, var
from tinyrt.train.nn import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    ConvTranspose2d,
    DepthwiseConv2d,
    Flatten,
    GlobalAvgPool2d,
    GroupNorm,
    LayerNorm,
    Linear,
    MaxPool2d,
    Module,
    Residual,
    Sequential,
)
from tinyrt.train.sequence import GRU, LSTM, Conv1d, MultiHeadAttention

Rng = np.random.Generator
Shape = tuple[int, ...]


class Written(Module):
    """A module whose forward is a function."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Joined(Module):
    """What several modules give, side by side, summed or multiplied."""

    def __init__(self, kind: str, *parts: Module) -> None:
        self.kind, self.parts = kind, parts

    def forward(self, x: Tensor) -> Tensor:
        results = [part(x) for part in self.parts]
        if self.kind == "cat":
            return cat(results, -1)
        if self.kind == "stack":
            return stack(results, 1).mean(1)
        return {
            "sum": lambda a, b: a + b,
            "product": lambda a, b: a * b,
            "difference": lambda a, b: a - b * 0.5,
            "maximum": maximum,
            "minimum": minimum,
        }[self.kind](*results)


WRITTEN: dict[str, Callable[[Tensor], Tensor]] = {
    "square": lambda x: x * x,
    "gauss": lambda x: (-(x * x)).exp(),
    "root": lambda x: (x * x + 0.5).sqrt(),
    "logarithm": lambda x: (x.abs() + 0.5).log(),
    "clip": lambda x: x.clip(-0.7, 0.9),
    "quotient": lambda x: x / (x.abs() + 1.5),
    "power": lambda x: (x.abs() + 0.5) ** -0.5,
    "softened": lambda x: 2 ** x.clip(-2, 2),
    "less the mean": lambda x: x - x.mean(-1, keepdims=True),
    "over the deviation": lambda x: x / (var(x, -1, keepdims=True) + 0.1).sqrt(),
    "of the greatest": lambda x: x - x.max(1, keepdims=True),
    "of the least": lambda x: x + 0.5 * x.min(-1, keepdims=True),
    "sum": lambda x: x * (x * x).sum(1, keepdims=True) * 0.1,
    "turned": lambda x: x[:, ::-1],
}


def activation(rng: Rng, channels: int) -> Module:
    """Any of them."""
    kinds = (
        *(ReLU, ReLU6, Sigmoid, Tanh, HardSwish, SiLU, Softmax, LeakyReLU),
        *(lambda: GELU(True), lambda: GELU(False), lambda: PReLU(channels)),
    )
    return kinds[rng.integers(len(kinds))]()


def norm(rng: Rng, channels: int) -> Module:
    """Any of them; batch norms with statistics of their own."""
    kind = rng.integers(3)
    if kind == 0:
        layer = BatchNorm(channels)
        layer.mean.data = rng.normal(size=channels).astype(np.float32)
        layer.variance.data = rng.uniform(0.5, 2, channels).astype(np.float32)
        return layer
    groups = int(rng.choice([g for g in (1, 2, 3) if channels % g == 0]))
    return LayerNorm(channels) if kind == 1 else GroupNorm(groups, channels)


def of_image(rng: Rng, shape: Shape) -> Module:
    """A layer of (h, w, c)."""
    h, w, c = shape
    size = int(rng.integers(1, min(h, w, 3) + 1))
    stride = int(rng.integers(1, 3))
    padding = str(rng.choice(["SAME", "VALID"]))
    c_out, bias = int(rng.integers(1, 5)), bool(rng.integers(2))
    kind = rng.integers(8)
    if kind <= 1:
        groups = int(rng.choice([g for g in (1, c) if g == 1 or kind == 1]))
        dilation = 2 if stride == 1 and padding == "SAME" and rng.integers(2) else 1
        return Conv2d(
            c, c_out * groups, size, rng=rng, stride=stride, padding=padding, groups=groups,
            dilation=dilation, bias=bias,
        )  # fmt: skip
    if kind == 2:
        return DepthwiseConv2d(
            c, size, rng=rng, stride=stride, padding=padding, multiplier=c_out, bias=bias
        )
    if kind == 3 and max(h, w) <= 6:
        return ConvTranspose2d(c, c_out, size, rng=rng, stride=stride, bias=bias)
    if kind == 4:
        return (MaxPool2d, AvgPool2d)[rng.integers(2)](size, stride=stride, padding=padding)
    if kind == 5:
        return Residual(Sequential(Conv2d(c, c, 3, rng=rng), activation(rng, c)))
    return of_any(rng, shape)


def of_series(rng: Rng, shape: Shape) -> Module:
    """A layer of (t, c)."""
    t, c = shape
    c_out, kind = int(rng.integers(1, 6)), rng.integers(7)
    if kind == 0:
        stride, padding = int(rng.integers(1, 3)), str(rng.choice(["SAME", "VALID"]))
        return Conv1d(c, c_out, min(t, 2), rng=rng, stride=stride, padding=padding)
    if kind == 1:
        return LSTM(c, c_out, rng=rng)
    if kind == 2:
        return GRU(c, c_out, rng=rng)
    if kind == 3:
        heads = int(rng.choice([g for g in (1, 2, 3) if c % g == 0]))
        return Residual(MultiHeadAttention(c, heads, rng=rng))
    return of_any(rng, shape)


def of_any(rng: Rng, shape: Shape) -> Module:
    """A layer that keeps the shape, but perhaps for the channels."""
    c, kind = shape[-1], rng.integers(6)
    if kind == 0:
        return norm(rng, c)
    if kind == 1:
        return activation(rng, c)
    if kind == 2:
        return Linear(c, int(rng.integers(1, 6)), rng=rng, bias=bool(rng.integers(2)))
    if kind == 3:
        kinds = ("cat", "stack", "sum", "product", "difference", "maximum", "minimum")
        parts = [Sequential(Linear(c, c, rng=rng), activation(rng, c)) for _ in range(2)]
        return Joined(str(rng.choice(kinds)), *parts)
    return Written(WRITTEN[str(rng.choice(list(WRITTEN)))])


def random_net(seed: int) -> tuple[Module, Shape]:
    """A net of 2 to 9 layers and the shape of a sample: an image, a series or a row."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    sizes = {1: (2, 9), 2: (2, 6), 3: (4, 8)}[rank]
    first = tuple(int(d) for d in rng.integers(*sizes, rank - 1))
    shape: Shape = (*first, int(rng.integers(1, 7)))
    start, layers = shape, list[Module]()
    for _ in range(int(rng.integers(2, 8))):
        make = {1: of_any, 2: of_series, 3: of_image}[len(shape)]
        layer = make(rng, shape)
        shape = shape_behind(layer, shape)
        layers.append(layer)
        if len(shape) > 1 and rng.random() < 0.15:
            ends = {
                2: [Written(lambda x: x[:, -1]), Written(lambda x: x.mean(1)), Flatten()],
                3: [GlobalAvgPool2d(), Flatten(), Written(_as_series)],
            }[len(shape)]
            layers.append(ends[rng.integers(3)])
            shape = shape_behind(layers[-1], shape)
    return Sequential(*layers), start


def _as_series(x: Tensor) -> Tensor:
    n, h, w, c = x.shape
    return x.reshape(n, h * w, c)


def shape_behind(layer: Module, shape: Shape) -> Shape:
    """What the layer makes of a sample of that shape."""
    with layer.evaluating():
        return layer(Tensor(np.zeros((1, *shape), np.float32))).shape[1:]
