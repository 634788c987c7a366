"""Channels that are moved, joined or padded on their way are pruned as the same channels."""

import numpy as np
import pytest

from tests.passes.random_net import RandomNet as Net
from tests.train.test_channels import unread
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


@pytest.mark.parametrize("name", KEPT)
def test_they_leave_without_a_trace(name):
    graph = graph_with(KEPT[name])
    channels = Channels(graph)
    first = graph.nodes[0].outputs[0]
    gone = channels.removable(first)[[1, 4]]
    pruned = channels.without(gone)
    assert pruned.value(first).shape[-1] == 4
    x = {"x": np.random.default_rng(0).standard_normal((1, 5, 5, 3)).astype(np.float32)}
    (found,), (want,) = (evaluate(g, x).values() for g in (pruned, unread(channels, gone)))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name):
    graph = graph_with(STAYS[name])
    assert not len(Channels(graph).removable(graph.nodes[0].outputs[0]))
