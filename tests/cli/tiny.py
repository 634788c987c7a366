"""A recipe that is trained in no time, and an emulator that only notes what it is asked for."""

from types import SimpleNamespace

import numpy as np

from tinyrt import api
from tinyrt.errors import UnsupportedError
from tinyrt.train import recipes
from tinyrt.train.nn import Flatten, Linear, Sequential
from tinyrt.train.recipes.recipe import Dataset, Recipe, Training

STAGES = ("float", "ptq", "qat", "pruned", "int4")


def two_classes(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(32) % 2
    x = (rng.normal(size=(32, 1, 2, 4)) + y[:, None, None, None]).astype(np.float32)
    return Dataset(x[:16], y[:16], x[16:], y[16:])


TINY = Recipe(
    name="tiny",
    summary="two classes",
    load=two_classes,
    network=lambda rng: Sequential(flat=Flatten(), dense=Linear(8, 2, rng=rng)),
    training=Training(epochs=3, peak_lr=1e-2),
    int8=Training(epochs=2, peak_lr=1e-3),
    int4=Training(epochs=2, peak_lr=1e-3),
    healing=Training(epochs=2, peak_lr=1e-3),
    macs=1.0,
)


def without_emulator(monkeypatch):
    """Put the recipe among the others; what would be emulated, as a list that fills."""

    def run(path, *, core, inputs, build_dir):
        asked.append(SimpleNamespace(path=path, core=core, x=inputs["x"]))
        raise UnsupportedError("nothing is run here")

    asked = []
    monkeypatch.setattr(api, "run_emulated", run)
    monkeypatch.setitem(recipes.RECIPES, "tiny", TINY)
    return asked
