"""Trains the example's network on computed frames, and writes what the folder holds.

python train.py [FOLDER]: finder.tflite, with its camera and boxes, and frames.npy, digits of which
the network was not trained on. Needs the package ``tinyrt`` with scikit-learn, whose digits these
are; takes some minutes.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Boxes, Camera, Found, Vision
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.train import Adam, trace
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import BatchNorm, Conv2d, Module, ReLU, Sequential
from tinyrt.train.recipes.digits import split_digits

HEIGHT, WIDTH, SIDE = 120, 160, 40
"""Of a frame, and of a digit in it, in pixels."""

ROWS, COLUMNS, CELL = 48, 64, 8
"""Of the image that the network sees, and its pixels for each score."""

CLASSES, PAPER, UNSURE = 11, 10, -1
"""Ten digits and none; near the border of two cells either may find a digit."""

CAMERA = Camera(HEIGHT, WIDTH, ROWS, COLUMNS, pixels="rgb565", channels=1, resize="area")
DOWN, ACROSS, STEP = ROWS // CELL, COLUMNS // CELL, HEIGHT * CELL // ROWS
ANCHORS = tuple(
    (STEP * y + STEP // 2, STEP * x + STEP // 2, SIDE, SIDE)
    for y in range(DOWN)
    for x in range(ACROSS)
)
BOXES = Boxes(
    *(HEIGHT, WIDTH, ANCHORS, CLASSES),
    threshold=40, iou=0.1, candidates=16, most=5, by_class=False, ignored=(PAPER,),
)  # fmt: skip
VISION = Vision(CAMERA, scale=1 / 64, mean=128.0, boxes=BOXES)


Frame = tuple[np.ndarray, list[tuple[int, int, int]]]
"""Words of its pixels; top, left and digit of what is in it."""


class Probabilities(Module):
    """Of the classes of each cell."""

    def forward(self, x: Tensor) -> Tensor:
        """(n, down, across, classes), sums of 1."""
        return apply("softmax", SoftmaxAttrs(), x)


def frame(rng: np.random.Generator, digits: np.ndarray, labels: np.ndarray) -> Frame:
    """Up to four digits on paper in uneven light: words uint16 (height, width), and places."""
    ends = rng.uniform(0.7, 1, (2, 2))
    light = np.outer(np.linspace(*ends[0], HEIGHT), np.linspace(*ends[1], WIDTH))
    ink, places = np.zeros((HEIGHT, WIDTH)), []
    for _ in range(rng.integers(1, 12)):
        y, x = rng.integers(0, [HEIGHT - SIDE + 1, WIDTH - SIDE + 1])
        if len(places) < 4 and all(max(abs(y - b), abs(x - a)) >= SIDE + 4 for b, a, _ in places):
            i = rng.integers(len(digits))
            ink[y : y + SIDE, x : x + SIDE] = np.kron(digits[i, ..., 0], np.ones((5, 5)))
            places.append((y, x, int(labels[i])))
    grey = 230 * light * (1 - 0.85 * ink) + rng.normal(0, 4, ink.shape)
    tint = grey[..., None] * rng.uniform(0.9, 1, 3)
    red, green, blue = np.rint(tint.clip(0, 255)).astype(np.uint16).transpose(2, 0, 1)
    return (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3, places


def cells(places: list[tuple[int, int, int]]) -> np.ndarray:
    """What is in each cell, int64 (down, across)."""
    found = np.full((DOWN, ACROSS), PAPER)
    for y, x, label in places:
        middle = np.array([y, x]) + SIDE / 2
        at = (middle // STEP).astype(int)
        for i, j in np.ndindex(DOWN, ACROSS):
            if np.abs(middle - STEP * (np.array([i, j]) + 0.5)).max() < STEP / 2 + 5:
                found[i, j] = UNSURE
        found[tuple(at)] = label
    return found


def data(
    rng: np.random.Generator, digits: np.ndarray, labels: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Images float32 (n, rows, columns, 1), and cells (n, down, across)."""
    frames = [frame(rng, digits, labels) for _ in range(count)]
    x = np.stack([VISION.real(CAMERA.image(words)) for words, _ in frames])
    return x, np.stack([cells(places) for _, places in frames])


def right(found: Found, places: list[tuple[int, int, int]]) -> tuple[int, int]:
    """How many digits are found, in their place and told right; and how many are not there."""
    middles = [((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in found.boxes.tolist()]
    hits = sum(
        any(
            max(abs(m[0] - y - SIDE / 2), abs(m[1] - x - SIDE / 2)) <= STEP and c == label
            for m, c in zip(middles, found.classes, strict=True)
        )
        for y, x, label in places
    )
    return hits, len(middles) - hits


def main(folder: Path) -> None:
    """Train, and write both files."""
    rng, digits = np.random.default_rng(1), split_digits(0)
    x, y = data(rng, digits.x_train, digits.y_train, 10_000)
    net = Sequential(
        *(Conv2d(1, 8, 3, stride=2, bias=False, rng=rng), BatchNorm(8), ReLU()),
        *(Conv2d(8, 16, 3, stride=2, bias=False, rng=rng), BatchNorm(16), ReLU()),
        *(Conv2d(16, 24, 3, stride=2, bias=False, rng=rng), BatchNorm(24), ReLU()),
        *(Conv2d(24, 32, 3, bias=False, rng=rng), BatchNorm(32), ReLU()),
        Conv2d(32, CLASSES, 1, rng=rng),
    )

    def loss(output: Tensor, wanted: np.ndarray) -> Tensor:
        return cross_entropy(output.reshape(-1, CLASSES), wanted.reshape(-1), ignore_index=UNSURE)

    def rate(step: int, steps: int) -> float:
        return 3e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))

    fit(net, Adam(net.parameters(), 3e-3), x, y, FitConfig(epochs=20), rng=rng, loss=loss, lr=rate)
    net = Sequential(net, Probabilities())
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite")]
        save_tflite(optimize(trace(net, (ROWS, COLUMNS, 1), name="finder")), paths[0])
        api.quantize_model(paths[0], x[:200], paths[1])
        api.attach_front_end(paths[1], VISION, folder / "finder.tflite")
    held = [frame(rng, digits.x_test, digits.y_test) for _ in range(300)]
    np.save(folder / "frames.npy", np.stack([words for words, _ in held[:3]]))
    seen = api.look_model(folder / "finder.tflite", np.stack([words for words, _ in held]))
    told = np.array([right(f, places) for f, (_, places) in zip(seen.boxes, held, strict=True)])
    there = sum(len(places) for _, places in held)
    print(f"{told[:, 0].sum()} of {there} digits found and told, {told[:, 1].sum()} wrong boxes")


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
