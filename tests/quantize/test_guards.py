"""Guards against NaN, which integers have no need of."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.guards import without_guards

X = np.random.default_rng(0).normal(size=(64, 6)).astype(np.float32)


def guarded(*shape):
    """x != x ? 0 : x, zeros of a shape."""
    b = Builder((1, 6))
    zeros = b.constant(np.zeros(shape, np.float32))
    y = b.op("select_v2", (b.op("not_equal", ("x", "x")), zeros, "x"))
    return b.graph(b.op("tanh", (y,)))


@pytest.mark.parametrize(
    ("shape", "ops"),
    [((1, 6), ["tanh"]), ((1,), ["tanh"]), ((3, 6), ["not_equal", "select_v2", "tanh"])],
)
def test_a_guard_goes_unless_it_makes_its_operand_larger(shape, ops):
    graph = guarded(*shape)
    assert [node.op for node in without_guards(graph).nodes] == ops
    quantized = quantize_graph(graph, X, QuantConfig())
    assert quantized.output_values[0].shape == graph.output_values[0].shape


@pytest.mark.parametrize(
    ("op", "compared", "chosen"),
    [
        *(("not_equal", ("x", "other"), "x"), ("not_equal", ("other", "x"), "x")),
        *(("not_equal", ("x", "x"), "other"), ("not_equal", ("other", "other"), "x")),
        ("equal", ("x", "x"), "x"),
    ],
)
def test_what_is_nearly_a_guard_stays(op, compared, chosen):
    b = Builder((1, 6))
    zeros = b.constant(np.zeros((1, 6), np.float32))
    names = {"x": "x", "other": b.op("tanh", ("x",))}
    condition = b.op(op, tuple(names[name] for name in compared))
    graph = b.graph(b.op("select_v2", (condition, zeros, names[chosen])))
    ops = [node.op for node in without_guards(graph).nodes]
    assert ops[-2:] == [op, "select_v2"]
