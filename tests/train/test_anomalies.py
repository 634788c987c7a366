"""The first op that gives no number is named, with its layer, its line and its operands."""

import numpy as np
import pytest

from tinyrt.errors import GradientError
from tinyrt.train import Tensor, cross_entropy, grad, trace
from tinyrt.train.anomalies import detect_anomaly
from tinyrt.train.nn import Linear, Module, ReLU, Sequential
from tinyrt.train.sequence import LSTM


class Root(Module):
    def forward(self, x):
        return x.sqrt()


def net():
    return Sequential(relu=ReLU(), root=Root())


def test_a_gradient_is_named_where_it_stops_being_finite():
    x = Tensor(np.array([-1.0, 4.0, 9.0]), requires_grad=True)
    module = net()
    with detect_anomaly(module):
        y = module(x)
        with pytest.raises(GradientError) as caught:
            (y * 3).sum().backward()
    error = caught.value
    assert error.problem.startswith("1 of 3 elements of the gradient of operand 0 are not finite")
    assert error.op.startswith("sqrt of 'root' (test_anomalies.py, line ")
    assert error.op.endswith("return x.sqrt())")
    assert error.tensor == (
        "operand 0 (3,) from 0 to 9; result (3,) from 0 to 3; arrived (3,) from 3 to 3"
    )


def test_a_result_is_named_by_the_kind_of_layer_where_no_module_is_given():
    x = Tensor(np.array([[-1.0, 4.0]]), requires_grad=True)
    with detect_anomaly(), pytest.raises(GradientError) as caught:
        Root()(x * 2)
    assert caught.value.problem == (
        "1 of 2 elements of the result are no numbers, and those of operands are"
    )
    assert caught.value.op.startswith("sqrt of 'Root' (test_anomalies.py, line ")
    assert caught.value.tensor == "operand 0 (1, 2) from -2 to 8"


def test_the_operand_is_counted():
    x, y = (Tensor(np.array([v], np.float32), requires_grad=True) for v in (1.0, 1e-30))
    with detect_anomaly(), pytest.raises(GradientError, match="gradient of operand 1 are not"):
        (x / y).sum().backward()


def test_only_the_first_one_is_named():
    """What comes of NaN, or of what was infinite already, is no fault of the op."""
    x = Tensor(np.array([np.nan, np.inf, 1.0]), requires_grad=True)
    with detect_anomaly():
        y = (x * 2).exp()
        y.backward(np.array([1.0, 1.0, np.nan]))
        assert np.isnan((Tensor(1.0) * x).data[0]), "nor of another operand"
    assert np.isnan(x.grad[[0, 2]]).all()


def test_what_was_applied_before_is_said_so():
    x = Tensor(np.array([0.0]), requires_grad=True)
    y = x.sqrt()
    with detect_anomaly(), pytest.raises(GradientError) as caught:
        y.backward()
    assert caught.value.op == "sqrt from before the block"


def test_gradients_of_gradients_are_looked_at():
    x = Tensor(np.array([0.0]), requires_grad=True)
    with detect_anomaly():
        (slope,) = grad((x**1.5).sum(), [x], create_graph=True)
        with pytest.raises(GradientError, match="are not finite"):
            slope.sum().backward()


def test_training_goes_on_with_the_same_bits_and_tracing_as_before():
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    found = []
    for watched in (False, True):
        rng = np.random.default_rng(1)
        module = Sequential(LSTM(3, 4, rng=rng), Linear(4, 2, rng=rng))

        def step(module=module):
            loss = cross_entropy(module(Tensor(x))[:, -1], [0, 1, 1, 0])
            loss.backward()
            return [p.grad for p in module.parameters()], trace(module, (5, 3))

        if watched:
            with detect_anomaly(module):
                gradients, graph = step()
        else:
            gradients, graph = step()
        found.append((gradients, [n.op for n in graph.nodes]))
    for one, other in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0][1] == found[1][1]
