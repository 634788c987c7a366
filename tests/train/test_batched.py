"""Graphs that lay a sample out as they please take several: the answers are those of each alone."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.train.test_sequence_lstm import STEPS, UNITS, one_op
from tinyrt.errors import ShapeError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Node, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train import Tensor
from tinyrt.train.batched import batched
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.qat import QatModel

N = 4
"""As many samples as the models have heads, so that one cannot pass for the other unseen."""


class Net(Builder):
    """Of 32 numbers each sample."""

    def __init__(self):
        super().__init__((1, 32))
        self.rng = np.random.default_rng(1)

    def weights(self, *shape):
        return self.constant(self.rng.normal(size=shape).astype(np.float32))

    def shaped(self, x, *shape):
        return self.op("reshape", (x,), ReshapeAttrs(shape))

    def ended(self, x):
        """The samples' axis back in front, and a layer."""
        size = int(np.prod(self.values[x].shape))
        y = self.op("fully_connected", (self.shaped(x, 1, size), self.weights(3, size)), DENSE)
        return self.graph(y)


PLAIN = BatchMatmulAttrs()
DENSE, KEPT = FullyConnectedAttrs(), FullyConnectedAttrs(keep_num_dims=True)


def moved(net):
    """Turned around, its dimensions named from the front, and two heads taken out."""
    x = net.op("transpose", (net.shaped("x", 4, 1, 8),), TransposeAttrs((2, 1, 0)))
    return net.op("slice", (x,), SliceAttrs((1, 0, 3), (5, 1, 1), (1, 1, 1), (2,)))


def dropped_in_front(net):
    """One of the first dimension's rows, which is given up."""
    return net.op("slice", (net.shaped("x", 4, 8),), SliceAttrs((2, 1), (1, 3), (1, 2), (0,)))


def joined(net):
    """Rows behind each other along the first and the last dimension."""
    x = net.shaped("x", 4, 8)
    y = net.op("concatenation", (x, x), ConcatenationAttrs(0))
    return net.op("concatenation", (y, y), ConcatenationAttrs(-1))


def attention(net):
    """Heads first: scores, a softmax, and what they select."""
    x = net.shaped("x", 4, 2, 4)
    scores = net.op("batch_matmul", (x, x), BatchMatmulAttrs(adj_y=True))
    return net.op("batch_matmul", (net.op("softmax", (scores,), SoftmaxAttrs()), x), PLAIN)


def shared_by_heads(net):
    """A product of each head with the one matrix that the sample has for all."""
    heads, one = net.shaped("x", 4, 2, 4), net.shaped("x", 4, 8)
    return net.op("batch_matmul", (heads, one), PLAIN)


def spread(net):
    """A vector of each sample, added to each row of it, and constants in front of all."""
    x, row = net.shaped("x", 4, 8), net.op("slice", (net.shaped("x", 4, 8),), ROW)
    y = net.op("add", (x, row), AddAttrs())
    return net.op("mul", (y, net.weights(2, 4, 8)), MulAttrs())


ROW = SliceAttrs((0, 0), (1, 8), (1, 1), (0,))


def means(net):
    """Along each dimension, named from the front and the back, with and without a place for it."""
    x = net.op("mean", (net.shaped("x", 4, 8),), MeanAttrs((1,), keep_dims=True))
    y = net.op("mean", (net.shaped("x", 4, 2, 4),), MeanAttrs((0, -1)))
    return net.op("add", (x, net.op("mean", (y,), MeanAttrs((0,), keep_dims=True))), AddAttrs())


def dense(net):
    """Layers of rows, flattened and not."""
    x = net.op("fully_connected", (net.shaped("x", 2, 2, 8), net.weights(8, 8)), DENSE)
    return net.op("fully_connected", (net.shaped(x, 2, 2, 8), net.weights(5, 8)), KEPT)


def convolved(net):
    """Several images of each sample."""
    x = net.shaped("x", 2, 4, 4, 1)
    return net.op("conv2d", (x, net.weights(3, 3, 3, 1)), Conv2dAttrs())


def summed(net):
    """Running sums along the first dimension, which is none of the samples'."""
    return net.op("cumsum", (net.shaped("x", 4, 8),), CumsumAttrs(0))


def picked(net):
    """Rows at constant places."""
    return net.op("gather", (net.shaped("x", 4, 8),), GatherAttrs(0, (3, 1), (2,)))


def with_a_constant(net):
    """A part of the model that no sample reaches."""
    two = net.op("add", (net.weights(4, 8), net.weights(8)), AddAttrs())
    return net.op("mul", (net.shaped("x", 4, 8), two), MulAttrs())


NETS = [
    *(moved, dropped_in_front, joined, attention, shared_by_heads, spread, means, dense),
    *(convolved, summed, picked, with_a_constant),
]


def samples(n=N):
    return np.random.default_rng(2).normal(size=(n, 32)).astype(np.float32)


