"""The benchmark that searches beside recipes: its candidates are for their samples."""

import numpy as np
import optuna
import pytest

from benchmarks.search_series import DEPLOYMENTS, LIMITS, space_for
from tinyrt.search import Problem
from tinyrt.search.candidate import candidate_of, graph_of
from tinyrt.train.recipes import RECIPES

CHOICES = {"layers": 2, "width0": 8, "kernel0": 7, "stride0": 2, "width1": 12, "kernel1": 3}
CHOICES |= {"stride1": 4, "learning_rate": 0.01, "deployment": "int4"}


@pytest.mark.parametrize(("recipe", "shape"), [("motion", (1, 100, 6)), ("vowels", (1, 29, 12))])
def test_choices_become_convolutions_along_time(recipe, shape):
    x = np.random.default_rng(0).random((30, *shape), np.float32)
    problem = Problem(x, np.arange(30) % 3)
    trial = optuna.trial.FixedTrial(CHOICES)
    candidate = candidate_of(space_for(recipe), trial, problem, 0)
    assert candidate.batch == RECIPES[recipe].training.batch
    assert candidate.deployment == DEPLOYMENTS["int4"]
    assert candidate.augment == RECIPES[recipe].augment
    steps = [n.output.shape[2] for n in graph_of(candidate, problem).bound() if "conv" in n.op]
    first = -(-shape[1] // 2)
    assert steps == [first, -(-first // 4), -(-first // 4)]
    assert LIMITS[recipe].core == "cortex-m4"
