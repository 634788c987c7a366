"""Constants that ops of several widths share: each op gets them in integers of its own."""

import numpy as np
import pytest

from tests.graphs import renamed
from tests.passes.random_net import RandomNet as Net
from tinyrt.ir import DType
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph

X = np.random.default_rng(0).standard_normal((200, 6)).astype(np.float32)


def shared():
    """Two sums and a product with one constant."""
    net = Net((1, 6))
    c = net.random(6)
    first = net.add("x", c)
    second = net.mul(net.op("tanh", (first,)), c)
    third = net.add(second, c)
    return net.graph(third), (first, second, third)


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_INT8, Scheme.WEIGHTS_FLOAT16])
def test_weights_that_layers_share_are_stored_and_widened_once(scheme):
    net = Net((1, 6))
    w = net.random(6, 6)
    first = net.op("fully_connected", ("x", w), FullyConnectedAttrs())
    second = net.op("fully_connected", (net.op("tanh", (first,)), w), FullyConnectedAttrs())
    graph = net.graph(second)
    stored = quantize_graph(graph, None, QuantConfig(scheme=scheme))
    layers = [node.inputs[1] for node in stored.nodes if node.op == "fully_connected"]
    assert [node.outputs for node in stored.nodes if node.op == "dequantize"] == [(layers[0],)]
    assert layers == [f"{w}/float"] * 2
    assert evaluate_graph(stored, {"x": X}, against=graph).sqnr_db > 30


@pytest.mark.parametrize("name", ["x", "const1/int16"], ids=["free names", "a name that is taken"])
@pytest.mark.parametrize("wide", [(0,), (1,), (1, 2)])
def test_answers_stay_near_those_of_floats(wide, name):
    graph, adds = shared()
    graph = renamed(graph, "x", name)
    schemes = tuple((adds[i], Scheme.INT16X8) for i in wide)
    mixed = quantize_graph(graph, {name: X}, QuantConfig(scheme_for=schemes))
    assert {v.dtype for v in mixed.values.values() if v.is_constant} == {DType.INT8, DType.INT16}
    assert {n.output.dtype for n in mixed.bound() if n.op in ("add", "mul")} == {
        DType.INT8,
        DType.INT16,
    }
    assert evaluate_graph(mixed, {name: X}, against=graph).sqnr_db > 30
