"""Small networks of the architectures that edge models have, with random-normal weights."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

Make = Callable[[], tuple[nn.Module, tuple[int, ...]]]
"""The network, and the shape of its input."""


def conv(c_in: int, c_out: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution, batch norm, ReLU6."""
    layer = nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(c_out), nn.ReLU6())


class Residual(nn.Module):
    """A body beside a shortcut."""

    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.body(x)


class SqueezeExcite(nn.Module):
    """Channels weighed by a small network of their means."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 8, 1), nn.Conv2d(8, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        gate = fn.hardsigmoid(self.up(fn.relu(self.down(fn.adaptive_avg_pool2d(x, 1)))))
        return x * gate


def head(channels: int, classes: int = 10) -> nn.Sequential:
    """Global mean and a dense layer."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


def resnet() -> tuple[nn.Module, tuple[int, ...]]:
    """Two residual blocks, one of them with a strided shortcut."""

    def body(c_in: int, c_out: int, stride: int) -> nn.Module:
        last = nn.Sequential(nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.BatchNorm2d(c_out))
        return nn.Sequential(conv(c_in, c_out, 3, stride), last)

    down = nn.Sequential(nn.Conv2d(16, 32, 1, 2, bias=False), nn.BatchNorm2d(32))
    blocks = [Residual(body(16, 16, 1)), nn.ReLU(), Residual(body(16, 32, 2), down), nn.ReLU()]
    return nn.Sequential(conv(3, 16), *blocks, head(32)), (1, 3, 24, 20)


def inverted(c_in: int, c_out: int, factor: int, size: int = 3) -> nn.Module:
    """MobileNetV2's block."""
    wide = c_in * factor
    last = nn.Sequential(nn.Conv2d(wide, c_out, 1, bias=False), nn.BatchNorm2d(c_out))
    body = nn.Sequential(conv(c_in, wide, 1), conv(wide, wide, size, groups=wide), last)
    return Residual(body) if c_in == c_out else body


def mobilenet_v2() -> tuple[nn.Module, tuple[int, ...]]:
    """Inverted residuals."""
    blocks = [inverted(8, 12, 4), inverted(12, 12, 4), inverted(12, 16, 4)]
    return nn.Sequential(conv(3, 8, 3, 2), *blocks, conv(16, 32, 1), head(32)), (1, 3, 32, 28)


def mobilenet_v3() -> tuple[nn.Module, tuple[int, ...]]:
    """Hard-swish and squeeze-excite."""
    expand = nn.Sequential(nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24), nn.Hardswish())
    depth = nn.Sequential(
        nn.Conv2d(24, 24, 5, 1, 2, groups=24, bias=False), nn.BatchNorm2d(24), nn.Hardswish()
    )
    last = nn.Sequential(nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8))
    block = Residual(nn.Sequential(expand, depth, SqueezeExcite(24), last))
    return nn.Sequential(conv(3, 8, 3, 2), block, nn.Hardswish(), head(8)), (1, 3, 32, 28)


def efficientnet_lite() -> tuple[nn.Module, tuple[int, ...]]:
    """Inverted residuals with windows of 5."""
    blocks = [inverted(8, 12, 6), inverted(12, 12, 6, 5), inverted(12, 20, 6, 5)]
    return nn.Sequential(conv(3, 8, 3, 2), *blocks, conv(20, 40, 1), head(40)), (1, 3, 32, 28)


def ds_cnn() -> tuple[nn.Module, tuple[int, ...]]:
    """Depthwise-separable layers over a spectrogram."""
    first = nn.Sequential(nn.Conv2d(1, 32, (10, 4), 2, (5, 1), bias=False), nn.BatchNorm2d(32))
    blocks = [m for _ in range(3) for m in (conv(32, 32, 3, groups=32), conv(32, 32, 1))]
    return nn.Sequential(first, nn.ReLU(), *blocks, head(32, 12)), (1, 1, 49, 10)


class Causal(nn.Module):
    """A dilated convolution that sees the past alone."""

    def __init__(self, c_in: int, c_out: int, dilation: int) -> None:
        super().__init__()
        self.reach = 2 * dilation
        self.conv = nn.Conv1d(c_in, c_out, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return fn.relu(self.conv(fn.pad(x, (self.reach, 0))))


def tcn() -> tuple[nn.Module, tuple[int, ...]]:
    """Temporal convolutions, dilated by 1, 2 and 4."""
    blocks = [Residual(Causal(16, 16, 2)), Residual(Causal(16, 16, 4))]
    tail = [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 6)]
    return nn.Sequential(Causal(5, 16, 1), *blocks, *tail), (1, 5, 40)


