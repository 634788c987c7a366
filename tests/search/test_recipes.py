"""The benchmark that searches beside recipes: its candidates are for their samples."""

import numpy as np
import optuna
import pytest

from benchmarks.search_recipes import DEPLOYMENTS, LIMITS, space_for
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


def test_digits_are_for_the_space_of_images_varied_as_the_recipe_does():
    problem = Problem(np.zeros((30, 8, 8, 1), np.float32), np.arange(30) % 3)
    choices = {"stem": 8, "stem_stride": 1, "stem_kernel": 3, "blocks": 1, "block1_kernel": 3}
    choices |= {"block1": 12, "block1_pool": 2, "head": "flat", "learning_rate": 0.01}
    candidate = candidate_of(space_for("digits"), optuna.trial.FixedTrial(choices), problem, 0)
    assert (candidate.batch, candidate.augment) == (64, RECIPES["digits"].augment)
    shapes = [node.output.shape for node in graph_of(candidate, problem).bound()]
    assert (1, 4, 4, 12) in shapes
    assert LIMITS["digits"].instructions == round(0.7 * 291_395)
