"""Blocks of the accuracy table's networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def conv(
    c_in: int,
    c_out: int,
    size: int = 3,
    stride: int = 1,
    groups: int = 1,
    act: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:
    """Convolution, batch norm, activation."""
    layer = nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(c_out), *([act()] if act is not None else []))


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, c_in: int, c_out: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(c_in, c_out, 3, stride), conv(c_out, c_out, act=None))
        alike = c_in == c_out and stride == 1
        self.short = nn.Identity() if alike else conv(c_in, c_out, 1, stride, act=None)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.short(x))


class SqueezeExcite(nn.Module):
    """Channels weighed by what their means say."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 8, 1), nn.Conv2d(8, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.up(torch.relu(self.down(x.mean((2, 3), keepdim=True))))
        return x * nn.functional.hardsigmoid(weight)


class Inverted(nn.Module):
    """MobileNet's block: expand, depthwise, narrow; a factor of 1 expands nothing."""

    def __init__(
        self,
        c_in: int,
        c_out: int,
        factor: int,
        stride: int = 1,
        *,
        squeezed: bool = False,
        act: type[nn.Module] = nn.ReLU6,
    ) -> None:
        super().__init__()
        wide = c_in * factor
        self.body = nn.Sequential(
            *([conv(c_in, wide, 1, act=act)] if factor > 1 else []),
            conv(wide, wide, 3, stride, wide, act),
            *([SqueezeExcite(wide)] if squeezed else []),
            conv(wide, c_out, 1, act=None if factor > 1 else act),
        )
        self.adds = factor > 1 and c_in == c_out and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.adds else self.body(x)


class Dense(nn.Module):
    """Layers that read all that came before."""

    def __init__(self, c_in: int, growth: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(conv(c_in + i * growth, growth) for i in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


class Down(nn.Sequential):
    """Between blocks of dense layers: fewer channels, a pool."""

    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__(conv(c_in, c_out, 1), nn.AvgPool2d(2))


class Shuffle(nn.Module):
    """ShuffleNetV2's unit: one half of the channels passes, then all are mixed."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        c = channels // 2
        self.body = nn.Sequential(conv(c, c, 1), conv(c, c, 3, groups=c, act=None), conv(c, c, 1))

    def forward(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, 1)
        n, c, h, w = x.shape
        joined = torch.cat([a, self.body(b)], 1)
        return joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class ConvNeXtBlock(nn.Module):
    """Depthwise 7 x 7, a layer norm over channels, a wide GELU layer, a scale, the residual sum."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = (
            nn.Linear(channels, 4 * channels),
            nn.Linear(4 * channels, channels),
        )
        self.scale = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


class Grouped(nn.Module):
    """RegNet's block: groups of channels, weighed by their means, beside a shortcut."""

    def __init__(self, c_in: int, c_out: int, stride: int = 1, width: int = 8) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv(c_in, c_out, 1),
            conv(c_out, c_out, 3, stride, c_out // width),
            SqueezeExcite(c_out),
            conv(c_out, c_out, 1, act=None),
        )
        alike = c_in == c_out and stride == 1
        self.short = nn.Identity() if alike else conv(c_in, c_out, 1, stride, act=None)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.short(x))


class Ghost(nn.Module):
    """GhostNet's unit: half of the channels are depthwise layers of the other half."""

    def __init__(self, c_in: int, c_out: int, act: type[nn.Module] | None = nn.ReLU) -> None:
        super().__init__()
        half = c_out // 2
        self.first, self.cheap = conv(c_in, half, 1, act=act), conv(half, half, 3, 1, half, act)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return torch.cat([x, self.cheap(x)], 1)


