"""What training cannot do says what it would have taken."""

import importlib.util
import sys

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import DataError, ShapeError, ToolError, UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.train import Tensor, cross_entropy
from tinyrt.train.core.function import table_function
from tinyrt.train.core.normalise import normalise_batch
from tinyrt.train.distill import logits_of
from tinyrt.train.recipes.digits import load_digits
from tinyrt.train.recipes.recipe import Dataset, held_out
from tinyrt.train.recipes.series import aeon_file
from tinyrt.train.sequence import MultiHeadAttention


def refused(action, kind):
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def two_outputs():
    b = Builder((1, 4))
    return b.graph(b.op("abs", ("x",)), b.op("neg", ("x",)))


def unlabelled():
    x, y = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32)
    return held_out(Dataset(x, y, x, y), 0.5, 0)


def batch_norm(gamma=2, beta=3):
    parameters = (Tensor(np.ones(count)) for count in (gamma, beta))
    return normalise_batch(Tensor(np.ones((4, 3))), *parameters, 1e-3)


def long_shift():
    return batch_norm(3, 4)


def weighted():
    return cross_entropy(Tensor(np.ones((2, 3))), [0, 1], weights=[1, 2])


REFUSED = [
    (
        lambda: table_function("arg_max"),
        UnsupportedError,
        ["arg_max cannot be trained: it has no float form with a gradient"],
    ),
    (batch_norm, ShapeError, ["batch norm over (4, 3)", "(2,)", "one element per channel: (3,)"]),
    (long_shift, ShapeError, ["batch norm over (4, 3)", "shape (4,)"]),
    (
        lambda: logits_of(Model(two_outputs())),
        DataError,
        ["the teacher has outputs abs_0, neg_1", "one output"],
    ),
    (weighted, ShapeError, ["class weights (2,)", "(3,)"]),
    (unlabelled, DataError, ["have no classes to hold out", "its training loss"]),
    (
        lambda: MultiHeadAttention(6, 4, rng=np.random.default_rng(0)),
        ShapeError,
        ["4 heads for 6 channels", "a divisor of them"],
    ),
]


@pytest.mark.parametrize(("action", "kind", "says"), REFUSED)
def test_what_does_not_fit_is_refused(action, kind, says):
    text = refused(action, kind)
    for part in says:
        assert part in text


def test_data_that_come_with_a_package_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    text = refused(load_digits, ToolError)
    assert "the digits come with scikit-learn, which is not installed" in text
    assert "pip install 'tinyrt[demo]'" in text


def test_series_that_come_with_a_package_name_it(monkeypatch):
    monkeypatch.setattr("tinyrt.train.recipes.series.find_spec", lambda name: None)
    text = refused(lambda: aeon_file("GunPoint.ts"), ToolError)
    assert "the series come with aeon, which is not installed" in text
    assert "pip install --no-deps aeon" in text


def test_a_package_without_its_data_names_the_file(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_loader("aeon", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr("tinyrt.train.recipes.series.find_spec", lambda name: spec)
    text = refused(lambda: aeon_file("GunPoint.ts"), ToolError)
    assert "the installed aeon lacks a data file" in text
    assert "GunPoint.ts" in text
