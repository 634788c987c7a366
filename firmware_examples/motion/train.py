"""Trains the example's network on recordings of people, and writes what the folder holds.

python train.py [FOLDER]: movements.tflite, with its front end, and recording.npy, which the network
was not trained on. Needs ``tinyrt[recipes]``: the recordings are BasicMotions of the UEA archive,
as the package aeon carries them. Takes some seconds.
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
from tinyrt.train.recipes.series import aeon_file, read_ts

LABELS = ("standing", "walking", "running", "badminton")
RATE = 10
"""Samples in a second; a series has 10 seconds."""
UNIT = 1_000
"""Steps of a sensor for each unit of the recordings: its range is 32 of them."""

FRONT = Motion(axes=3, sample_rate=RATE, window=40, step=20, edges=(0.2, 1, 2, 3, 5))
DETECTOR = Detector(len(LABELS), window=2, threshold=-40, hold=1, ignored=(0,))
OFTEN = 4
"""Samples from one window to the next in training."""


def series(part: str) -> tuple[list[np.ndarray], list[int]]:
    """The acceleration of each recording, int16 (100, 3), and classes; of "TRAIN" or "TEST".

    Both have 40 recordings of 10 seconds with a smart watch, ten of each class.
    """
    found, names = read_ts(aeon_file("BasicMotions", f"BasicMotions_{part}.ts"))
    steps = [np.rint(UNIT * x[:, : FRONT.axes]).clip(-32_768, 32_767) for x in found]
    return [x.astype(np.int16) for x in steps], [LABELS.index(name.lower()) for name in names]


def data(part: str, step: int = FRONT.step) -> tuple[np.ndarray, np.ndarray]:
    """Rows of features int16 (n, features), a window each so many samples, and classes."""
    options = FRONT.as_dict() | {"step": step}
    found, classes = series(part)
    rows = [MotionStream(Motion.from_dict(options)).push(x) for x in found]
    return np.concatenate(rows), np.repeat(classes, [len(each) for each in rows])


def recording() -> np.ndarray:
    """The first recording of each class that is not trained on, then of the second; (500, 3)."""
    found, classes = series("TEST")
    return np.concatenate([found[classes.index(k)] for k in (0, 1, 2, 0, 3)])


def main(folder: Path) -> None:
    """Train, and write both files."""
    rng = np.random.default_rng(1)
    (rows, y), (held, held_y) = data("TRAIN", OFTEN), data("TEST")
    offsets, scales = rows.mean(axis=0).round(), 1 / np.maximum(rows.std(axis=0), 1)
    x, unseen = (
        ((part - offsets) * scales).clip(-4, 4).astype(np.float32) for part in (rows, held)
    )
    net = Sequential(Linear(FRONT.features, 12, rng=rng), ReLU(), Linear(12, len(LABELS), rng=rng))
    fit(net, Adam(net.parameters(), 3e-3), x, y, FitConfig(epochs=30), rng=rng)
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("float.tflite", "int8.tflite")]
        save_tflite(optimize(trace(net, (FRONT.features,), name="movements")), paths[0])
        api.quantize_model(paths[0], x[::5], paths[1])
        for path in paths:
            top1 = api.evaluate(path, unseen, labels=held_y).top1
            print(f"{path.name}: {top1:.3f} of what was held out is told right")
        each = tuple(float(s) for s in scales), tuple(int(o) for o in offsets)
        pipeline = Pipeline(scale=each[0], offset=each[1], detector=DETECTOR, motion=FRONT)
        api.attach_front_end(paths[1], pipeline, folder / "movements.tflite")
    np.save(folder / "recording.npy", recording())


if __name__ == "__main__":
    main(Path(*sys.argv[1:] or ["."]))
