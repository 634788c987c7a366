"""Layers that read the same tensor become one, whichever of them have a bias."""

import pytest

from tests.passes.example_parts import joined
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import RULES


@pytest.mark.parametrize("biases", [(True, True), (True, False), (False, True), (False, False)])
def test_a_bias_of_some_is_a_bias_of_all(biases):
    net = Net((1, 6, 6, 3))
    graph = net.graph(joined(net, *(net.conv("x", bias=bias) for bias in biases)))
    after, _ = apply(graph, RULES["merge_siblings"])
    assert ops(after).count("conv2d") == 1
    (layer,) = (node for node in after.nodes if node.op == "conv2d")
    assert len([name for name in layer.inputs if name]) == (3 if any(biases) else 2)
