"""Networks of PyTorch for the accuracy table: the shapes of well-known ones, made small.

Each is trained for some steps to imitate a seeded network of its own kind, so that its weights, and
the statistics of its batch norms, are not those of an initialisation. Gains of norms begin with a
spread, as trained ones have. Everything is seeded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.torch_blocks import (
    Attention,
    ConvMixerBlock,
    ConvNeXtBlock,
    Dense,
    Down,
    GhostBottleneck,
    Grouped,
    Inverted,
    Mixer,
    PixelDetector,
    Residual,
    Shuffle,
    Temporal,
    WordAttention,
    conv,
)
from benchmarks.torch_data import Samples, features, images, spectrograms, waves, words

STEPS = 60
BATCH = 32
SPREAD = 0.5
"""Standard deviation of the logarithm of norms' gains where training begins."""


class OriNet(nn.Module):
    """Seven convolutions, max pools, the mean, two dense layers; no norms."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for c_in, c_out, pooled in (
            (1, 16, False), (16, 16, True), (16, 32, False), (32, 32, True),
            (32, 48, False), (48, 48, True), (48, 64, False),
        ):  # fmt: skip
            layers += [nn.Conv2d(c_in, c_out, 3, padding=1), nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if pooled else []
        self.body = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x).mean((2, 3)))


class PNet(nn.Module):
    """MTCNN's first stage: PReLUs, a head of scores and one of boxes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 10, 3), nn.PReLU(10), nn.MaxPool2d(2, 2, ceil_mode=True),
            nn.Conv2d(10, 16, 3), nn.PReLU(16), nn.Conv2d(16, 32, 3), nn.PReLU(32),
        )  # fmt: skip
        self.scores, self.boxes = nn.Conv2d(32, 2, 1), nn.Conv2d(32, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.body(x)
        return 8 * self.scores(x), self.boxes(x) / 4


class FaceDetector(nn.Module):
    """Scores and boxes at three sizes, joined."""

    def __init__(self) -> None:
        super().__init__()
        widths = (24, 32, 48)
        self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 24, 3, 2))
        self.stages = nn.ModuleList(
            nn.Sequential(Inverted(a, b, 2, 2 if i else 1), Inverted(b, b, 2))
            for i, (a, b) in enumerate(zip((24, *widths[:2]), widths, strict=True))
        )
        self.scores = nn.ModuleList(nn.Conv2d(c, 4, 3, padding=1) for c in widths)
        self.boxes = nn.ModuleList(nn.Conv2d(c, 8, 3, padding=1) for c in widths)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x, scores, boxes = self.stem(x), [], []
        for stage, score, box in zip(self.stages, self.scores, self.boxes, strict=True):
            x = stage(x)
            scores.append(score(x).permute(0, 2, 3, 1).reshape(len(x), -1, 2))
            boxes.append(box(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4) / 5)
        return torch.cat(scores, 1), torch.cat(boxes, 1)


class UNet(nn.Module):
    """Two levels, skips joined."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.middle = conv(1, 12), conv(12, 24), conv(24, 48)
        self.up1, self.up2 = nn.ConvTranspose2d(48, 24, 2, 2), nn.ConvTranspose2d(24, 12, 2, 2)
        self.back1, self.back2, self.out = conv(48, 24), conv(24, 12), nn.Conv2d(12, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.first(x)
        b = self.second(nn.functional.max_pool2d(a, 2))
        c = self.middle(nn.functional.max_pool2d(b, 2))
        b = self.back1(torch.cat([self.up1(c), b], 1))
        return self.out(self.back2(torch.cat([self.up2(b), a], 1)))


class OnsetsCnn(nn.Module):
    """Over log spectrograms: a batch norm first, pools along frequency, a dense layer a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(1)
        self.body = nn.Sequential(
            conv(1, 16), conv(16, 16), nn.MaxPool2d((1, 2)), conv(16, 24), nn.MaxPool2d((1, 2))
        )
        self.dense = nn.Linear(24 * 10, 48)
        self.out = nn.Linear(48, 12)

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(self.norm(x)).permute(0, 2, 1, 3).flatten(2)
        return self.out(torch.relu(self.dense(x)))


