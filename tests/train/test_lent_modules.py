"""Who runs a module of somebody else's leaves it as it was, and has it answer as deployed."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.search.made import blobs
from tinyrt.search import Candidate, Problem
from tinyrt.search.learning import score_of
from tinyrt.search.sharing import places_of
from tinyrt.train import trace
from tinyrt.train.channel_scores import channel_scores
from tinyrt.train.distill import Distillation, Features
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import BatchNorm, Dropout, Linear, ReLU, Sequential
from tinyrt.train.recipes.stages import answers_of

ROOT = Path(__file__).parents[2]
DATA = blobs(40)
X, Y = DATA["x"], DATA["y"]


def net(seed=0):
    """A network that answers otherwise while it is trained."""
    rng = np.random.default_rng(seed)
    made = Sequential(
        hidden=Linear(12, 8, rng=rng),
        norm=BatchNorm(8),
        relu=ReLU(),
        drop=Dropout(0.5, rng=rng),
        out=Linear(8, 3, rng=rng),
    )
    made.layers["norm"].mean.data += rng.normal(size=8).astype(np.float32)
    return made


def trainable():
    """The same as a graph, whose norm stands for itself."""
    model = GraphModel(trace(net(), (12,)))
    assert any(isinstance(module, BatchNorm) for _, module in model.named_modules())
    return model


def distilled(teacher):
    features = Features("hidden", "hidden")
    return Distillation(teacher, features=(features,))(net(1), X, Y).item()


USERS = {
    "tinyrt/search/learning.py": (net, lambda of: score_of(of, Problem.of(DATA), np.arange(40))),
    "tinyrt/search/sharing.py": (net, lambda of: places_of(Candidate(of), (12,))),
    "tinyrt/train/channel_scores.py": (
        trainable,
        lambda of: {name: x.tolist() for name, x in channel_scores(of, X, Y).items()},
    ),
    "tinyrt/train/distill.py": (net, distilled),
    "tinyrt/train/recipes/stages.py": (net, lambda of: answers_of(of)(X).tolist()),
    "tinyrt/train/tracing.py": (net, lambda of: str(trace(of, (12,)))),
}
"""Module that runs another's -> what makes that, and a call."""

OWN = {
    "tinyrt/train/core/module.py": "defines it",
    "tinyrt/train/pipeline/run.py": "the model is its own",
}


def test_every_module_that_runs_another_s_stands_in_the_table():
    files = sorted((ROOT / "tinyrt").rglob("*.py"))
    named = [str(f.relative_to(ROOT)) for f in files if re.search(r"\bevaluating\(", f.read_text())]
    assert {*named} == USERS.keys() | OWN.keys()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("user", USERS)
def test_what_is_lent_stays_as_it_was(user, training):
    make, call = USERS[user]
    lent = make()
    lent.train(training)
    list(lent.named_modules())[-1][1].train(not training)
    told = []
    for _, module in lent.named_modules():  # somebody else listens already
        module.observers = (told.append,)
    modes = [module.training for _, module in lent.named_modules()]
    state = {name: data.copy() for name, data in lent.state_dict().items()}
    answer = call(lent)
    assert [module.training for _, module in lent.named_modules()] == modes
    assert {module.observers for _, module in lent.named_modules()} == {(told.append,)}
    for name, data in lent.state_dict().items():
        np.testing.assert_array_equal(data, state[name], err_msg=name)
    deployed = make()
    deployed.train(False)
    assert call(deployed) == answer, "whatever mode it is in"
    assert all(parameter.grad is None for parameter in lent.parameters())
