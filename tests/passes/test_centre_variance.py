"""The variance of JAX's layers: the forms it has, and what it is worth in integers."""

import numpy as np
import pytest

from tests.passes.run import apply, ops, refusal
from tests.passes.test_recognising import Formula
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.centre_variance import CENTRE_VARIANCE
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize import quantize_graph


def variance(net, keep=True, axis=-1, activation="NONE"):
    """Of the last dimension; the mean of squares along an axis."""
    squares = net.op("square", ("x",))
    of_squares = net.op("mean", (squares,), MeanAttrs((axis,), keep))
    mean = net.op("mean", ("x",), MeanAttrs((-1,), keep))
    squared = net.op("square", (mean,))
    return net.op("sub", (of_squares, squared), AddAttrs(activation))


@pytest.mark.parametrize("keep", [True, False])
def test_what_is_left_without_the_mean_is_squared(keep):
    net = Formula((2, 3, 5))
    graph, _ = apply(net.graph(variance(net, keep)), CENTRE_VARIANCE, REMOVE_DEAD)
    assert ops(graph) == ["mean", *([] if keep else ["reshape"]), "sub", "mul", "mean"]


def test_means_of_other_elements_stay():
    net = Formula((2, 4, 4))
    assert "of the same elements" in refusal(net.graph(variance(net, False, 1)), CENTRE_VARIANCE)
    net = Formula((4, 4))
    mixed = net.op("mean", (net.op("square", ("x",)),), MeanAttrs((0,), True))
    mean = net.op("square", (net.op("mean", ("x",), MeanAttrs((1,), False)),))
    graph = net.graph(net.op("sub", (mixed, mean), AddAttrs()))
    assert "differ in shape" in refusal(graph, CENTRE_VARIANCE)


def test_sums_that_a_constant_gives_a_dimension_stay():
    """A number of shape (1, 1) beside a vector makes a matrix, which the rule would not."""
    net = Formula((4, 2))

    def mean_of(x):
        share = net.constant(np.full((1, 1), 0.5, np.float32))
        return net.mul(net.op("sum", (x,), ReduceAttrs((-1,), False)), share)

    squared = net.op("square", (mean_of("x"),))
    y = net.op("sub", (mean_of(net.op("square", ("x",))), squared), AddAttrs())
    graph = net.graph(y)
    assert graph.value(y).shape == (1, 4)
    assert ops(apply(graph, CENTRE_VARIANCE)[0]) == ops(graph)


@pytest.mark.parametrize("factors", [(0.5, 0.25), (0.25, 0.5)])
def test_both_sums_are_divided_by_how_many_they_are_of(factors):
    net = Formula((2, 4))
    means = [
        net.mul(net.op("sum", (x,), ReduceAttrs((-1,), True)), factor)
        for x, factor in zip((net.op("square", ("x",)), "x"), factors, strict=True)
    ]
    y = net.op("sub", (means[0], net.op("square", (means[1],))), AddAttrs())
    assert "a sum is 2 times the mean" in refusal(net.graph(y), CENTRE_VARIANCE)


def test_an_activation_stays():
    net = Formula((2, 4))
    graph = net.graph(variance(net, activation="RELU"))
    assert ops(apply(graph, CENTRE_VARIANCE)[0]) == ops(graph)


def test_it_does_not_cancel_where_means_are_large():
    """In float32 the squares of a mean of 300 leave few digits; in int8 they leave none."""
    net = Formula((1, 64))
    graph = net.graph(net.op("sqrt", (net.add(variance(net), 0.01),)))
    rng = np.random.default_rng(7)
    deviation = rng.uniform(0.5, 4, (200, 1))
    x = (rng.normal(size=(200, 64)) * deviation + 300).astype(np.float32)
    exact = x.astype(np.float64).std(axis=1, keepdims=True)
    exact = np.sqrt(exact**2 + 0.01)
    centred = optimize(graph)
    (before,), (after,) = (evaluate(g, {"x": x[:1]}).values() for g in (graph, centred))
    assert abs(after - exact[0]) < abs(before - exact[0]) / 10
    small = (x - 290).astype(np.float32)
    exact = Model(graph)(small)
    worth = [
        sqnr_db(exact[100:], Model(quantize_graph(g, small[:100]))(small[100:])).mean()
        for g in (graph, centred)
    ]
    assert worth[1] > worth[0] + 10