class GhostBottleneck(nn.Module):
    """Two such units, the second without an activation, and the residual sum."""

    def __init__(self, channels: int, wide: int) -> None:
        super().__init__()
        self.body = nn.Sequential(Ghost(channels, wide), Ghost(wide, channels, act=None))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class ConvMixerBlock(nn.Module):
    """A depthwise layer beside the residual sum, one of pixels; norms behind the activations."""

    def __init__(self, channels: int, size: int = 5) -> None:
        super().__init__()
        self.along, self.across = (
            nn.Sequential(
                nn.Conv2d(channels, channels, k, padding=k // 2, groups=groups),
                nn.GELU(),
                nn.BatchNorm2d(channels),
            )
            for k, groups in ((size, channels), (1, 1))
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.across(x + self.along(x))


class Attention(nn.Module):
    """A pre-norm transformer's layer."""

    def __init__(self, width: int, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape
        parts = self.qkv(self.norm(x)).reshape(n, t, 3, self.heads, c // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(2, 3)) * (c // self.heads) ** -0.5
        x = x + self.out((scores.softmax(3) @ v).transpose(1, 2).reshape(n, t, c))
        return x + self.mlp(self.norm2(x))


class Mixer(nn.Module):
    """Dense layers along the tokens, then along the channels."""

    def __init__(self, width: int, tokens: int) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.along = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.across = nn.Sequential(nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.along(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.across(self.norm2(x))


class Temporal(nn.Module):
    """A dilated convolution over time, its skip output and the residual sum."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilated = nn.Conv1d(channels, channels, 5, padding=2 * dilation, dilation=dilation)
        self.mixed = nn.Conv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.mixed(nn.functional.elu(self.dilated(x)))
        return nn.functional.elu(x + y), y


class WordAttention(nn.Module):
    """BERT's layer: queries, keys and values of three layers, norms behind the residual sums."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out, self.norm, self.norm2 = (
            nn.Linear(width, width), nn.LayerNorm(width), nn.LayerNorm(width),
        )  # fmt: skip
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, t, c = x.shape
        q, k, v = (
            layer(x).view(n, t, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(2, 3) / (c // self.heads) ** 0.5
        sums = (scores.softmax(3) @ v).transpose(1, 2).reshape(n, t, c)
        x = self.norm(x + self.out(sums))
        return self.norm2(x + self.mlp(x))


class SplitStage(nn.Module):
    """YOLO's C2f: half of the channels goes through blocks, and all stages are joined."""

    def __init__(self, c_in: int, c_out: int, blocks: int = 1) -> None:
        super().__init__()
        half = c_out // 2
        self.first, self.last = (
            conv(c_in, c_out, 1, act=nn.SiLU),
            conv((2 + blocks) * half, c_out, 1, act=nn.SiLU),
        )
        self.blocks = nn.ModuleList(
            nn.Sequential(conv(half, half, act=nn.SiLU), conv(half, half, act=nn.SiLU))
            for _ in range(blocks)
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = [*self.first(x).chunk(2, 1)]
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class PixelAttention(nn.Module):
    """YOLO11's: attention between pixels, with taps of the values added to its sums."""

    def __init__(self, channels: int, heads: int = 2) -> None:
        super().__init__()
        self.heads, self.depth = heads, channels // heads
        self.qkv = conv(channels, 2 * channels, 1, act=None)
        self.taps = conv(channels, channels, 3, groups=channels, act=None)
        self.out = conv(channels, channels, 1, act=None)
        self.mlp = nn.Sequential(
            conv(channels, 2 * channels, 1, act=nn.SiLU), conv(2 * channels, channels, 1, act=None)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        d = self.depth
        parts = self.qkv(x).view(n, self.heads, 2 * d, h * w)
        q, k, v = parts.split([d // 2, d // 2, d], 2)
        weights = (q.transpose(2, 3) @ k * (d // 2) ** -0.5).softmax(3)
        sums = (v @ weights.transpose(2, 3)).view(n, c, h, w)
        x = x + self.out(sums + self.taps(v.reshape(n, c, h, w)))
        return x + self.mlp(x)


class PixelDetector(nn.Module):
    """YOLO11's parts: stages that split, attention between pixels, two sizes."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.SiLU
        self.stem = nn.Sequential(conv(3, 16, 3, 2, act=act), conv(16, 32, 3, 2, act=act))
        self.fine = SplitStage(32, 32)
        self.down, self.deep = conv(32, 48, 3, 2, act=act), SplitStage(48, 48)
        self.attention = PixelAttention(48)
        self.joined = SplitStage(32 + 48, 32)
        self.scores = nn.ModuleList(nn.Conv2d(c, 3, 1) for c in (32, 48))
        self.boxes = nn.ModuleList(nn.Conv2d(c, 4, 1) for c in (32, 48))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        fine = self.fine(self.stem(x))
        deep = self.attention(self.deep(self.down(fine)))
        fine = self.joined(torch.cat([fine, nn.functional.interpolate(deep, scale_factor=2)], 1))
        levels = (fine, deep)
        scores, boxes = (
            torch.cat([layer(y).flatten(2) for layer, y in zip(layers, levels, strict=True)], 2)
            for layers in (self.scores, self.boxes)
        )
        return torch.sigmoid(4 * scores), 16 * boxes
