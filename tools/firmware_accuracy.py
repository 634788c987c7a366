"""How much the models of the example firmwares tell right of what they were not trained on.

Answers are the host's; the tests compare those of the firmwares with them, sample by sample.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np

from tinyrt import api
from tinyrt.attached import pipeline_of
from tinyrt.train.recipes.digits import split_digits

SEED = 5
"""Of all that is made anew."""


def trained_by(model: Path) -> ModuleType:
    """``train.py`` beside a model."""
    path = model.parent / "train.py"
    spec = importlib.util.spec_from_file_location(f"{model.parent.name}_train", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _digits(model: Path) -> float:
    """Of the quarter of scikit-learn's digits that is kept for the test."""
    digits = split_digits(0)
    return float(api.evaluate(model, digits.x_test, labels=digits.y_test).top1 or 0)


def _words(model: Path) -> float | None:
    """Of clips that espeak-ng speaks anew; None where there is no espeak-ng."""
    if shutil.which("espeak-ng") is None:
        return None
    train = trained_by(model)
    clips, labels = train.clips(np.random.default_rng(SEED), 12, 1)
    x = np.stack([train.features(clip) for clip in clips])
    return float(api.evaluate(model, x, labels=labels).top1 or 0)


def _movements(model: Path) -> float | None:
    """Of windows of recorded movements that are kept for the test; None where there is no aeon."""
    pipeline = pipeline_of(model)
    if pipeline is None:
        raise RuntimeError(f"{model} has no front end")
    if find_spec("aeon") is None:
        return None
    rows, labels = trained_by(model).data("TEST")
    return float(api.evaluate(model, pipeline.real(rows), labels=labels).top1 or 0)


def _pressure(model: Path) -> float | None:
    """Of windows of the recording behind what was trained on; None where there is no aeon."""
    pipeline = pipeline_of(model)
    if pipeline is None or pipeline.anomaly is None:
        raise RuntimeError(f"{model} has no alarm")
    if find_spec("aeon") is None:
        return None
    train = trained_by(model)
    samples, is_marked = train.unseen()
    errors = api.listen_model(model, samples).errors
    if errors is None:
        raise RuntimeError(f"{model} has no alarm")
    return float(((errors > pipeline.anomaly.threshold) == train.windows_with(is_marked)).mean())


def _places(model: Path) -> float:
    """Of digits in new frames, those that are found in their place and told right."""
    train, digits = trained_by(model), split_digits(0)
    rng = np.random.default_rng(SEED)
    frames = [train.frame(rng, digits.x_test, digits.y_test) for _ in range(100)]
    found = api.look_model(model, np.stack([words for words, _ in frames])).boxes
    if found is None:
        raise RuntimeError(f"{model} has no boxes")
    hits = [train.right(f, places)[0] for f, (_, places) in zip(found, frames, strict=True)]
    return sum(hits) / sum(len(places) for _, places in frames)


OF: Mapping[str, Callable[[Path], float | None]] = {
    "digits": _digits,
    "first": _digits,
    "keywords": _words,
    "movements": _movements,
    "pressure": _pressure,
    "finder": _places,
}
"""Name of a model -> how it is told."""


@cache
def told_right(model: Path) -> float | None:
    """The share that is told right; None where it takes what is not installed."""
    return OF[model.stem](model)
