"""Ten small classifiers of PyTorch, for pictures and for series, and their training in float.

Samples are (channels, height, width); series have height 1, and time as their width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from tinyrt.train.core.function import Array

BATCH = 32
PEAK_RATE = 5e-3
MOST_STEPS = 32
"""Steps that recurrences and attention read; a convolution shortens longer series."""

Act = Callable[[], nn.Module]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a network takes and tells apart.

    Attributes:
        channels: values of a pixel, or of a step.
        height: rows of a picture; 1 of a series.
        width: pixels of a row, or steps.
        classes: how many there are.

    """

    channels: int
    height: int
    width: int
    classes: int

    @property
    def is_series(self) -> bool:
        return self.height == 1

    @property
    def kernel(self) -> tuple[int, int]:
        """Of convolutions that see neighbours."""
        return (1, 5) if self.is_series else (3, 3)

    @property
    def halves(self) -> tuple[int, int]:
        """Steps from one output to the next that leave half a series, or a quarter of a picture."""
        return (1, 2) if self.is_series else (2, 2)


def conv(sample: Sample, c_in: int, c_out: int, *, groups: int = 1, bias: bool = True) -> nn.Conv2d:
    """A convolution that keeps the size."""
    kernel = sample.kernel
    padding = (kernel[0] // 2, kernel[1] // 2)
    return nn.Conv2d(c_in, c_out, kernel, padding=padding, groups=groups, bias=bias)


def normed(layer: nn.Conv2d, act: Act = nn.ReLU) -> list[nn.Module]:
    """The layer, a batch norm, an activation."""
    return [layer, nn.BatchNorm2d(layer.out_channels), act()]


def ending(sample: Sample, channels: int) -> list[nn.Module]:
    """Of pictures all places, of series their mean, to the classes."""
    if sample.is_series:
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, sample.classes)]
    places = sample.height * sample.width // 16
    return [nn.Flatten(), nn.Linear(channels * places, sample.classes)]


def plain(sample: Sample) -> nn.Module:
    """Convolutions with biases, ReLU, max pools."""
    layers: list[nn.Module] = []
    for c_in, c_out in pairwise((sample.channels, 16, 32)):
        layers += [conv(sample, c_in, c_out), nn.ReLU(), nn.MaxPool2d(sample.halves)]
    return nn.Sequential(*layers, *ending(sample, 32))


def without_biases(sample: Sample) -> nn.Module:
    """The same with batch norms in place of the biases."""
    layers: list[nn.Module] = []
    for c_in, c_out in pairwise((sample.channels, 16, 32)):
        layers += [*normed(conv(sample, c_in, c_out, bias=False)), nn.MaxPool2d(sample.halves)]
    return nn.Sequential(*layers, *ending(sample, 32))


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, sample: Sample, channels: int) -> None:
        super().__init__()
        first, second = (conv(sample, channels, channels, bias=False) for _ in range(2))
        self.body = nn.Sequential(*normed(first), second, nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.body(x))


def residual(sample: Sample) -> nn.Module:
    """A stem and two residual blocks, with batch norms."""
    return nn.Sequential(
        *normed(conv(sample, sample.channels, 24, bias=False)),
        *(Residual(sample, 24), nn.MaxPool2d(sample.halves)),
        *(Residual(sample, 24), nn.AvgPool2d(sample.halves)),
        *ending(sample, 24),
    )


def depthwise(sample: Sample) -> nn.Module:
    """A stem and two depthwise separable convolutions, ReLU6."""
    layers = normed(conv(sample, sample.channels, 24, bias=False), nn.ReLU6)
    for c_in, c_out in ((24, 32), (32, 48)):
        layers += normed(conv(sample, c_in, c_in, groups=c_in, bias=False), nn.ReLU6)
        layers += normed(nn.Conv2d(c_in, c_out, 1, bias=False), nn.ReLU6)
        layers += [nn.MaxPool2d(sample.halves)]
    return nn.Sequential(*layers, *ending(sample, 48))


class TwoHeads(nn.Module):
    """One body; the class, and how much there is in all."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        body = [*normed(conv(sample, sample.channels, 24, bias=False)), nn.MaxPool2d(sample.halves)]
        body += [*normed(conv(sample, 24, 32, bias=False)), nn.AvgPool2d(sample.halves)]
        self.body, self.classes = nn.Sequential(*body), nn.Sequential(*ending(sample, 32))
        self.amount = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.body(x)
        return self.classes(x), self.amount(x)


class SqueezeExcite(nn.Module):
    """Channels weighed by what their means say."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 8, 1), nn.Conv2d(8, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.up(torch.relu(self.down(x.mean((2, 3), keepdim=True))))
        return x * nn.functional.hardsigmoid(weight)


def squeezed(sample: Sample) -> nn.Module:
    """Squeeze and excite, group norm, hard-swish, PReLU."""
    return nn.Sequential(
        *(conv(sample, sample.channels, 24), nn.GroupNorm(4, 24), nn.Hardswish()),
        *(SqueezeExcite(24), nn.MaxPool2d(sample.halves)),
        *(conv(sample, 24, 32), nn.PReLU(32), nn.AvgPool2d(sample.halves)),
        *ending(sample, 32),
    )


