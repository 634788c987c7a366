"""Trains the example's network on computed movements, and writes what the folder holds.

python train.py [FOLDER]: movements.tflite, with its front end, and recording.npy, which the network
was not trained on. Needs the package ``tinyrt``; takes some seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Detector, Motion, MotionStream, Pipeline
from tinyrt.train import Adam, trace
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import Linear, ReLU, Sequential

LABELS = ("rest", "walking", "running", "shaking")
RATE, GRAVITY = 100, 4096
"""Samples in a second, and steps of a sensor whose range is 8 g."""

FRONT = Motion(axes=3, sample_rate=RATE, window=128, step=64, edges=(0.5, 2, 4, 8, 16, 32))
DETECTOR = Detector(len(LABELS), window=2, threshold=0, hold=3, ignored=(0,))

STEPS = {"walking": (1.5, 2.2, 0.35), "running": (2.5, 3.4, 1.1), "shaking": (4.5, 7.5, 1.4)}
"""Movement -> least and greatest steps in a second, and how strong they are, in g."""


def moved(rng: np.random.Generator, label: str, samples: int) -> np.ndarray:
    """A movement of a sensor that somebody wears in any direction; int16 (samples, 3)."""
    t = np.arange(samples)[:, None] / RATE
    down = rng.normal(size=3)
    down /= np.linalg.norm(down)
    g = np.tile(down, (samples, 1)) + rng.normal(0, 0.01, (samples, 3))
    if label in STEPS:
        low, high, strength = STEPS[label]
        rate, strength = rng.uniform(low, high), strength * rng.uniform(0.7, 1.4)
        sway = rng.normal(size=3)
        sway /= np.linalg.norm(sway)
        for harmonic, part in ((1, 1.0), (2, 0.4), (3, 0.15)):
            phase = rng.uniform(0, 2 * np.pi, 2)
            turn = 2 * np.pi * rate * harmonic * t
            g += strength * part * np.sin(turn + phase[0]) * down
            g += strength * part * 0.4 * np.sin(turn / 2 + phase[1]) * sway
        g += rng.normal(0, 0.05 * strength, (samples, 3))
    return np.clip(np.rint(g * GRAVITY), -32_768, 32_767).astype(np.int16)


def data(rng: np.random.Generator, clips: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of features int16 (n, features), and classes."""
    rows = [
        MotionStream(FRONT).push(moved(rng, label, FRONT.window + 2 * FRONT.step))
        for label in LABELS
        for _ in range(clips)
    ]
    return np.concatenate(rows), np.repeat(np.arange(len(LABELS)), 3 * clips)


def recording(rng: np.random.Generator) -> np.ndarray:
    """Each movement for some seconds, one after the other; int16 (n, 3)."""
    order = ("rest", "walking", "running", "rest", "shaking", "walking")
    return np.concatenate([moved(rng, label, 4 * RATE) for label in order])


def main(folder: Path) -> None:
    """Train, and write both files."""
    rng = np.random.default_rng(1)
    rows, y = data(rng, 200)
    held = rng.random(len(y)) < 0.2
    offsets = rows[~held].mean(axis=0).round()
    scales = 1 / np.maximum(rows[~held].std(axis=0), 1)
    x = ((rows - offsets) * scales).clip(-4, 4).astype(np.float32)
    net = Sequential(Linear(FRONT.features, 12, rng=rng), ReLU(), Linear(12, len(LABELS), rng=rng))
    fit(net, Adam(net.parameters(), 3e-3), x[~held], y[~held], FitConfig(epochs=30), rng=rng)
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite")]
        save_tflite(optimize(trace(net, (FRONT.features,), name="movements")), paths[0])
        api.quantize_model(paths[0], x[~held][::5], paths[1])
        for path in paths:
            top1 = api.evaluate(path, x[held], labels=y[held]).top1
            print(f"{path.name}: {top1:.3f} of what was held out is told right")
        each = tuple(float(s) for s in scales), tuple(int(o) for o in offsets)
        pipeline = Pipeline(scale=each[0], offset=each[1], detector=DETECTOR, motion=FRONT)
        api.attach_front_end(paths[1], pipeline, folder / "movements.tflite")
    np.save(folder / "recording.npy", recording(rng))


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
