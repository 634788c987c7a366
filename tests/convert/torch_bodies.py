"""Small networks whose exports move channels, pixels or heads about, as public models do."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from tests.convert.torch_attention import mobilevit, mobilevit_v2, vit
from tests.convert.torch_models import Make, Residual, conv, head


def normed(c_in: int, c_out: int, size: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution and batch norm."""
    layer = nn.Conv2d(c_in, c_out, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(c_out))


class ShuffleUnit(nn.Module):
    """ShuffleNetV2's: half of the channels pass, and both halves are interleaved."""

    def __init__(self, c_in: int, c_out: int, stride: int) -> None:
        super().__init__()
        half = c_out // 2
        self.stride = stride
        self.first = nn.Sequential(
            normed(c_in, c_in, 3, stride, c_in), normed(c_in, half), nn.ReLU()
        )
        c_in = c_in if stride > 1 else half
        depth = normed(half, half, 3, stride, half)
        self.second = nn.Sequential(
            normed(c_in, half), nn.ReLU(), depth, normed(half, half), nn.ReLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            one, two = x.chunk(2, 1)
            y = torch.cat([one, self.second(two)], 1)
        else:
            y = torch.cat([self.first(x), self.second(x)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


def shufflenet_v2() -> tuple[nn.Module, tuple[int, ...]]:
    """Two stages of three units."""
    first = [ShuffleUnit(8, 16, 2), ShuffleUnit(16, 16, 1), ShuffleUnit(16, 16, 1)]
    second = [ShuffleUnit(16, 32, 2), ShuffleUnit(32, 32, 1), ShuffleUnit(32, 32, 1)]
    last = nn.Sequential(normed(32, 48), nn.ReLU())
    return nn.Sequential(conv(3, 8, 3, 2), *first, *second, last, head(48)), (1, 3, 48, 40)


class PoolMixer(nn.Module):
    """PoolFormer's mixer: the mean of the neighbours, less the pixel itself."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x) - x


class Scaled(nn.Module):
    """A factor per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.2, 1, channels))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale.view(-1, 1, 1)


def pool_block(width: int) -> nn.Module:
    """Norm of one group, mixer; norm, two pointwise layers."""
    mlp = [nn.Conv2d(width, 2 * width, 1), nn.GELU(), nn.Conv2d(2 * width, width, 1)]
    return nn.Sequential(
        Residual(nn.Sequential(nn.GroupNorm(1, width), PoolMixer(), Scaled(width))),
        Residual(nn.Sequential(nn.GroupNorm(1, width), *mlp, Scaled(width))),
    )


def poolformer() -> tuple[nn.Module, tuple[int, ...]]:
    """Three blocks in two stages."""
    stem, down = nn.Conv2d(3, 12, 7, 4, 2), nn.Conv2d(12, 20, 3, 2, 1)
    blocks = [pool_block(12), pool_block(12), down, pool_block(20), nn.GroupNorm(1, 20)]
    return nn.Sequential(stem, *blocks, head(20)), (1, 3, 44, 60)


class SelectiveKernel(nn.Module):
    """SKNet's: two windows, weighed against each other per channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.paths = nn.ModuleList([conv(width, width), conv(width, width, 5)])
        self.reduce, self.select = conv(width, 8, 1), nn.Conv2d(8, 2 * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        paths = torch.stack([path(x) for path in self.paths], 1)
        pooled = paths.sum(1).mean((2, 3), keepdim=True)
        weights = self.select(self.reduce(pooled))
        n, c, h, w = weights.shape
        weights = torch.softmax(weights.view(n, 2, c // 2, h, w), 1)
        return (paths * weights).sum(1)


def sknet() -> tuple[nn.Module, tuple[int, ...]]:
    """Three bottlenecks."""

    def block() -> nn.Module:
        return nn.Sequential(
            Residual(nn.Sequential(conv(16, 12, 1), SelectiveKernel(12), normed(12, 16))),
            nn.ReLU(),
        )

    return nn.Sequential(conv(3, 16, 3, 2), block(), block(), block(), head(16)), (1, 3, 32, 28)


class SplitAttention(nn.Module):
    """ResNeSt's: groups of channels, weighed against each other."""

    def __init__(self, width: int, radix: int = 2) -> None:
        super().__init__()
        self.radix = radix
        self.conv = conv(width, radix * width, 3, groups=radix)
        self.down, self.up = conv(width, 8, 1), nn.Conv2d(8, radix * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        n, c, h, w = y.shape
        parts = y.reshape(n, self.radix, c // self.radix, h, w)
        weights = self.up(self.down(parts.sum(1).mean((2, 3), keepdim=True)))
        weights = weights.view(n, 1, self.radix, -1).transpose(1, 2)
        weights = torch.softmax(weights, 1).reshape(n, -1).view(n, -1, 1, 1)
        return (parts * weights.reshape(n, self.radix, c // self.radix, 1, 1)).sum(1)


def resnest() -> tuple[nn.Module, tuple[int, ...]]:
    """Three bottlenecks."""

    def block() -> nn.Module:
        return nn.Sequential(
            Residual(nn.Sequential(conv(16, 12, 1), SplitAttention(12), normed(12, 16))), nn.ReLU()
        )

    return nn.Sequential(conv(3, 16, 3, 2), block(), block(), block(), head(16)), (1, 3, 32, 28)


class Parallel(nn.Module):
    """A sum of branches, clamped."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return fn.relu(sum(branch(x) for branch in self.branches))


def repvgg() -> tuple[nn.Module, tuple[int, ...]]:
    """Blocks as they are trained."""

    def block(c_in: int, c_out: int, stride: int) -> nn.Module:
        same = [nn.BatchNorm2d(c_in)] if (c_in, stride) == (c_out, 1) else []
        return Parallel(*same, normed(c_in, c_out, 3, stride), normed(c_in, c_out, 1, stride))

    sizes = ((3, 12, 2), (12, 12, 1), (12, 20, 2), (20, 20, 1))
    return nn.Sequential(*(block(*size) for size in sizes), head(20)), (1, 3, 32, 28)


def mobileone() -> tuple[nn.Module, tuple[int, ...]]:
    """Blocks as they are trained: four branches of the same window, one of 1, one of none."""

    def block(c_in: int, c_out: int, size: int, stride: int, groups: int = 1) -> nn.Module:
        same = [nn.BatchNorm2d(c_in)] if (c_in, stride) == (c_out, 1) else []
        one = [normed(c_in, c_out, 1, stride, groups)] if size > 1 else []
        many = [normed(c_in, c_out, size, stride, groups) for _ in range(4)]
        return Parallel(*same, *one, *many)

    layers = [block(3, 12, 3, 2), block(12, 12, 3, 2, 12), block(12, 16, 1, 1)]
    layers += [block(16, 16, 3, 1, 16), block(16, 16, 1, 1)]
    return nn.Sequential(*layers, head(16)), (1, 3, 32, 28)


class Memory(nn.Module):
    """FSMN's: a dense layer, then taps of the past and the future per channel."""

    def __init__(self, width: int, narrow: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(width, narrow, bias=False), nn.Linear(narrow, width)
        self.left = nn.Conv2d(narrow, narrow, (6, 1), groups=narrow, bias=False)
        self.right = nn.Conv2d(narrow, narrow, (3, 1), groups=narrow, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.down(x).unsqueeze(1).permute(0, 3, 2, 1)
        left = self.left(fn.pad(rows, [0, 0, 5, 0]))
        right = self.right(fn.pad(rows, [0, 0, 0, 3])[:, :, 1:, :])
        y = (rows + left + right).permute(0, 3, 2, 1)
        return fn.relu(self.up(y.squeeze(1)))


def fsmn() -> tuple[nn.Module, tuple[int, ...]]:
    """Four memories."""
    first = nn.Sequential(nn.Linear(40, 24), nn.ReLU())
    layers = [Memory(24, 16) for _ in range(4)]
    return nn.Sequential(first, *layers, nn.Linear(24, 5), nn.Softmax(-1)), (1, 30, 40)


class Stage(nn.Module):
    """YOLO's C2f: the latest half goes through bottlenecks, and all of them are joined."""

    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        half = c_out // 2
        self.first, self.last = silu(c_in, c_out, 1), silu(half * 4, c_out, 1)
        self.blocks = nn.ModuleList(
            [Residual(nn.Sequential(silu(half, half), silu(half, half))) for _ in range(2)]
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.last(torch.cat(parts, 1))


def silu(c_in: int, c_out: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    """Convolution, batch norm, SiLU."""
    layer = nn.Conv2d(c_in, c_out, size, stride, size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(c_out), nn.SiLU())


class YoloBody(nn.Module):
    """Two levels, pooled at the end of the deep one, and joined upwards."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(silu(3, 8, 3, 2), silu(8, 16, 3, 2), Stage(16, 16))
        self.deep = nn.Sequential(silu(16, 24, 3, 2), Stage(24, 24))
        self.narrow, self.wide = silu(24, 12, 1), silu(48, 24, 1)
        self.up = Stage(40, 16)

    def forward(self, x: Tensor) -> list[Tensor]:
        shallow = self.stem(x)
        pools = [self.narrow(self.deep(shallow))]
        for _ in range(3):
            pools.append(fn.max_pool2d(pools[-1], 5, 1, 2))
        deep = self.wide(torch.cat(pools, 1))
        up = fn.interpolate(deep, scale_factor=2.0, mode="nearest")
        return [self.up(torch.cat([up, shallow], 1)), deep]


class YoloHead(nn.Module):
    """YOLOv8's: distances as means of distributions over 16 bins, and classes."""

    def __init__(self, body: nn.Module, classes: int = 5) -> None:
        super().__init__()
        self.body, self.classes = body, classes
        self.boxes = nn.ModuleList(
            [nn.Sequential(silu(c, 16), nn.Conv2d(16, 64, 1)) for c in (16, 24)]
        )
        self.scores = nn.ModuleList(
            [nn.Sequential(silu(c, 16), nn.Conv2d(16, classes, 1)) for c in (16, 24)]
        )
        self.bins = nn.Conv2d(16, 1, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        levels = [
            torch.cat([box(y), score(y)], 1)
            for y, box, score in zip(self.body(x), self.boxes, self.scores, strict=True)
        ]
        anchors, steps = [], []
        for level, step in zip(levels, (4, 8), strict=True):
            h, w = (int(d) for d in level.shape[2:])
            sy, sx = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
            anchors.append(torch.stack((sx, sy), -1).view(-1, 2))
            steps.append(torch.full((h * w, 1), float(step)))
        centres = torch.cat(anchors).transpose(0, 1).unsqueeze(0)
        flat = torch.cat([y.view(1, 64 + self.classes, -1) for y in levels], 2)
        box, scores = flat.split((64, self.classes), 1)
        n, _, count = box.shape
        bins = box.view(n, 4, 16, count).transpose(2, 1).softmax(1)
        low, high = self.bins(bins).view(n, 4, count).chunk(2, 1)
        one, two = centres - low, centres + high
        found = torch.cat(((one + two) / 2, two - one), 1) * torch.cat(steps).transpose(0, 1)
        return torch.cat((found, scores.sigmoid()), 1)


class GridHead(nn.Module):
    """YOLOv5's: three boxes a cell, relative to it."""

    def __init__(self, body: nn.Module, classes: int = 5) -> None:
        super().__init__()
        self.body, self.wide = body, classes + 5
        self.layers = nn.ModuleList([nn.Conv2d(c, 3 * self.wide, 1) for c in (16, 24)])

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for y, layer, step in zip(self.body(x), self.layers, (4, 8), strict=True):
            y = layer(y)
            n, _, h, w = y.shape
            y = y.view(n, 3, self.wide, h, w).permute(0, 1, 3, 4, 2).contiguous()
            sy, sx = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack((sx, sy), 2).expand(1, 3, h, w, 2) - 0.5
            sizes = torch.tensor([1.5, 2.0, 3.0]).view(1, 3, 1, 1, 1).expand(1, 3, h, w, 2) * step
            xy, wh, scores = y.sigmoid().split((2, 2, self.wide - 4), 4)
            y = torch.cat(((xy * 2 + grid) * step, (wh * 2) ** 2 * sizes, scores), 4)
            found.append(y.view(n, 3 * h * w, self.wide))
        return torch.cat(found, 1)


def yolo_body() -> tuple[nn.Module, tuple[int, ...]]:
    """Features of two levels."""
    return YoloBody(), (1, 3, 64, 48)


def yolo_v8() -> tuple[nn.Module, tuple[int, ...]]:
    """With distributions."""
    return YoloHead(YoloBody()), (1, 3, 64, 48)


def yolo_v5() -> tuple[nn.Module, tuple[int, ...]]:
    """With cells."""
    return GridHead(YoloBody()), (1, 3, 64, 48)


BODIES: dict[str, tuple[Make, int]] = {
    "shufflenet_v2": (shufflenet_v2, 0),
    "poolformer": (poolformer, 0),
    "sknet": (sknet, 0),
    "resnest": (resnest, 0),
    "repvgg": (repvgg, 0),
    "mobileone": (mobileone, 0),
    "fsmn": (fsmn, 0),
    "yolo_body": (yolo_body, 0),
    "yolo_v8": (yolo_v8, 0),
    "yolo_v5": (yolo_v5, 2),
    "mobilevit": (mobilevit, 4),
    "mobilevit_v2": (mobilevit_v2, 2),
    "vit": (vit, 2),
}
"""Name -> the network, and how many transposes it needs at most."""
