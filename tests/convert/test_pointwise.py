"""Ops on one tensor become one op, and are themselves again."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.convert.pointwise import gather, spread
from tinyrt.ops import OPS, verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs


def steps():
    """2 * relu(2 * x) + 3."""
    b = Builder((2, 3))
    two, three = b.constant(np.full(1, 2, np.float32)), b.constant(np.full(1, 3, np.float32))
    y = b.op("relu", (b.op("mul", ("x", two), MulAttrs()),))
    y = b.op("add", (b.op("mul", (y, two), MulAttrs()), three), AddAttrs())
    return b.graph(y)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_they_are_the_same_ops_again(all_of_them):
    graph = steps()
    one = gather(graph, lambda region: len(region.nodes) == 4)
    assert [node.op for node in one.nodes] == ["pointwise"]
    again = spread(one, all_of_them=all_of_them)
    assert [node.op for node in again.nodes] == ["mul", "relu", "mul", "add"]
    assert again.outputs == graph.outputs
    assert sum(value.is_constant for value in again.values.values()) == 2
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    want = evaluate(graph, {"x": x})
    for other in (one, again):
        np.testing.assert_array_equal(evaluate(other, {"x": x})[graph.outputs[0]], *want.values())


def test_the_same_number_beside_tensors_and_beside_numbers_leaves_their_shapes():
    b = Builder((2, 3), ())
    for x, shape in (("x", (1,)), ("x1", ())):
        b.op("relu", (b.op("mul", (x, b.constant(np.full(shape, 2, np.float32))), MulAttrs()),))
    graph = b.graph("relu_1", "relu_3")
    one = gather(graph, lambda region: True)
    assert [node.op for node in one.nodes] == ["pointwise"] * 2
    again = verify(spread(one))
    assert [again.value(node.output).shape for node in again.nodes] == [(2, 3)] * 2 + [()] * 2
    x, x1 = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32(4)
    answers = evaluate(again, {"x": x, "x1": x1})
    np.testing.assert_array_equal(answers["relu_1"], 2 * x, strict=True)
    np.testing.assert_array_equal(answers["relu_3"], np.array(8, np.float32), strict=True)


def test_regions_that_are_not_accepted_stay():
    graph = steps()
    assert gather(graph, lambda region: False) is graph
    assert gather(graph, lambda region: True, lambda node: node.op == "relu").nodes != graph.nodes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_computed_in_the_inputs_precision(dtype):
    """Constants, too: no float32 is 0.1, or a third."""
    steps = (
        Step("add", AddAttrs(), (0, 0.1)),
        Step("mul", MulAttrs(), (1 / 3, 1)),
        Step("sub", AddAttrs(), (2, 0)),
        Step("relu", NoAttrs(), (3,)),
    )
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(dtype)
    tenth, third = dtype(0.1), dtype(1 / 3)
    wanted = np.maximum(third * (x + tenth) - x, dtype(0))
    ref = OPS["pointwise"].ref_f32
    np.testing.assert_array_equal(ref(PointwiseAttrs(steps), x), wanted, strict=True)
