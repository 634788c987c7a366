"""The benchmark that searches beside recipes: its candidates are for their samples."""

from types import SimpleNamespace

import numpy as np
import optuna
import pytest

from benchmarks import search_recipes
from benchmarks.search_recipes import BEGIN, DEPLOYMENTS, SHARES, Hand, Watch, by_hand, space_for
from tinyrt.api.costs import Basis, ModelCost
from tinyrt.api.fitting import DeviceBudget
from tinyrt.search import Problem
from tinyrt.search.candidate import candidate_of, graph_of
from tinyrt.search.store import End, Record
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
    assert candidate.loss is RECIPES[recipe].loss


def test_digits_are_for_the_space_of_images_varied_as_the_recipe_does():
    problem = Problem(np.zeros((30, 8, 8, 1), np.float32), np.arange(30) % 3)
    begun = [optuna.trial.FixedTrial(choices) for choices in BEGIN["digits", "cnn"]]
    wider = candidate_of(space_for("digits"), begun[1], problem, 0)
    assert (1, 2, 2, 24) in [node.output.shape for node in graph_of(wider, problem).bound()]
    candidate = candidate_of(space_for("digits"), begun[0], problem, 0)
    assert (candidate.batch, candidate.augment) == (64, RECIPES["digits"].augment)
    shapes = [node.output.shape for node in graph_of(candidate, problem).bound()]
    with pytest.raises(ValueError, match="'stem' is not found"):
        candidate_of(space_for("digits", "dscnn"), begun[0], problem, 0)
    assert [s for s in ((1, 8, 8, 8), (1, 4, 4, 8), (1, 2, 2, 12)) if s not in shapes] == []
    assert candidate.loss is RECIPES["digits"].loss


def test_it_is_told_when_a_trial_is_better_than_all_before(capsys):
    watch = Watch()
    ends = [(End.TRAINED, 0.9), (End.STOPPED, None), (End.TRAINED, 0.9), (End.MISFIT, 0.99)]
    for number, (end, score) in enumerate([*ends, (End.TRAINED, 0.95)], start=1):
        costs = {"instructions": 1_000 * number}
        watch(number, 9, Record(end, "int8", costs=costs, score=score))
    told = capsys.readouterr().out.splitlines()
    assert [line.split("s, ")[1] for line in told] == [
        "trial 1 of 9: 90.00%, 1,000 instructions",
        "trial 5 of 9: 95.00%, 5,000 instructions",
    ]


def test_limits_are_what_the_recipe_costs_on_the_day(monkeypatch):
    cost = ModelCost("cortex-m4", Basis.COUNTED, 2_000, 900, 10_000, 1_001)
    hand = Hand(0.9, cost, None)
    assert hand.limits(0.7) == DeviceBudget("cortex-m4", 2_000, 10_900, 700)
    assert hand.limits(1.0).instructions == 1_001
    assert SHARES == {"digits": 0.7, "motion": 1.0, "vowels": 1.0}


def test_what_is_counted_is_the_pruned_int8_model(monkeypatch):
    """Each stage is handed what the one before gave; nothing is trained here."""
    steps = SimpleNamespace(graph=lambda: "float", recipe=RECIPES["digits"], data="data")
    monkeypatch.setattr(search_recipes, "train_float", lambda recipe, seed: steps)
    monkeypatch.setattr(search_recipes, "prune", lambda trained: f"pruned {trained.graph()}")
    monkeypatch.setattr(
        *(search_recipes, "train_int8"),
        lambda trained, source: SimpleNamespace(deployed=lambda: f"int8 {source}"),
    )
    monkeypatch.setattr(search_recipes, "Model", lambda graph: f"answers of {graph}")
    monkeypatch.setattr(search_recipes, "optimize", lambda graph: f"optimised {graph}")
    monkeypatch.setattr(search_recipes, "cost", lambda *asked, basis: (*asked, basis))
    scored = []
    steps.recipe = SimpleNamespace(score=lambda *given: (scored.append(given), {"top1": 0.5})[1])
    hand = by_hand("digits", 3)
    assert hand.cost == ("int8 pruned float", "cortex-m4", Basis.COUNTED)
    assert (hand.top1, hand.teacher) == (0.5, "optimised float")
    assert scored == [("answers of int8 pruned float", "data")]
