"""Formulas that exporters write out become the op that they stand for."""

import math

import numpy as np
import pytest

from tests.passes.nets import Net
from tests.passes.run import apply, ops, refusal
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.convert.passes.recognise import (
    DIVIDE_BY_CONSTANT,
    DIVIDE_BY_ROOT,
    RECOGNISE_GELU,
    RECOGNISE_HARD_SWISH,
    RECOGNISE_LOGISTIC,
    RECOGNISE_SOFTMAX,
    SCALE_INTO_SOFTMAX,
)
from tinyrt.convert.passes.write_out import WRITE_OUT_ERF
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


class Formula(Net):
    """A net whose constants are numbers."""

    def number(self, value: float) -> str:
        return self.constant(np.full(1, value, np.float32))

    def mul(self, x: str, y: str | float) -> str:
        y = y if isinstance(y, str) else self.number(y)
        return self.op("mul", (x, y), MulAttrs())

    def add(self, x: str, y: str | float, activation: str = "NONE") -> str:
        y = y if isinstance(y, str) else self.number(y)
        return self.op("add", (x, y), AddAttrs(activation))

    def div(self, x: str | float, y: str) -> str:
        x = x if isinstance(x, str) else self.number(x)
        return self.op("div", (x, y), DivAttrs())


def erf_gelu(net: Formula, half: float = 0.5) -> str:
    gate = net.add(net.op("erf", (net.mul("x", math.sqrt(0.5)),)), 1.0)
    return net.mul(net.mul("x", gate), half)