class UNet(nn.Module):
    """One level up by a transposed convolution, one by resizing."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = conv(3, 8), conv(8, 16), conv(16, 24)
        self.up = nn.ConvTranspose2d(24, 16, 2, 2)
        self.four, self.five, self.last = conv(32, 16), conv(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = self.one(x)
        two = self.two(fn.max_pool2d(one, 2))
        three = self.three(fn.max_pool2d(two, 2))
        four = self.four(torch.cat([self.up(three), two], 1))
        up = fn.interpolate(four, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.last(self.five(torch.cat([up, one], 1)))


def unet() -> tuple[nn.Module, tuple[int, ...]]:
    """Segmentation."""
    return UNet(), (1, 3, 24, 16)


class Recurrent(nn.Module):
    """The last output of a recurrent layer, classified."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.dense = layer, nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(self.layer(x)[0][:, -1])


def lstm() -> tuple[nn.Module, tuple[int, ...]]:
    """An LSTM classifier."""
    return Recurrent(nn.LSTM(10, 24, batch_first=True)), (1, 16, 10)


def gru() -> tuple[nn.Module, tuple[int, ...]]:
    """A GRU classifier."""
    return Recurrent(nn.GRU(10, 24, batch_first=True)), (1, 16, 10)


class Encoder(nn.Module):
    """One transformer layer, written out."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x: Tensor) -> Tensor:
        n, steps, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(n, steps, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, steps, width))
        return x + self.mlp(self.norm2(x))


class Pooled(nn.Module):
    """The mean over time, classified."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body, self.dense = body, nn.Linear(32, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(self.body(x).mean(1))


def transformer() -> tuple[nn.Module, tuple[int, ...]]:
    """Two encoder layers."""
    return Pooled(nn.Sequential(nn.Linear(12, 32), Encoder(), Encoder())), (1, 20, 12)


def autoencoder() -> tuple[nn.Module, tuple[int, ...]]:
    """Dense layers with a bottleneck."""
    sizes = [64, 32, 32, 8, 32, 32]
    layers = [
        m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.Linear(32, 64)), (1, 64)


class Fire(nn.Module):
    """SqueezeNet's module."""

    def __init__(self, c_in: int, narrow: int, wide: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(c_in, narrow, 1)
        self.one, self.three = nn.Conv2d(narrow, wide, 1), nn.Conv2d(narrow, wide, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = fn.relu(self.squeeze(x))
        return torch.cat([fn.relu(self.one(x)), fn.relu(self.three(x))], 1)


def squeezenet() -> tuple[nn.Module, tuple[int, ...]]:
    """Fire modules."""
    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    layers = [nn.Conv2d(3, 16, 3, 2), nn.ReLU(), pool, Fire(16, 8, 16), Fire(32, 8, 16)]
    tail = [nn.Conv2d(32, 10, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *tail), (1, 3, 36, 32)


MODELS: dict[str, Make] = {
    "resnet": resnet,
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3_small": mobilenet_v3,
    "efficientnet_lite": efficientnet_lite,
    "ds_cnn": ds_cnn,
    "tcn": tcn,
    "unet": unet,
    "lstm": lstm,
    "gru": gru,
    "transformer": transformer,
    "autoencoder": autoencoder,
    "squeezenet": squeezenet,
}

CONVOLUTIONAL = set(MODELS) - {"lstm", "gru", "transformer", "autoencoder"}


def build(make: Make, seed: int = 0) -> tuple[nn.Module, Tensor]:
    """A network for inference, and a random-normal input.

    Weights are normal with the variance that keeps activations at one size (He et al., 2015);
    batch norms have seen no data but have random-normal shifts.
    """
    torch.manual_seed(seed)
    model, shape = make()
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False):
            if parameter.ndim > 1:
                fan_in = parameter[0].numel()
                if isinstance(module, nn.ConvTranspose2d):
                    fan_in = parameter.shape[0]
                nn.init.normal_(parameter, std=fan_in**-0.5)
            elif "bias" in key:
                nn.init.normal_(parameter, std=0.1)
    return model.eval(), torch.randn(shape)
