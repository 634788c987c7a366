"""Weights that the model computes as it runs: kernels that must know them before refuse them."""

from dataclasses import replace

import pytest

from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.planning import kernels_of
from tinyrt.errors import UnsupportedError

LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected", "transpose_conv")


def computed(graph, at):
    """The graph of one op whose weights (1) or bias (2) are an input of the model."""
    (node,) = graph.nodes
    name = node.inputs[at]
    values = graph.values | {name: replace(graph.value(name), data=None)}
    return replace(graph, inputs=(*graph.inputs, name), values=values)


@pytest.mark.parametrize("isa", InstructionSet)
@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("build", [build_s8, build_s16])
def test_layers_refuse_them_for_every_instruction_set(build, op, isa):
    kernels = kernels_of(isa)
    for seed in range(8):
        graph = build(CASES[op](rng := rng_of(op, seed)), rng).graph
        for at in range(1, len(graph.nodes[0].inputs)):
            node = computed(graph, at).bind(0)
            with pytest.raises(UnsupportedError, match="computed while the model runs") as caught:
                assert kernels.kernel(node).calls
            assert graph.nodes[0].inputs[at] in str(caught.value)
