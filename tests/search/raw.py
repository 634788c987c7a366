"""Windows of raw samples and frames that take a moment, and spaces for them."""

from dataclasses import replace

import numpy as np

from tinyrt.dsp import Camera, LogMel, Motion
from tinyrt.search import Candidate, Problem
from tinyrt.train.nn import Flatten, Linear, Sequential

SAMPLES = 64
FRONT = Motion(2, 50, 32, 32, edges=(1, 6, 24), peaks=0)
HEARD = LogMel(8_000, 128, 128, bands=8, upper_hz=3_600, noise_reduction=None, pcan=None)


def windows(n=48, seed=0):
    """int16 (n, 64, 2) of an accelerometer at 50 Hz that rests, sways or shakes."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 3
    t = np.arange(SAMPLES)[:, None]
    rate = np.array([0.0, 0.2, 1.1])[y][:, None, None]
    x = 900 * np.sin(rate * t + rng.uniform(0, 6, (n, 1, 2))) * (rate > 0)
    x = x + rng.normal(0, 40, (n, SAMPLES, 2)) + np.array([0, 4096])
    return {"x": np.rint(x).astype(np.int16), "y": y, "rate": 50}


def problem():
    return Problem.of(windows())


def sounds():
    """Windows of sound (n, 800), loud or not."""
    rng, y = np.random.default_rng(1), np.arange(24) % 2
    x = rng.normal(0, np.array([30.0, 900.0])[y][:, None], (24, 800))
    return Problem.of({"x": np.rint(x).astype(np.int16), "y": y, "rate": 8_000})


def features(trial, problem, rng):
    """One layer behind a front end whose bands are chosen."""
    edges = (1, 6, 24) if trial.suggest_int("bands", 1, 2) == 2 else (1, 24)
    front_end = Motion(2, problem.rate, 32, 32, edges=edges, peaks=0)
    view = problem.behind(front_end)
    out = Linear(int(np.prod(view.input_shape)), view.outputs, rng=rng)
    return Candidate(Sequential(flat=Flatten(), out=out), batch=8, front_end=front_end)


EYES = Camera(12, 16, 6, 8, "rgb565", 1, (0, 2, 12, 12), "area")


def pictures(n=48, seed=0):
    """uint8 (n, 12, 16, 3) with a bar across, a bar down, or none; and which."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 3
    x = rng.normal(70, 8, (n, 12, 16, 3))
    for picture, kind in zip(x, y, strict=True):
        at = rng.integers(3, 8)
        if kind:
            picture[*((slice(at, at + 3), slice(None)) if kind == 1 else (slice(None), at))] += 120
    return np.rint(x.clip(0, 255)).astype(np.uint8), y


def frames(n=48, seed=0):
    """The same as a sensor of RGB565 sends them."""
    x, y = pictures(n, seed)
    return {"x": x, "y": y, "pixels": np.array("rgb565")}


def seeing(trial, problem, rng):
    """One layer behind a camera that is grey or not."""
    front_end = replace(EYES, channels=trial.suggest_categorical("channels", [1, 3]))
    view = problem.behind(front_end)
    out = Linear(int(np.prod(view.input_shape)), view.outputs, rng=rng)
    return Candidate(Sequential(flat=Flatten(), out=out), batch=8, front_end=front_end)
