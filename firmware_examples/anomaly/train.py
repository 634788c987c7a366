"""Trains the example's autoencoder on computed vibrations, and writes what the folder holds.

python train.py [FOLDER]: machine.tflite, with its front end and its threshold, and recording.npy,
which the network was not trained on. Needs the package ``tinyrt``; takes some seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Anomaly, Motion, MotionStream, Pipeline
from tinyrt.train import Adam, Tensor, trace
from tinyrt.train.nn import Linear, ReLU, Sequential

RATE = 3_200
FRONT = Motion(
    axes=1, sample_rate=RATE, window=512, step=512, edges=(10, 50, 100, 200, 400, 800, 1_600)
)
SAFETY = 2.0
"""The threshold is so many times the largest error of a good machine."""


def vibration(rng: np.random.Generator, samples: int, fault: float) -> np.ndarray:
    """A machine that turns 24 to 30 times a second; int16 (samples, 1).

    With a fault, each ball of the bearing that rolls over it rings the housing at about 900 Hz.
    """
    t = np.arange(samples) / RATE
    turn, x = rng.uniform(24, 30), rng.normal(0, 60, samples)
    for harmonic, level in enumerate((900, 350, 150, 80), 1):
        x += (
            level
            * rng.uniform(0.8, 1.2)
            * np.sin(2 * np.pi * turn * harmonic * t + rng.uniform(0, 2 * np.pi))
        )
    since = (t * turn * 3.57) % 1 / (turn * 3.57)
    x += fault * 1_500 * np.exp(-since * 400) * np.sin(2 * np.pi * 900 * since)
    return np.clip(np.rint(x), -32_768, 32_767).astype(np.int16)[:, None]


def rows(rng: np.random.Generator, clips: int, fault: float) -> np.ndarray:
    """Features int16 (n, features) of so many machines."""
    clips_of_two = [vibration(rng, 2 * FRONT.window, fault) for _ in range(clips)]
    return np.concatenate([MotionStream(FRONT).push(clip) for clip in clips_of_two])


def main(folder: Path) -> None:
    """Train, choose the threshold, and write both files."""
    rng = np.random.default_rng(1)
    good, bad = rows(rng, 400, 0), rows(rng, 100, 1)
    offsets, scales = good.mean(axis=0).round(), 1 / np.maximum(good.std(axis=0), 1)
    x = ((good - offsets) * scales).clip(-6, 6).astype(np.float32)
    n = FRONT.features
    net = Sequential(
        Linear(n, 16, rng=rng), ReLU(), Linear(16, 5, rng=rng), Linear(5, 16, rng=rng), ReLU(),
        Linear(16, n, rng=rng),
    )  # fmt: skip
    optimiser = Adam(net.parameters(), 3e-3)
    for _ in range(1_500):
        batch = Tensor(x[rng.integers(0, len(x), 64)])
        difference = net(batch) - batch
        loss = (difference * difference).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    each = tuple(float(s) for s in scales), tuple(int(o) for o in offsets)
    pipeline = Pipeline(scale=each[0], offset=each[1], motion=FRONT, anomaly=Anomaly(1.0))
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite", "all.tflite")]
        save_tflite(optimize(trace(net, (n,), name="machine")), paths[0])
        # What a faulty machine looks like is to be seen, not to be cut off.
        wide = ((np.concatenate([good, bad]) - offsets) * scales).clip(-12, 12)
        api.quantize_model(paths[0], wide.astype(np.float32)[::3], paths[1])
        api.attach_front_end(paths[1], pipeline, paths[2])
        errors = [api.listen_model(paths[2], unseen(rng, fault)).errors for fault in (0, 1)]
        threshold = SAFETY * float(errors[0].max())
        told = (errors[1] > threshold).mean()
        print(f"good machines: errors up to {errors[0].max():.3g}, threshold {threshold:.3g}")
        print(f"faulty machines: {told:.1%} of answers are above it")
        pipeline = Pipeline(
            scale=each[0], offset=each[1], motion=FRONT, anomaly=Anomaly(threshold, consecutive=2)
        )
        api.attach_front_end(paths[1], pipeline, folder / "machine.tflite")
    parts = [vibration(rng, RATE * 2, fault) for fault in (0, 1, 0, 0.7)]
    np.save(folder / "recording.npy", np.concatenate(parts))


def unseen(rng: np.random.Generator, fault: float) -> np.ndarray:
    """A window of each of 200 machines that training has not seen, one after the other."""
    return np.concatenate([vibration(rng, FRONT.window, fault) for _ in range(200)])


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