class BeatsTcn(nn.Module):
    """Residual dilated convolutions over time, two outputs a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(16, 20, 1), nn.ELU())
        self.blocks = nn.ModuleList(Temporal(20, 2**i) for i in range(6))
        self.beats, self.tempo = nn.Conv1d(20, 1, 1), nn.Linear(20, 30)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x, total = self.first(x), torch.zeros(())
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        return torch.sigmoid(self.beats(x)), self.tempo(total.mean(2))


class LstmVad(nn.Module):
    """Magnitudes of a filter bank, convolutions, an LSTM, a probability."""

    def __init__(self) -> None:
        super().__init__()
        self.bank = nn.Conv1d(1, 34, 32, 16, bias=False)
        self.body = nn.Sequential(
            nn.Conv1d(17, 24, 3, padding=1), nn.ReLU(), nn.Conv1d(24, 24, 3, 2, 1), nn.ReLU()
        )
        self.lstm, self.out = nn.LSTM(24, 24, batch_first=True), nn.Conv1d(24, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        real, imaginary = self.bank(x).split(17, 1)
        x = self.body(torch.sqrt(real**2 + imaginary**2 + 1e-4))
        x, _ = self.lstm(x.transpose(1, 2))
        return torch.sigmoid(4 * self.out(torch.relu(x.transpose(1, 2))))


class GruVad(nn.Module):
    """A GRU over features, a probability a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gru = nn.Linear(20, 24), nn.GRU(24, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x: Tensor) -> Tensor:
        x, _ = self.gru(torch.tanh(self.first(x)))
        return torch.sigmoid(4 * self.out(x))


class Patched(nn.Module):
    """Patches, blocks, a norm, the mean, a dense layer: ViT and MLP-Mixer."""

    def __init__(self, *blocks: nn.Module, width: int = 48, tokens: int = 16) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.places = nn.Parameter(torch.randn(1, tokens, width) * 0.2)
        self.blocks, self.norm = nn.Sequential(*blocks), nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(x)).mean(1))


class Bert(nn.Module):
    """Token numbers, two layers, the first token's features, classes."""

    def __init__(self, width: int = 48, words: int = 100, length: int = 16) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(WordAttention(width) for _ in range(2))
        self.pooled, self.out = nn.Linear(width, width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.words(x) + self.places.weight)
        for layer in self.layers:
            x = layer(x)
        return self.out(torch.tanh(self.pooled(x[:, 0])))


class KeywordTransformer(nn.Module):
    """A dense layer a frame, a token for the class, layers whose norms come last."""

    def __init__(self, bands: int = 40, frames: int = 20, width: int = 48) -> None:
        super().__init__()
        self.frames = nn.Linear(bands, width)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.2)
        self.places = nn.Parameter(torch.randn(1, frames + 1, width) * 0.2)
        self.layers = nn.Sequential(*(WordAttention(width) for _ in range(3)))
        self.out = nn.Linear(width, 12)

    def forward(self, x: Tensor) -> Tensor:
        x = self.frames(x[:, 0])
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.out(self.layers(x)[:, 0])


def classifier(c_in: int, *body: nn.Module, width: int, stride: int = 2) -> nn.Module:
    """A stem, the blocks, the mean and a dense layer to ten classes."""
    stem = conv(c_in, 16, 3, stride)
    tail = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
    return nn.Sequential(stem, *body, *tail)


