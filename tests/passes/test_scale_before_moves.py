"""Factors that attention multiplies heads by become part of the layer."""

import numpy as np
import pytest

from tests.passes.examples_heads import turned_heads
from tests.passes.misses import Miss, check
from tests.passes.random_net import RandomNet as Net
from tests.passes.run import apply, ops
from tinyrt.convert.passes.fold_affine import FOLD_AFFINE
from tinyrt.convert.passes.scale_before_moves import SCALE_BEFORE_MOVES
from tinyrt.ir import Value
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs


def scaled(net: Net, x: str, *shape: int, activation: str = "NONE") -> str:
    name = net.random(*shape)
    net.values[name] = Value.constant(name, np.full(shape, 0.3, np.float32))
    return net.op("mul", (name, x), MulAttrs(activation=activation))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1, 1)])
@pytest.mark.parametrize("pointwise", [False, True])
def test_the_layer_takes_the_factor(shape, pointwise):
    net = Net((1, 2, 3, 5)) if pointwise else Net((6, 8))
    y = net.conv("x", 8, 1) if pointwise else net.dense("x", 8)
    last = scaled(net, net.reshape(turned_heads(net, y), 1, 2, 2, 3, 4), *shape)
    graph, _ = apply(net.graph(last), SCALE_BEFORE_MOVES, FOLD_AFFINE)
    layer = "conv2d" if pointwise else "fully_connected"
    assert ops(graph) == [layer, "reshape", "transpose", "reshape"]


MISSES = {
    "no moves": Miss("scale_before_moves", ((6, 8),), lambda net: scaled(net, net.dense("x", 8))),
    "no layer": Miss(
        "scale_before_moves", ((6, 8),), lambda net: scaled(net, turned_heads(net, "x"))
    ),
    "a factor per number": Miss(
        "scale_before_moves",
        ((6, 8),),
        lambda net: scaled(net, turned_heads(net, net.dense("x", 8)), 4),
    ),
    "no constant": Miss(
        "scale_before_moves",
        ((6, 8), (1,)),
        lambda net: net.op("mul", (turned_heads(net, net.dense("x", 8)), "x1"), MulAttrs()),
    ),
    "a clamp behind": Miss(
        "scale_before_moves",
        ((6, 8),),
        lambda net: scaled(net, turned_heads(net, net.dense("x", 8)), activation="RELU"),
    ),
    "a clamp in the layer": Miss(
        "scale_before_moves",
        ((6, 8),),
        lambda net: scaled(
            net,
            turned_heads(
                net,
                net.op(
                    "fully_connected",
                    ("x", net.random(8, 8)),
                    FullyConnectedAttrs(activation="RELU"),
                ),
            ),
        ),
        "clamps",
    ),
    "a layer that others read": Miss(
        "scale_before_moves",
        ((6, 8),),
        lambda net: (
            y := net.dense("x", 8),
            scaled(net, turned_heads(net, y)),
        ),
        "has other readers",
    ),
    "more dimensions": Miss(
        "scale_before_moves",
        ((6, 8),),
        lambda net: scaled(net, turned_heads(net, net.dense("x", 8)), 1, 1, 1, 1, 1),
        "adds dimensions",
    ),
}


@pytest.mark.parametrize("name", MISSES)
def test_it_is_left(name):
    check(MISSES[name])
