"""Trains the example's autoencoder on a recorded blood pressure, and writes what the folder holds.

python train.py [FOLDER]: pressure.tflite, with its front end and its threshold, and recording.npy,
which the network was not trained on. Needs ``tinyrt[recipes]``: the recording is series 135 of the
UCR Anomaly Archive, as the package aeon carries it. Takes some seconds.
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
from tinyrt.train.recipes.series import aeon_file

RATE = 250
"""Samples in a second. The archive does not say it; a beat has about 175 of them."""
UNIT = 100
"""Steps of the sensor for each unit of the recording, which goes from 56 to 104."""
FRONT = Motion(
    axes=1, sample_rate=RATE, window=128, step=32, edges=(2, 5, 10, 20, 40, 80, RATE / 2)
)
TRAINED, NORMAL = 900, 1_200
"""So many samples are trained on; those up to the second, normal as well, choose the threshold."""
OFTEN = 2
"""Samples from one window to the next in training."""
SAFETY = 2.0
"""The threshold is so many times the largest error of what was normal and not trained on."""


def pressure() -> tuple[np.ndarray, np.ndarray]:
    """All samples, int16 (7501, 1), and where the archive marks an anomaly, bool (7501,)."""
    name = "135_UCR_Anomaly_InternalBleeding16_TEST.csv"
    table = np.loadtxt(aeon_file("KDD-TSAD_135", name), delimiter=",", skiprows=1)
    return np.rint(UNIT * table[:, 1:2]).astype(np.int16), table[:, 2] != 0


def unseen() -> tuple[np.ndarray, np.ndarray]:
    """What neither the network nor the threshold has seen, as ``pressure``: 6,301 samples."""
    samples, is_marked = pressure()
    return samples[NORMAL:], is_marked[NORMAL:]


def windows_with(is_marked: np.ndarray) -> np.ndarray:
    """Of each window whether it has samples that are marked."""
    each = np.lib.stride_tricks.sliding_window_view(is_marked, FRONT.window)
    return each[:: FRONT.step].any(axis=1)


def trained(x: np.ndarray, rng: np.random.Generator) -> Sequential:
    """An autoencoder of features float32 (n, features)."""
    n = x.shape[1]
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
    return net


def main(folder: Path) -> None:
    """Train, choose the threshold, and write both files."""
    samples, _ = pressure()
    often = Motion.from_dict(FRONT.as_dict() | {"step": OFTEN})
    rows = MotionStream(often).push(samples[:TRAINED])
    offsets, scales = rows.mean(axis=0).round(), 1 / np.maximum(rows.std(axis=0), 1)
    x = ((rows - offsets) * scales).clip(-6, 6).astype(np.float32)
    net = trained(x, np.random.default_rng(1))
    each = tuple(float(s) for s in scales), tuple(int(o) for o in offsets)
    pipeline = Pipeline(scale=each[0], offset=each[1], motion=often, anomaly=Anomaly(1.0))
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite", "all.tflite")]
        save_tflite(optimize(trace(net, (FRONT.features,), name="pressure")), paths[0])
        # What is not normal is to be seen, not to be cut off: a range of twice what is.
        wide = np.concatenate([x, 2 * x[::4]])
        api.quantize_model(paths[0], wide, paths[1])
        api.attach_front_end(paths[1], pipeline, paths[2])
        errors = api.listen_model(paths[2], samples[TRAINED:NORMAL]).errors
        threshold = SAFETY * float(errors.max())
        alarm = Anomaly(threshold, consecutive=2)
        pipeline = Pipeline(scale=each[0], offset=each[1], motion=FRONT, anomaly=alarm)
        api.attach_front_end(paths[1], pipeline, folder / "pressure.tflite")
    report(folder / "pressure.tflite", threshold)
    np.save(folder / "recording.npy", unseen()[0][1_800:3_848])


def report(model: Path, threshold: float) -> None:
    """Print what the alarm makes of all that is unseen."""
    samples, is_marked = unseen()
    heard, is_bad = api.listen_model(model, samples), windows_with(is_marked)
    above = heard.errors > threshold
    print(f"normal windows: errors up to {heard.errors[~is_bad].max():.3f}, of {(~is_bad).sum()}")
    print(f"marked windows: errors {heard.errors[is_bad].round(3).tolist()}")
    print(f"threshold {threshold:.3f}: {(above & ~is_bad).sum()} normal windows are above it")
    rising = np.flatnonzero(np.diff(heard.alarms.astype(int), prepend=0) == 1)
    print(f"alarms at samples {heard.samples[rising].tolist()}", end="")
    print(f", the anomaly is at {np.flatnonzero(is_marked)[[0, -1]].tolist()}")


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
