"""Layers between transposes that mix heads, as windows over heads."""

import math

import numpy as np
import pytest

from tests.passes.examples_heads import mixed_heads, mixture
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tests.passes.test_every_pass import applied
from tinyrt.convert.passes.mix_heads import MIX_HEADS
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.interpreter import Model
from tinyrt.quantize import PRESETS, Preset, quantize_graph

TO_LAST, BACK = (0, 2, 3, 1), (0, 3, 1, 2)


@pytest.mark.parametrize(
    ("shape", "lanes"),
    [
        ((1, 2, 12, 12), 8),
        ((1, 8, 20, 20), 8),
        ((1, 3, 15, 15), 9),
        ((1, 2, 49, 49), 7),
        ((1, 2, 17, 17), 17),
        ((2, 12, 12), 8),
        ((1, 1, 4, 144), 8),
    ],
)
@pytest.mark.parametrize("heads", [2, 8])
def test_each_head_reads_all_heads_by_a_window(shape, lanes, heads):
    net = Net(shape)
    axis = next(i for i, size in enumerate(shape) if size != 1)
    rest = tuple(i for i in range(len(shape)) if i != axis)
    back = tuple(sorted(range(len(shape)), key=(*rest, axis).__getitem__))
    y = net.transpose(mixture(net, net.transpose("x", (*rest, axis)), heads), back)
    graph, _ = applied(net.graph(y), MIX_HEADS, REMOVE_DEAD)
    assert ops(graph) == ["reshape", *["depthwise_conv2d"] * heads, "concatenation", "reshape"]
    elements = math.prod(shape) // shape[axis]
    image = (1, shape[axis], elements // lanes, lanes)
    layers = [node for node in graph.nodes if node.op == "depthwise_conv2d"]
    assert {graph.value(node.inputs[0]).shape for node in layers} == {image}
    assert {graph.value(node.inputs[1]).shape for node in layers} == {(1, shape[axis], 1, lanes)}


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_biases_and_clamps_are_kept_and_a_convolution_mixes_as_well(activation):
    net = Net((1, 2, 12, 12))
    dense = mixture(net, net.transpose("x", TO_LAST), 3, activation)
    graph, _ = apply(net.graph(net.transpose(dense, BACK)), MIX_HEADS)
    assert "depthwise_conv2d" in ops(graph)
    net = Net((1, 2, 12, 12))
    conv = net.conv(net.transpose("x", TO_LAST), 3, 1, activation=activation)
    graph, _ = apply(net.graph(net.transpose(conv, BACK)), MIX_HEADS)
    assert "depthwise_conv2d" in ops(graph)


def test_int8_answers_are_those_of_the_layer():
    """Scales and biases belong to a head's row, as they did."""
    net = Net((1, 4, 12, 12))
    plain = net.graph(mixed_heads(net, "x", 4))
    data = np.random.default_rng(0).standard_normal((8, 4, 12, 12)).astype(np.float32)
    answers = []
    for graph in (plain, applied(plain, MIX_HEADS)[0]):
        int8 = quantize_graph(graph, data, PRESETS[Preset.FAST])
        answers.append(np.asarray(Model(int8)(data)))
    step = np.ptp(answers[0]) / 255
    assert np.abs(answers[1] - answers[0]).max() <= 1.01 * step


def uneven(net: Net, back: tuple[int, ...]) -> str:
    return net.transpose(mixture(net, net.transpose("x", TO_LAST), 2), back)


MISSES = {
    "moves that do not undo each other": Miss(
        "mix_heads", ((1, 2, 12, 12),), lambda net: uneven(net, (0, 3, 2, 1))
    ),
    "a window of several pixels": Miss(
        "mix_heads",
        ((1, 2, 12, 12),),
        lambda net: net.transpose(net.conv(net.transpose("x", TO_LAST), 2, 3), BACK),
    ),
    "heads of several images": Miss(
        "mix_heads", ((2, 2, 12, 12),), lambda net: mixed_heads(net, "x", 2)
    ),
    "moves of ones": Miss("mix_heads", ((1, 1, 1, 200),), lambda net: uneven(net, BACK)),
    "more than 8 heads": Miss(
        "mix_heads", ((1, 9, 20, 20),), lambda net: mixed_heads(net, "x", 2), "more than 8 heads"
    ),
    "few tokens": Miss(
        "mix_heads", ((1, 2, 8, 8),), lambda net: mixed_heads(net, "x", 2), "more bytes than a head"
    ),
    "a prime number of elements": Miss(
        "mix_heads", ((1, 2, 1, 211),), lambda net: mixed_heads(net, "x", 2), "more bytes than"
    ),
    "what is turned has other readers": Miss(
        "mix_heads",
        ((1, 2, 12, 12),),
        lambda net: read_twice(
            net,
            y := net.transpose("x", TO_LAST),
            net.transpose(mixture(net, y, 2), BACK),
        ),
        "has other readers",
    ),
    "what is mixed has other readers": Miss(
        "mix_heads",
        ((1, 2, 12, 12),),
        lambda net: read_twice(
            net,
            y := mixture(net, net.transpose("x", TO_LAST), 2),
            net.transpose(y, BACK),
        ),
        "has other readers",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_near_misses(name):
    check(MISSES[name])
