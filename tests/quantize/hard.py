"""Models that are hard to quantise: the same function, channels far apart in range."""

from dataclasses import replace

import numpy as np

from tests.graphs import Builder
from tinyrt.ir import Graph, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs


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


def encoder(seed: int = 0, outlier: float = 40.0, layers: int = 2) -> Graph:
    """(1, 8, 12) -> pre-norm transformer layers of width 16 -> 5 classes.

    Three channels of every layer norm's output are ``outlier`` times the others, as in trained
    transformers; the weights behind them are as much smaller.
    """
    rng = np.random.default_rng(seed)
    b, width, heads, steps, inner = Builder((1, 8, 12)), 16, 2, 8, 32

    def dense(x: str, c_in: int, c_out: int, undone: np.ndarray | float = 1.0) -> str:
        w = rng.normal(size=(c_out, c_in)) / np.sqrt(c_in) / undone
        bias = b.constant(rng.normal(size=c_out).astype(np.float32) * 0.1)
        inputs = (x, b.constant(w.astype(np.float32)), bias)
        return b.op("fully_connected", inputs, FullyConnectedAttrs(keep_num_dims=True))

    def norm(x: str) -> tuple[str, np.ndarray]:
        gamma = np.ones(width)
        gamma[rng.choice(width, 3, replace=False)] = outlier
        beta = gamma * rng.normal(size=width) * 0.1
        centred = b.op("sub", (x, b.op("mean", (x,), MeanAttrs((2,), keep_dims=True))), AddAttrs())
        power = b.op("mul", (centred, centred), MulAttrs())
        variance = b.op("mean", (power,), MeanAttrs((2,), keep_dims=True))
        factor = b.op("rsqrt", (variance,))
        y = b.op("mul", (centred, factor), MulAttrs())
        y = b.op("mul", (y, b.constant(gamma.astype(np.float32))), MulAttrs())
        return b.op("add", (y, b.constant(beta.astype(np.float32))), AddAttrs()), gamma

    def heads_of(x: str) -> str:
        split = b.op("reshape", (x,), ReshapeAttrs((1, steps, heads, width // heads)))
        return b.op("transpose", (split,), TransposeAttrs((0, 2, 1, 3)))

    x = dense("x", 12, width)
    for _ in range(layers):
        y, gamma = norm(x)
        q, k, v = (heads_of(dense(y, width, width, gamma)) for _ in range(3))
        scores = b.op("batch_matmul", (q, k), BatchMatmulAttrs(adj_y=True))
        mixed = b.op(
            "batch_matmul", (b.op("softmax", (scores,), SoftmaxAttrs()), v), BatchMatmulAttrs()
        )
        joined = b.op("transpose", (mixed,), TransposeAttrs((0, 2, 1, 3)))
        joined = b.op("reshape", (joined,), ReshapeAttrs((1, steps, width)))
        x = b.op("add", (x, dense(joined, width, width)), AddAttrs())
        y, gamma = norm(x)
        inside = b.op("gelu", (dense(y, width, inner, gamma),), GeluAttrs())
        x = b.op("add", (x, dense(inside, inner, width)), AddAttrs())
    pooled = b.op("mean", (x,), MeanAttrs((1,)))
    return b.graph(dense(pooled, width, 5))
