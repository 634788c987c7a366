"""The digits recipe: accurate, small, and the same on every run."""

import sys

import numpy as np
import pytest

from tinyrt.errors import ToolError
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.evaluate import evaluate
from tinyrt.train.recipes.digits import load_digits, train_digits

MACS = 100_000
PARAMETERS = 8_000


def test_digits_are_learned(digits):
    assert len(digits.x_test) == pytest.approx(0.25 * 1797, abs=10)
    assert len(digits.x_train) + len(digits.x_test) == 1797
    assert digits.test_accuracy >= 0.98
    assert digits.history[-1].loss < digits.history[0].loss


def test_the_graph_classifies_as_the_module_does(digits):
    graph = digits.graph()
    answers = [evaluate(graph, {"input": x[np.newaxis]})["softmax"][0] for x in digits.x_test]
    assert np.sum(answers, axis=1) == pytest.approx(np.ones(len(answers)), abs=1e-5)
    correct = np.mean(np.argmax(answers, axis=1) == digits.y_test)
    assert correct == pytest.approx(digits.test_accuracy, abs=1e-9)


def test_the_network_fits_a_microcontroller(digits):
    graph = digits.graph()
    assert sum(OPS[n.op].macs(n) for n in graph.bound()) < MACS
    assert sum(v.size for v in graph.values.values() if v.is_constant) < PARAMETERS
    assert {v.dtype for v in graph.values.values()} == {DType.FLOAT32}


def test_the_same_seed_gives_the_same_bits():
    seen = []
    first = train_digits(seed=3, epochs=1, on_epoch=seen.append)
    again, other = (train_digits(seed=s, epochs=1) for s in (3, 4))
    assert tuple(seen) == first.history
    assert first.history == again.history
    assert first.history != other.history
    for name, data in first.module.state_dict().items():
        assert data.dtype == np.float32
        np.testing.assert_array_equal(data, again.module.state_dict()[name])


def test_missing_scikit_learn_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ToolError, match=r"pip install 'tinyrt\[demo\]'"):
        load_digits()
