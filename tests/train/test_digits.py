"""The digits recipe: accurate, small, and the same on every run."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.sampling import sampled
from tinyrt.errors import ToolError
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.train.recipes.digits import SMALL_DIGITS, load_digits
from tinyrt.train.recipes.recipe import held_out
from tinyrt.train.recipes.stages import train_float

pytestmark = pytest.mark.slow

MACS = 100_000
PARAMETERS = 8_000


def test_digits_are_learned(digits):
    assert len(digits.data.x_test) == pytest.approx(0.25 * 1797, abs=10)
    assert len(digits.data.x_train) + len(digits.data.x_test) == 1797
    # From seed to seed, this small network's score varies by half a percent around 98.7.
    # A third of the epochs is all but as good.
    assert digits.score()["top1"] >= sampled(0.965, 0.97)
    assert digits.history[-1].loss < digits.history[0].loss


def test_the_graph_classifies_as_the_module_does(digits):
    graph = digits.graph()
    x_test = digits.data.x_test
    answers = [evaluate(graph, {"input": x[np.newaxis]})["softmax"][0] for x in x_test]
    assert np.sum(answers, axis=1) == pytest.approx(np.ones(len(answers)), abs=1e-5)
    correct = np.mean(np.argmax(answers, axis=1) == digits.data.y_test)
    assert correct == pytest.approx(digits.score()["top1"], abs=1e-9)


def test_the_network_fits_a_microcontroller(digits):
    graph = digits.graph()
    assert sum(OPS[n.op].macs(n) for n in graph.bound()) < MACS
    assert sum(v.size for v in graph.values.values() if v.is_constant) < PARAMETERS
    assert {v.dtype for v in graph.values.values()} == {DType.FLOAT32}


def test_the_same_seed_gives_the_same_bits():
    seen = []
    recipe = replace(SMALL_DIGITS, training=replace(SMALL_DIGITS.training, epochs=1))
    first = train_float(recipe, seed=3, on_epoch=seen.append)
    again, other = (train_float(recipe, seed=s) for s in (3, 4))
    # As texts: without validation, scores are NaN.
    assert str(tuple(seen)) == str(first.history)
    assert str(first.history) == str(again.history)
    assert str(first.history) != str(other.history)
    for name, data in first.module.state_dict().items():
        assert data.dtype == np.float32
        np.testing.assert_array_equal(data, again.module.state_dict()[name])


def test_held_out_samples_come_from_the_training_part(digits):
    part = held_out(digits.data, 0.25, seed=0)
    assert len(part.x_train) + len(part.x_test) == len(digits.data.x_train)
    whole = {x.tobytes() for x in digits.data.x_train}
    assert {x.tobytes() for x in (*part.x_train, *part.x_test)} == whole


def test_missing_scikit_learn_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ToolError, match=r"pip install 'tinyrt\[demo\]'"):
        load_digits()