def tanh_gelu(net: Formula) -> str:
    cube = net.mul(net.mul("x", "x"), "x")
    inner = net.mul(net.add("x", net.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return net.mul(net.mul("x", 0.5), net.add(net.op("tanh", (inner,)), 1.0))


@pytest.mark.parametrize("write", [erf_gelu, tanh_gelu])
def test_gelu(write):
    net = Formula((2, 5))
    graph, _ = apply(net.graph(write(net)), RECOGNISE_GELU, REMOVE_DEAD)
    assert ops(graph) == ["gelu"]
    assert graph.nodes[0].attrs.approximate == (write is tanh_gelu)


def test_gelu_of_another_factor_stays():
    net = Formula((2, 5))
    assert "multiplied by 0.7" in refusal(net.graph(erf_gelu(net, 0.7)), RECOGNISE_GELU)


def test_gelu_whose_parts_others_read_stays():
    net = Formula((2, 5))
    y = erf_gelu(net)
    inner = next(n for n in net.nodes if n.op == "erf").outputs[0]
    assert "others read" in refusal(net.graph(y, inner), RECOGNISE_GELU)


def test_erf_is_written_out():
    net = Formula((2, 5))
    graph, _ = apply(net.graph(net.op("erf", ("x",))), WRITE_OUT_ERF)
    assert "erf" not in ops(graph)


GATES = {
    "relu6": lambda net: net.mul(net.mul("x", net.op("relu6", (net.add("x", 3.0),))), 1 / 6),
    "fused": lambda net: net.mul("x", net.mul(net.add("x", 3.0, "RELU6"), 1 / 6)),
    "sigmoid": lambda net: net.mul(
        "x", net.op("relu_0_to_1", (net.add(net.mul("x", 1 / 6), 0.5),))
    ),
}


@pytest.mark.parametrize("gate", GATES)
def test_hard_swish(gate):
    net = Formula((2, 5))
    graph, _ = apply(net.graph(GATES[gate](net)), RECOGNISE_HARD_SWISH, REMOVE_DEAD)
    assert ops(graph) == ["hard_swish"]


def test_gate_of_another_tensor_stays():
    net = Formula((2, 5), (2, 5))
    y = net.mul("x1", net.op("relu6", (net.add("x", 3.0),)))
    assert "not multiplied" in refusal(net.graph(y), RECOGNISE_HARD_SWISH)


def test_logistic_and_swish():
    net = Formula((2, 5))
    grown = net.add(net.op("exp", (net.mul("x", -1.0),)), 1.0)
    graph, _ = apply(
        net.graph(net.div(1.0, grown), net.div("x", grown)), RECOGNISE_LOGISTIC, REMOVE_DEAD
    )
    assert sorted(ops(graph)) == ["logistic", "logistic", "mul"]


def test_growing_exponent_is_no_logistic():
    net = Formula((2, 5))
    y = net.div(1.0, net.add(net.op("exp", (net.mul("x", -2.0),)), 1.0))
    assert "not negated" in refusal(net.graph(y), RECOGNISE_LOGISTIC)


def softmax(net: Formula, axis: int) -> str:
    keep = ReduceAttrs((axis,), True)
    raised = net.op("exp", (net.op("sub", ("x", net.op("reduce_max", ("x",), keep)), AddAttrs()),))
    return net.div(raised, net.op("sum", (raised,), keep))


def test_softmax():
    net = Formula((2, 3, 5))
    graph, _ = apply(net.graph(softmax(net, -1)), RECOGNISE_SOFTMAX, REMOVE_DEAD)
    assert ops(graph) == ["softmax"]


def test_softmax_along_other_dimensions_stays():
    net = Formula((2, 3, 5))
    assert "last dimension" in refusal(net.graph(softmax(net, 1)), RECOGNISE_SOFTMAX)


def test_softmax_whose_sums_get_their_dimension_back():
    net = Formula((2, 3, 5))
    total = net.op("reduce_max", ("x",), ReduceAttrs((2,), False))
    lowered = net.op("sub", ("x", net.reshape(total, 2, 3, 1)), AddAttrs())
    raised = net.op("exp", (lowered,))
    sums = net.op("sum", (raised,), ReduceAttrs((2,), False))
    graph, _ = apply(
        net.graph(net.div(raised, net.reshape(sums, 2, 3, 1))), RECOGNISE_SOFTMAX, REMOVE_DEAD
    )
    assert ops(graph) == ["softmax"]


def test_sums_that_are_turned_are_no_softmax():
    net = Formula((4, 4))
    raised = net.op("exp", ("x",))
    sums = net.reshape(net.op("sum", (raised,), ReduceAttrs((1,), False)), 1, 4)
    assert "last dimension" in refusal(net.graph(net.div(raised, sums)), RECOGNISE_SOFTMAX)


def test_scale_becomes_beta():
    net = Formula((2, 5))
    y = net.op("softmax", (net.mul("x", 0.25),), SoftmaxAttrs())
    graph, _ = apply(net.graph(y), SCALE_INTO_SOFTMAX, REMOVE_DEAD)
    assert [n.attrs for n in graph.nodes] == [SoftmaxAttrs(0.25)]


@pytest.mark.parametrize(("factor", "says"), [(-1.0, "not above 0"), (0.0, "not above 0")])
def test_other_scales_stay(factor, says):
    net = Formula((2, 5))
    y = net.op("softmax", (net.mul("x", factor),), SoftmaxAttrs())
    assert says in refusal(net.graph(y), SCALE_INTO_SOFTMAX)


def test_products_of_tensors_stay_before_softmax():
    net = Formula((2, 5), (2, 5))
    y = net.op("softmax", (net.mul("x", "x1"),), SoftmaxAttrs())
    assert "no product with one number" in refusal(net.graph(y), SCALE_INTO_SOFTMAX)


def test_quotient_of_a_root():
    net = Formula((2, 5))
    positive = net.add(net.op("exp", ("x",)), 0.5)
    root = net.op("sqrt", (positive,))
    graph, _ = apply(net.graph(net.div("x", root), net.div(1.0, root)), DIVIDE_BY_ROOT, REMOVE_DEAD)
    assert sorted(ops(graph)) == ["add", "exp", "mul", "rsqrt", "rsqrt"]


def test_an_inverse_of_a_root_is_clamped_as_before():
    net = Formula((2, 5))
    positive = net.add(net.op("exp", ("x",)), 0.001)
    quotient = (net.number(2.0), net.op("sqrt", (positive,)))
    one = (net.number(1.0), *quotient[1:])
    y, z = (net.op("div", pair, DivAttrs("RELU_N1_TO_1")) for pair in (quotient, one))
    graph, _ = apply(net.graph(y, z), DIVIDE_BY_ROOT, REMOVE_DEAD)
    assert sorted(ops(graph)) == ["add", "exp", "mul", "mul", "rsqrt", "rsqrt"]


def test_quotient_of_a_constant():
    net = Formula((2, 5))
    graph, _ = apply(net.graph(net.div("x", net.random(5))), DIVIDE_BY_CONSTANT)
    assert ops(graph) == ["mul"]


def test_division_by_zero_stays():
    net = Formula((2, 5))
    y = net.div("x", net.constant(np.zeros(5, np.float32)))
    graph = net.graph(net.op("relu", (y,)))
    _, log = apply(graph, DIVIDE_BY_CONSTANT)
    assert "zeros" in next(iter(log.refused.values()))