@dataclass(frozen=True)
class Net:
    """A network, the shape of one sample, its data and its outputs' names."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    data: Samples = images
    outputs: tuple[str, ...] = ("",)


NETS: dict[str, Net] = {
    "orinet": Net(OriNet, (1, 32, 32)),
    "pnet": Net(PNet, (3, 24, 24), outputs=("scores", "boxes")),
    "face_detector": Net(FaceDetector, (3, 64, 64), outputs=("scores", "boxes")),
    "unet": Net(UNet, (1, 32, 32)),
    "convnext": Net(
        lambda: nn.Sequential(
            nn.Conv2d(3, 32, 4, 4), *(ConvNeXtBlock(32) for _ in range(3)),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(32), nn.Linear(32, 10),
        ),
        (3, 32, 32),
    ),
    "deit": Net(lambda: Patched(*(Attention(48) for _ in range(4))), (3, 32, 32)),
    "bert": Net(Bert, (16,), words),
    "pixel_detector": Net(PixelDetector, (3, 32, 32), outputs=("scores", "boxes")),
    "mlp_mixer": Net(lambda: Patched(*(Mixer(48, 16) for _ in range(3))), (3, 32, 32)),
    "onsets_cnn": Net(OnsetsCnn, (1, 20, 40), spectrograms),
    "ds_cnn": Net(
        lambda: classifier(1, *(Inverted(16, 16, 1) for _ in range(4)), width=16),
        (1, 20, 40), spectrograms,
    ),
    "beats_tcn": Net(BeatsTcn, (16, 64), features, ("beats", "tempo")),
    "lstm_vad": Net(LstmVad, (1, 512), waves),
    "gru_vad": Net(GruVad, (24, 20), features),
    "resnet": Net(
        lambda: classifier(
            3, Residual(16, 16), Residual(16, 24, 2), Residual(24, 32, 2), width=32, stride=1
        ),
        (3, 32, 32),
    ),
    "densenet": Net(
        lambda: classifier(3, Dense(16, 8, 4), Down(48, 24), Dense(24, 8, 4), width=56), (3, 32, 32)
    ),
    "mobilenet_v2": Net(
        lambda: classifier(
            3, Inverted(16, 16, 4), Inverted(16, 24, 4, 2), Inverted(24, 24, 4), width=24
        ),
        (3, 32, 32),
    ),
    "mobilenet_v3": Net(
        lambda: classifier(
            3, *(Inverted(16, 16, 3, squeezed=True, act=nn.Hardswish) for _ in range(3)), width=16
        ),
        (3, 32, 32),
    ),
    "shufflenet_v2": Net(
        lambda: classifier(3, *(Shuffle(16) for _ in range(3)), conv(16, 32, 1), width=32),
        (3, 32, 32),
    ),
    "regnet": Net(
        lambda: classifier(3, Grouped(16, 16), Grouped(16, 24, 2), Grouped(24, 24), width=24),
        (3, 32, 32),
    ),
    "ghostnet": Net(
        lambda: classifier(3, *(GhostBottleneck(16, 48) for _ in range(3)), width=16), (3, 32, 32)
    ),
    "convmixer": Net(
        lambda: nn.Sequential(
            nn.Conv2d(3, 32, 4, 4), nn.GELU(), nn.BatchNorm2d(32),
            *(ConvMixerBlock(32) for _ in range(3)),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
        ),
        (3, 32, 32),
    ),
    "keyword_transformer": Net(KeywordTransformer, (1, 20, 40), spectrograms),
    "autoencoder": Net(
        lambda: nn.Sequential(
            nn.Flatten(), nn.Linear(200, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(),
            nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 200),
        ),
        (1, 5, 40), spectrograms,
    ),
}  # fmt: skip


def build(name: str, samples: int) -> tuple[nn.Module, np.ndarray]:
    """The trained network, and samples that it was not trained on."""
    torch.set_num_threads(1)  # of more, training differs with their number
    net = NETS[name]
    rng = np.random.default_rng(0)
    drawn = net.data(BATCH * 8 + samples, rng, net.shape)
    drawn = drawn if drawn.dtype.kind == "i" else drawn.astype(np.float32)
    known, fresh = torch.from_numpy(drawn[: BATCH * 8]), drawn[BATCH * 8 :]
    torch.manual_seed(0)
    teacher, student = net.make(), net.make()
    for module in student.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.LayerNorm):
            nn.init.normal_(module.weight, 0, SPREAD)
            module.weight.data.exp_()
            nn.init.normal_(module.bias, 0, 0.3)
    if name == "autoencoder":
        wanted = [(known.flatten(1) - known.mean()) / known.std()]
    else:
        with torch.no_grad():
            wanted = [_standard(y) for y in _tuple(copy.deepcopy(teacher)(known))]
    _train(student, known, wanted)
    return student.eval(), fresh


def _train(net: nn.Module, x: Tensor, wanted: list[Tensor]) -> None:
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    net.train()
    for step in range(STEPS):
        rows = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
        found = _tuple(net(x[rows]))
        loss = sum(((y - w[rows]) ** 2).mean() for y, w in zip(found, wanted, strict=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _standard(y: Tensor) -> Tensor:
    return (y - y.mean(0)) / (y.std(0) + 1e-6)


def _tuple(y: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return y if isinstance(y, tuple) else (y,)
