"""Factors and shifts of channels become one layer, where a residual sum reads them."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.explain.debug import debug_graphs
from tinyrt.quantize.methods.affine import merge_affine

CHANNELS = 8
FACTORS = np.exp(np.linspace(-2, 1, CHANNELS)).astype(np.float32)
SHIFTS = np.linspace(-1, 2, CHANNELS).astype(np.float32)


def net(last="add", swapped=False, activation="NONE", reads="tanh", first=None, answered=False):
    """x * factors + shifts, of which a sum with x is the answer."""
    b = Builder((1, 5, CHANNELS))
    factors = b.constant(FACTORS if first is None else first)
    product = b.op("mul", ("x", factors), MulAttrs())
    shifts = b.constant(SHIFTS)
    operands = (shifts, product) if swapped else (product, shifts)
    attrs = AddAttrs(activation)
    y = b.op(last, operands, attrs)
    if reads == "layer":
        w = b.constant(np.eye(CHANNELS, dtype=np.float32))
        z = b.op("fully_connected", (y, w), FullyConnectedAttrs(keep_num_dims=True))
    else:
        z = b.op("add", (y, "x"), AddAttrs())
    return b.graph(z, product) if answered else b.graph(z)


def samples():
    return np.random.default_rng(0).normal(size=(64, 5, CHANNELS)).astype(np.float32)


@pytest.mark.parametrize("last", ["add", "sub"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_one_layer_has_the_same_answers(last, swapped, activation):
    graph, x = net(last, swapped, activation), samples()
    merged = merge_affine(graph, QuantConfig())
    assert [n.op for n in merged.nodes] == ["reshape", "depthwise_conv2d", "reshape", "add"]
    assert sqnr_db(Model(graph)(x), Model(merged)(x)).min() > 120


def test_int8_is_nearer_and_says_of_which_sum_the_layer_came():
    graph, x = net(), samples()
    int8 = quantize_graph(graph, x, QuantConfig())
    assert [n.op for n in int8.nodes].count("depthwise_conv2d") == 1
    report = debug_graphs(graph, int8, {"x": x})
    (layer,) = (layer for layer in report.layers if layer.op == "depthwise_conv2d")
    assert layer.part_of == graph.nodes[1].output
    assert layer.own_db > 36


@pytest.mark.parametrize(
    ("graph", "config"),
    [
        (net(reads="layer"), QuantConfig()),
        (net(first=np.float32([[1], [2], [3], [4], [5]])), QuantConfig()),
        (net(first=np.float32([3])), QuantConfig()),
        (net(answered=True), QuantConfig()),
        (net(), QuantConfig(scheme=Scheme.INT16X8)),
        (net(), QuantConfig(keep_float=("mul*",))),
        (net(), QuantConfig(keep_float=("add*",))),
    ],
    ids=["layers alone", "rows", "one factor", "an answer", "int16", "named", "named sum"],
)
def test_it_is_left(graph, config):
    assert merge_affine(graph, config) is graph


def test_factors_near_zero_and_zero_keep_their_shifts():
    """Sums of 32 bits count in steps of the factor."""
    first = np.float32([0, 1e-12, 1e-6, 1, 2, -1, 1e-3, 5])
    graph, x = net(first=first), samples()
    exact, found = Model(graph)(x), Model(quantize_graph(graph, x, QuantConfig()))(x)
    np.testing.assert_allclose(found, exact, atol=0.3)
