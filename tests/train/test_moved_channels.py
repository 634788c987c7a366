"""Channels that are moved, joined or padded on their way, or come with states, and are pruned."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.passes.random_net import RandomNet as Net
from tests.train.test_channels import unread
from tinyrt.api.reading import open_model
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.train.channels import Channels

BESIDE, AROUND = ((0, 0), (1, 0), (0, 2), (0, 0)), ((0, 0), (0, 0), (0, 0), (1, 1))


def joined(net, y):
    return net.op("concatenation", (y, net.op("tanh", (y,))), ConcatenationAttrs(1))


KEPT = {
    "joined along the height": joined,
    "turned, with channels last": lambda net, y: net.transpose(y, (0, 2, 1, 3)),
    "padded beside": lambda net, y: net.op("pad", (y,), PadAttrs(BESIDE)),
    "multiplied by a constant of each": lambda net, y: net.mul(y, net.random(6)),
    "multiplied by one number": lambda net, y: net.mul(y, 0.5),
}
STAYS = {
    "turned, with channels first": lambda net, y: net.transpose(y, (0, 3, 1, 2)),
    "padded with channels": lambda net, y: net.op("pad", (y,), PadAttrs(AROUND)),
}


def graph_with(move):
    net = Net((1, 5, 5, 3))
    return net.graph(net.conv(move(net, net.conv("x", 6)), 2))


def without(channels, gone):
    """The graph without these sets; it answers as where nothing reads them."""
    pruned, (x,) = channels.without(gone), channels.graph.input_values
    feeds = {x.name: np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)}
    (found,), (want,) = (evaluate(g, feeds).values() for g in (pruned, unread(channels, gone)))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    return pruned


@pytest.mark.parametrize("name", KEPT)
def test_they_leave_without_a_trace(name):
    graph = graph_with(KEPT[name])
    channels = Channels(graph)
    first = graph.nodes[0].outputs[0]
    gone = channels.removable(first)[[1, 4]]
    assert without(channels, gone).value(first).shape[-1] == 4


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name):
    graph = graph_with(STAYS[name])
    assert not len(Channels(graph).removable(graph.nodes[0].outputs[0]))


def test_pixels_that_are_laid_side_by_side_in_part_stay():
    net = Net((1, 4, 4, 3))
    y = net.conv("x", 6)
    graph = net.graph(net.dense(net.reshape(y, 8, 12), 2))
    assert not len(Channels(graph).removable(y))


def test_a_constant_of_several_tensors_loses_what_each_of_them_does():
    net = Net((1, 5, 5, 3))
    factor = net.random(6)
    firsts = [net.conv("x", 6) for _ in range(3)]
    parts = [net.conv(net.mul(y, factor), 2) for y in firsts]
    channels = Channels(net.graph(net.add(net.add(parts[0], parts[1]), parts[2])))
    pruned = without(channels, np.array([channels.removable(y)[i] for i, y in enumerate(firsts)]))
    names = {node.inputs[1] for node in pruned.nodes if node.op == "mul"}
    assert names == {factor, f"{factor}_1", f"{factor}_2"}


def test_what_stands_behind_an_lstm_is_pruned_and_the_lstm_stays(tmp_path):
    file = OnnxModel(17)
    weights = (file.weights(1, 32, 5), file.weights(1, 32, 8), file.weights(1, 64))
    y = file.op("LSTM", file.input(6, 1, 5), *weights, outputs=3, hidden_size=8) + "_1"
    first = file.op("Gemm", file.op("Reshape", y, file.ints(1, -1)), file.weights(8, 6))
    path = file.save(tmp_path, file.op("Gemm", first, file.weights(6, 4)))
    channels = Channels(open_model(path, sequence_lstm=True))
    (lstm,) = (n for n in channels.graph.nodes if n.op == "unidirectional_sequence_lstm")
    assert [len(channels.removable(name)) for name in (*lstm.outputs, first)] == [0, 0, 0, 6]
    pruned = without(channels, channels.removable(first)[[0, 5]])
    assert pruned.value(first).shape[-1] == 4
    assert lstm in pruned.nodes
