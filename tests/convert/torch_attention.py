"""Small networks with attention over pixels, as their public implementations write it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from tests.convert.torch_models import Encoder, Residual, conv, head, inverted


class MobileVitBlock(nn.Module):
    """Attention among the pixels at the same place of each patch."""

    def __init__(self, channels: int, width: int = 32, patch: int = 2) -> None:
        super().__init__()
        self.patch = patch
        self.local = nn.Sequential(
            conv(channels, channels), nn.Conv2d(channels, width, 1, bias=False)
        )
        self.layers = nn.Sequential(Encoder(width), Encoder(width), nn.LayerNorm(width))
        self.back, self.joined = conv(width, channels, 1), conv(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        y, p = self.local(x), self.patch
        n, c, h, w = y.shape
        rows, columns = h // p, w // p
        y = y.reshape(n * c * rows, p, columns, p).transpose(1, 2)
        y = y.reshape(n, c, rows * columns, p * p).transpose(1, 3)
        y = self.layers(y.reshape(n * p * p, rows * columns, c))
        y = y.contiguous().view(n, p * p, rows * columns, c).transpose(1, 3)
        y = y.reshape(n * c * rows, columns, p, p).transpose(1, 2).reshape(n, c, h, w)
        return self.joined(torch.cat([x, self.back(y)], 1))


def mobilevit() -> tuple[nn.Module, tuple[int, ...]]:
    """Inverted residuals, and one block of two layers."""
    layers = [conv(3, 8, 3, 2), inverted(8, 12, 2), MobileVitBlock(12), conv(12, 20, 1)]
    return nn.Sequential(*layers, head(20)), (1, 3, 32, 24)


class LinearAttention(nn.Module):
    """MobileViTv2's: one context per place of a patch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.qkv, self.out = nn.Conv2d(width, 1 + 2 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).split([1, self.width, self.width], 1)
        context = (key * fn.softmax(query, -1)).sum(-1, keepdim=True)
        return self.out(fn.relu(value) * context.expand_as(value))


class MobileVitV2Block(nn.Module):
    """Linear attention among the pixels at the same place of each patch."""

    def __init__(self, channels: int, width: int = 24, patch: int = 2) -> None:
        super().__init__()
        self.patch = patch
        depth = conv(channels, channels, 3, groups=channels)
        self.local = nn.Sequential(depth, nn.Conv2d(channels, width, 1, bias=False))
        mlp = [nn.Conv2d(width, 2 * width, 1), nn.SiLU(), nn.Conv2d(2 * width, width, 1)]
        layers = [
            nn.Sequential(
                Residual(nn.Sequential(nn.GroupNorm(1, width), LinearAttention(width))),
                Residual(nn.Sequential(nn.GroupNorm(1, width), *mlp)),
            )
            for _ in range(2)
        ]
        self.layers = nn.Sequential(*layers, nn.GroupNorm(1, width))
        last = nn.Conv2d(width, channels, 1, bias=False)
        self.back = nn.Sequential(last, nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        y, p = self.local(x), self.patch
        n, c, h, w = y.shape
        rows, columns = h // p, w // p
        y = y.reshape(n, c, rows, p, columns, p).permute(0, 1, 3, 5, 2, 4)
        y = self.layers(y.reshape(n, c, p * p, rows * columns))
        y = y.reshape(n, c, p, p, rows, columns).permute(0, 1, 4, 2, 5, 3)
        return self.back(y.reshape(n, c, h, w))


def mobilevit_v2() -> tuple[nn.Module, tuple[int, ...]]:
    """Inverted residuals, and one block of two layers."""
    layers = [conv(3, 8, 3, 2), inverted(8, 12, 2), MobileVitV2Block(12), conv(12, 20, 1)]
    return nn.Sequential(*layers, head(20)), (1, 3, 32, 24)


class Vit(nn.Module):
    """Patches, a token of the class, and two layers."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(0.1 * torch.randn(1, 13, width))
        self.layers = nn.Sequential(Encoder(width), Encoder(width), nn.LayerNorm(width))
        self.classes = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(len(x), -1, -1), y], 1) + self.places
        return self.classes(self.layers(y)[:, 0])


def vit() -> tuple[nn.Module, tuple[int, ...]]:
    """Twelve patches."""
    return Vit(), (1, 3, 32, 24)