@pytest.mark.parametrize("make", NETS)
def test_several_samples_are_answered_as_each_alone(make):
    net = Net()
    graph, x = net.ended(make(net)), samples()
    alone = np.concatenate([Model(graph)(x[i : i + 1]) for i in range(N)])
    model = GraphModel(graph)
    assert not model.one_by_one
    np.testing.assert_allclose(model(Tensor(x)).data, alone, rtol=1e-4, atol=1e-5)
    found = batched(graph, N).graph
    assert found.value(found.outputs[0]).shape == (N, 3)


@pytest.mark.parametrize("make", [moved, joined, attention, dense, convolved, means])
def test_in_int8_too(make):
    net = Net()
    graph, x = net.ended(make(net)), samples(16)
    model = QatModel(graph, x)
    model.eval()
    deployed = Model(model.deployed())
    alone = np.concatenate([deployed(x[i : i + 1]) for i in range(N)])
    np.testing.assert_allclose(model(Tensor(x[:N])).data, alone, rtol=0, atol=1e-6)


def test_gradients_are_those_of_each_alone():
    net = Net()
    graph, x = net.ended(attention(net)), samples()
    together, alone = GraphModel(graph), GraphModel(graph)
    (together(Tensor(x)) * 2).sum().backward()
    for i in range(N):
        (alone(Tensor(x[i : i + 1])) * 2).sum().backward()
    for a, b in zip(together.parameters(), alone.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.data, b.grad.data, rtol=1e-4, atol=1e-5)


def test_what_leads_to_no_answer_is_left_out_with_its_reshapes():
    net = Net()
    dead = net.op("mean", (net.op("abs", (net.shaped("x", 4, 8),)),), MeanAttrs((0,), True))
    graph = net.ended(moved(net))
    assert any(dead in node.outputs for node in graph.nodes)
    extra = batched(graph, N)
    assert any(owner == dead for owner in extra.owners.values())
    model = GraphModel(graph)
    assert model(Tensor(samples())).shape == (N, 3)
    names = {node.name for node in model.nodes(N)}
    unneeded = {"reshape_0", "abs_1", dead}
    assert names.isdisjoint(unneeded)
    assert unneeded.isdisjoint(extra.owners.get(name) for name in names)


def test_a_batch_in_front_stays_as_it_is():
    net = Net()
    graph = net.ended("x")
    assert batched(graph, N).owners == batched(graph, N).origins == {}


def test_a_bias_that_is_left_out_stays_out():
    net = Net()
    graph, x = net.ended(dense(net)), samples()
    nodes = [replace(n, inputs=(*n.inputs, "")) if n.op in BIASED else n for n in graph.nodes]
    found = batched(graph.with_nodes(nodes), N).graph
    alone = np.concatenate([Model(graph)(x[i : i + 1]) for i in range(N)])
    np.testing.assert_allclose(Model(found)(x), alone, rtol=1e-4, atol=1e-5)


BIASED = {"fully_connected"}


def test_all_outputs_of_a_node_are_of_all_samples():
    graph = one_op()
    rows, flat = ReshapeAttrs((STEPS, UNITS)), ReshapeAttrs((1, STEPS * UNITS))
    nodes = [Node("reshape", "r", ("y",), ("r",), rows), Node("reshape", "z", ("r",), ("z",), flat)]
    values = [Value(n.name, DType.FLOAT32, n.attrs.new_shape) for n in nodes]
    graph = replace(graph.with_nodes((*graph.nodes, *nodes), values), outputs=("z",))
    found = batched(graph, N).graph
    shapes = [(N, STEPS, UNITS), (N, UNITS), (N, UNITS)]
    assert [found.value(name).shape for name in "yhc"] == shapes


def padded(net):
    return net.op("pad", (net.shaped("x", 4, 8),), PadAttrs(((0, 0), (1, 1))))


def joined_with_a_constant(net):
    return net.op(
        "concatenation", (net.shaped("x", 4, 8), net.weights(1, 8)), ConcatenationAttrs(0)
    )


REFUSED = {
    padded: "pad 'pad_1' is not known to keep samples apart",
    joined_with_a_constant: r"input 1 is f32\[1,8\]",
}


@pytest.mark.parametrize("make", REFUSED)
def test_what_is_not_known_goes_one_by_one(make):
    net = Net()
    graph = net.ended(make(net))
    with pytest.raises(ShapeError, match=REFUSED[make]):
        batched(graph, N)
    model, x = GraphModel(graph), samples()
    assert model.one_by_one
    alone = np.concatenate([Model(graph)(x[i : i + 1]) for i in range(N)])
    np.testing.assert_allclose(model(Tensor(x)).data, alone, atol=1e-5)


def test_models_without_samples_in_front_or_with_states_are_refused():
    net = Net()
    with pytest.raises(ShapeError, match="the samples' axis is not in front"):
        batched(net.graph(net.shaped("x", 4, 8)), N)
    graph = one_op()
    states = (("h", "h"),)
    with pytest.raises(ShapeError, match="the model keeps state from sample to sample"):
        batched(replace(graph, states=states), N)