class Steps(nn.Module):
    """A sample as steps in time, (batch, features, steps): a picture's rows, or a series."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.steps, self.features = sample.height, sample.channels * sample.width
        if sample.is_series:
            self.steps, self.features = sample.width, sample.channels
        self.shorter: nn.Module = nn.Identity()
        if self.steps > MOST_STEPS:
            stride = -(-self.steps // MOST_STEPS)
            self.shorter = nn.Conv1d(self.features, 16, stride, stride)
            self.steps, self.features = self.steps // stride, 16

    def forward(self, x: Tensor) -> Tensor:
        series = x.shape[2] == 1
        x = x.squeeze(2) if series else x.permute(0, 1, 3, 2).flatten(1, 2)
        return self.shorter(x)


class Dilated(nn.Module):
    """One-dimensional convolutions with growing dilations, SiLU."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.steps = Steps(sample)
        layers: list[nn.Module] = []
        for c_in, dilation in ((self.steps.features, 1), (32, 2)):
            layers += [nn.Conv1d(c_in, 32, 3, padding=dilation, dilation=dilation), nn.SiLU()]
        self.body, self.head = nn.Sequential(*layers), nn.Linear(2 * 32, sample.classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(self.steps(x))
        half = x.shape[2] // 2
        return self.head(torch.cat([x[..., :half].mean(2), x[..., half:].mean(2)], 1))


class Encoder(nn.Module):
    """Places, a layer of PyTorch's transformer encoder, the mean."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.steps = Steps(sample)
        self.first = nn.Linear(self.steps.features, 32)
        self.places = nn.Parameter(torch.randn(1, self.steps.steps, 32) * 0.2)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(32, sample.classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(self.steps(x).transpose(1, 2)) + self.places
        return self.head(self.layer(x).mean(1))


class Recurrent(nn.Module):
    """An LSTM or a GRU, whose last output tells the class."""

    def __init__(self, sample: Sample, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.steps = Steps(sample)
        self.recurrence = kind(self.steps.features, 32, batch_first=True)
        self.head = nn.Linear(32, sample.classes)

    def forward(self, x: Tensor) -> Tensor:
        x, _ = self.recurrence(self.steps(x).transpose(1, 2))
        return self.head(x[:, -1])


def lstm(sample: Sample) -> nn.Module:
    """An LSTM over the steps."""
    return Recurrent(sample, nn.LSTM)


def gru(sample: Sample) -> nn.Module:
    """A GRU over the steps."""
    return Recurrent(sample, nn.GRU)


NETS: dict[str, tuple[str, Callable[[Sample], nn.Module]]] = {
    "plain": ("convolutions with biases", plain),
    "norms": ("the same with batch norms, without biases", without_biases),
    "residual": ("residual, batch norms", residual),
    "depthwise": ("depthwise separable, ReLU6", depthwise),
    "heads": ("two heads: class, and amount", TwoHeads),
    "squeezed": ("squeeze and excite, group norm, hard-swish, PReLU", squeezed),
    "dilated": ("1-D convolutions, SiLU", Dilated),
    "transformer": ("transformer encoder", Encoder),
    "lstm": ("LSTM, whole", lstm),
    "gru": ("GRU", gru),
}
"""Name -> in words, and what makes it."""


def amounts(x: Array) -> Array:
    """What the second head learns, (n, 1): the mean size of a sample's values."""
    return np.abs(x).reshape(len(x), -1).mean(axis=1, keepdims=True).astype(np.float32)


def trained(
    name: str,
    sample: Sample,
    x: Array,
    y: Array,
    epochs: int,
    vary: Callable[[Array, np.random.Generator], Array],
    seed: int = 0,
) -> nn.Module:
    """A network of that name, trained by Adam in one cycle of rates.

    Args:
        name: of ``NETS``.
        sample: what it takes.
        x: (n, channels, height, width).
        y: (n,), classes.
        epochs: passes over the samples.
        vary: what changes samples before each use.
        seed: of weights, order and changes.

    """
    torch.set_num_threads(1)  # more of them wait for each other, at sizes like these
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    net = NETS[name][1](sample)
    optimizer = torch.optim.Adam(net.parameters(), PEAK_RATE)
    steps = len(x) // BATCH
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, epochs * steps)
    wanted = torch.from_numpy(amounts(x))
    for _ in range(epochs):
        for rows in rng.permutation(len(x))[: steps * BATCH].reshape(steps, BATCH):
            found = net(torch.from_numpy(vary(x[rows], rng)))
            classes, *others = found if isinstance(found, tuple) else (found,)
            loss = nn.functional.cross_entropy(classes, torch.from_numpy(y[rows]))
            for amount in others:
                loss = loss + nn.functional.mse_loss(amount, wanted[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.step()
    return net.eval()


def answers(net: nn.Module, x: Array) -> list[Array]:
    """What the network gives for samples (n, channels, height, width), output by output."""
    with torch.no_grad():
        found = net(torch.from_numpy(np.ascontiguousarray(x)))
    return [part.numpy() for part in (found if isinstance(found, tuple) else (found,))]
