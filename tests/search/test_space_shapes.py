"""Every candidate of the spaces that ship is a network, whatever shape the samples have."""

import numpy as np
import optuna
import pytest

from tests.sampling import sampled
from tests.search import raw
from tinyrt.errors import ShapeError
from tinyrt.search import SPACES, Problem
from tinyrt.search.candidate import candidate_of, graph_of
from tinyrt.search.spaces import series_shape

SHAPES = {
    "narrow": (1, 17, 2),
    "two lines": (2, 9, 1),
    "tall": (21, 2, 3),
    "a column": (13, 1, 1),
    "a pixel": (1, 1, 4),
    "square": (8, 8, 1),
}
RAW = {
    "motion": raw.problem,
    "sound": raw.sounds,
    "camera": lambda: Problem.of(raw.frames()),
}
ON_SAMPLES = sorted(SPACES.keys() - RAW.keys())


def problem(shape):
    y = np.arange(12) % 3
    return Problem(np.random.default_rng(0).random((12, *shape), np.float32), y)


def shapes_of(name):
    """Those that the space takes: series have a single line."""
    series = name in ("tcn", "transformer")
    return [shape for shape in SHAPES.values() if not series or shape[0] == 1]


@pytest.mark.parametrize("shape", [(2, 1, 4), (13, 1, 1), (2, 9, 1)])
def test_series_have_one_line(shape):
    assert series_shape(problem((1, *shape[1:]))) == (1, *shape[1:])
    with pytest.raises(ShapeError, match="the space is for series, samples are"):
        series_shape(problem(shape))


@pytest.mark.parametrize("name", ON_SAMPLES)
def test_all_choices_are_networks_of_samples_of_any_shape(name):
    for shape in shapes_of(name):
        of = problem(shape)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=sum(shape)))
        for _ in range(sampled(2, 4)):
            trial = study.ask()
            graph = graph_of(candidate_of(SPACES[name], trial, of, 0), of)
            assert all(min(v.shape, default=1) > 0 for v in graph.values.values()), trial.params


@pytest.mark.parametrize("name", RAW)
def test_raw_samples_have_networks_behind_every_front_end(name):
    of = RAW[name]()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=4))
    for _ in range(6):
        trial = study.ask()
        graph_of(candidate_of(SPACES[name], trial, of, 0), of)
