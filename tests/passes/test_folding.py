"""Constants, batch normalisation, and sums and products into the weights in front of them."""

import numpy as np
import pytest

from tests.passes.nets import Net
from tests.passes.run import apply, ops, refusal
from tinyrt.budget import limited
from tinyrt.convert.passes.fold_affine import FOLD_AFFINE
from tinyrt.convert.passes.fold_batchnorm import FOLD_BATCHNORM, SPLIT_BATCHNORM
from tinyrt.convert.passes.fold_constants import FOLD_CONSTANTS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mul import MulAttrs

WEIGHTED = {
    "conv2d": lambda net: net.conv("x"),
    "conv2d without bias": lambda net: net.conv("x", bias=False),
    "depthwise_conv2d": lambda net: net.depthwise("x"),
    "fully_connected": lambda net: net.dense("x"),
}


@pytest.fixture(params=WEIGHTED, ids=str)
def weighted(request):
    """A net and the output of its one op with weights, of 3 or 4 channels."""
    net = Net((2, 3) if request.param == "fully_connected" else (1, 6, 5, 3))
    return net, WEIGHTED[request.param](net)


def test_ops_on_constants_are_computed():
    net = Net((1, 4))
    scale = net.op("tanh", (net.op("add", (net.random(4), net.random(4)), AddAttrs()),))
    graph, log = apply(net.graph(net.op("mul", ("x", scale), MulAttrs())), FOLD_CONSTANTS)
    assert ops(graph) == ["mul"]
    assert log.applied == [("fold_constants", "add_0")]


def test_batch_norm_folds_into_weights(weighted):
    net, y = weighted
    graph, _ = apply(net.graph(net.batch_norm(y)), FOLD_BATCHNORM)
    assert len(graph.nodes) == 1


def test_batch_norm_stays_behind_an_output_that_others_read():
    net = Net((1, 6, 5, 3))
    y = net.conv("x")
    graph = net.graph(net.batch_norm(y), net.op("relu", (y,)))
    assert "has other readers" in refusal(graph, FOLD_BATCHNORM)


def test_batch_norm_stays_behind_an_output_of_the_model():
    net = Net((1, 6, 5, 3))
    y = net.conv("x")
    assert "has other readers" in refusal(net.graph(net.batch_norm(y), y), FOLD_BATCHNORM)


def test_batch_norm_stays_behind_a_clamp():
    net = Net((1, 6, 5, 3))
    graph = net.graph(net.batch_norm(net.conv("x", activation="RELU")))
    assert "fused RELU" in refusal(graph, FOLD_BATCHNORM)


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_a_factor_stays_behind_a_clamp(activation):
    net = Net((1, 6, 5, 3))
    y = net.conv("x", activation="RELU")
    graph = net.graph(net.op("mul", (y, net.random(net.channels(y))), MulAttrs(activation)))
    assert "fused RELU" in refusal(graph, FOLD_AFFINE)


def test_batch_norm_that_nothing_takes_becomes_product_and_sum():
    net = Net((1, 6, 5, 3))
    graph, _ = apply(net.graph(net.batch_norm("x")), FOLD_BATCHNORM, SPLIT_BATCHNORM)
    assert ops(graph) == ["mul", "add"]


@pytest.mark.parametrize("op", ["add", "mul", "sub"])
@pytest.mark.parametrize("constant_first", [False, True])
def test_constants_per_channel_fold_into_weights(weighted, op, constant_first):
    net, y = weighted
    shape = (1,) * (len(net.values[y].shape) - 1) + (net.channels(y),)
    operands = (net.random(*shape), y) if constant_first else (y, net.random(*shape))
    attrs = MulAttrs("RELU6") if op == "mul" else AddAttrs("RELU6")
    graph, _ = apply(net.graph(net.op(op, operands, attrs)), FOLD_AFFINE)
    (node,) = graph.nodes
    assert node.attrs.activation == "RELU6"


def test_scalars_fold_into_weights(weighted):
    net, y = weighted
    graph, _ = apply(net.graph(net.op("mul", (y, net.random(1)), MulAttrs())), FOLD_AFFINE)
    assert len(graph.nodes) == 1


def test_other_constants_stay():
    net = Net((1, 6, 5, 3))
    y = net.conv("x")
    graph = net.graph(net.op("add", (y, net.random(6, 5, 1)), AddAttrs()))
    assert "[6, 5, 1] is not one per channel" in refusal(graph, FOLD_AFFINE)


def test_folded_weights_leave_shared_ones_alone():
    net = Net((1, 6, 5, 3))
    first = net.conv("x")
    shared = net.nodes[-1]
    second = net.op(shared.op, shared.inputs, shared.attrs)
    graph, _ = apply(net.graph(net.batch_norm(first), second), FOLD_BATCHNORM)
    kept = graph.value(shared.inputs[1])
    assert np.array_equal(kept.data, net.values[shared.inputs[1]].data)


def test_what_is_folded_on_the_way_is_let_go():
    net = Net((1, 4))
    x = net.random(100_000, 4)
    for _ in range(40):
        x = net.op("tanh", (x,))
    graph = net.graph(net.op("mul", ("x", x), MulAttrs()))
    with limited(memory=24_000_000):  # 1.6 MB each
        assert ops(apply(graph, FOLD_CONSTANTS)[0]) == ["mul"]
