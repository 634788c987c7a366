"""Models that are hard to quantise: the same function, channels far apart in range."""

from dataclasses import replace

import numpy as np

from tests.graphs import Builder
from tinyrt.ir import Graph, Value
from tinyrt.ops import verify
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


def depthwise_net(seed: int = 0) -> Graph:
    """(1, 8, 8, 3) -> stem, two depthwise separable blocks -> softmax over 5 classes."""
    rng = np.random.default_rng(seed)
    b = Builder((1, 8, 8, 3))

    def weights(*shape: int, fan_in: int) -> tuple[str, str]:
        w = rng.normal(size=shape).astype(np.float32) * np.float32(np.sqrt(2 / fan_in))
        channels = shape[3] if shape[0] == 1 else shape[0]
        return b.constant(w), b.constant(rng.normal(size=channels).astype(np.float32) * 0.1)

    x = b.op("conv2d", ("x", *weights(16, 3, 3, 3, fan_in=27)), Conv2dAttrs(activation="RELU"))
    for _ in range(2):
        attrs = DepthwiseConv2dAttrs(activation="RELU")
        x = b.op("depthwise_conv2d", (x, *weights(1, 3, 3, 16, fan_in=9)), attrs)
        x = b.op("conv2d", (x, *weights(16, 1, 1, 16, fan_in=16)), Conv2dAttrs(activation="RELU"))
    x = b.op("mean", (x,), MeanAttrs((1, 2)))
    x = b.op("fully_connected", (x, *weights(5, 16, fan_in=4)), FullyConnectedAttrs())
    return b.graph(b.op("softmax", (x,), SoftmaxAttrs()))


def spread_depthwise(graph: Graph, spread: float = 1000.0, seed: int = 0) -> Graph:
    """The graph with depthwise output channels scaled by up to ``spread``, undone one layer on."""
    rng = np.random.default_rng(seed)
    values, nodes = dict(graph.values), list(graph.nodes)

    def scaled(name: str, factor: np.ndarray, wish: str) -> str:
        values[wish] = Value.constant(wish, (values[name].data * factor).astype(np.float32))
        return wish

    for i, node in enumerate(nodes):
        if node.op != "depthwise_conv2d":
            continue
        (reader,) = graph.consumers(node.outputs[0])
        factor = spread ** rng.uniform(0, 1, values[node.outputs[0]].shape[-1])
        x, w, bias = node.inputs
        hard = (x, scaled(w, factor, f"hard_w{i}"), scaled(bias, factor, f"hard_b{i}"))
        nodes[i] = replace(node, inputs=hard)
        at = nodes.index(reader)
        undone = scaled(reader.inputs[1], 1 / factor, f"hard_w{at}")
        nodes[at] = replace(reader, inputs=(reader.inputs[0], undone, *reader.inputs[2:]))
    return verify(replace(graph, values=values, nodes=tuple(nodes)))
