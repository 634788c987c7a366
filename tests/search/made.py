"""Problems and spaces that take a moment."""

import numpy as np

from tinyrt.api.fitting import DeviceBudget
from tinyrt.search import Candidate, Problem, SearchSetting
from tinyrt.train.nn import BatchNorm, Linear, ReLU, Sequential

ARENA = DeviceBudget(arena=60)
"""Which hidden layers of up to 48 numbers fit; nothing is built for it."""

QUICK = SearchSetting(ARENA, trials=8, epochs=9, int8_epochs=1)


def blobs(n=90, classes=3, seed=0):
    """Classes of points around centres of their own, by name as in a data file."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = 2 * rng.standard_normal((classes, 12))
    return {"x": (centres[y] + rng.standard_normal((n, 12))).astype(np.float32), "y": y}


def problem():
    return Problem.of(blobs())


def dense(trial, problem, rng):
    """One hidden layer."""
    width = trial.suggest_int("width", 4, 96, step=4)
    rate = trial.suggest_float("rate", 1e-3, 1e-1, log=True)
    network = Sequential(
        hidden=Linear(problem.input_shape[0], width, rng=rng, bias=False),
        norm=BatchNorm(width),
        relu=ReLU(),
        out=Linear(width, problem.outputs, rng=rng),
    )
    return Candidate(network, learning_rate=rate, batch=16)


FILE = """
from tinyrt.train.nn import Linear, Sequential

def flat(trial, problem, rng):
    trial.suggest_int("nothing", 0, 999999)
    return Sequential(out=Linear(problem.input_shape[0], problem.outputs, rng=rng))
"""
