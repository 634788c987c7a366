"""Small graphs that several tests need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tinyrt.ir import DType, Graph, Node, Shape, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs


class Builder:
    """Builds a float graph op by op; values are named after their op and number."""

    def __init__(self, *inputs: Shape, name: str = "net") -> None:
        self.name = name
        self.values: dict[str, Value] = {}
        self.nodes: list[Node] = []
        self.inputs = tuple(f"x{i}" if i else "x" for i in range(len(inputs)))
        for wish, shape in zip(self.inputs, inputs, strict=True):
            self.values[wish] = Value(wish, DType.FLOAT32, shape)

    def constant(self, data: np.ndarray) -> str:
        """A constant's name."""
        name = f"const{len(self.values)}"
        self.values[name] = Value.constant(name, data)
        return name

    def op(self, op: str, inputs: Sequence[str], attrs: object = None) -> str:
        """Append an op; its output's name."""
        attrs = NoAttrs() if attrs is None else attrs
        name = f"{op}_{len(self.nodes)}"
        (type_,) = OPS[op].infer(attrs, [self.values[n].type for n in inputs])
        self.values[name] = Value(name, type_.dtype, type_.shape)
        self.nodes.append(Node(op, name, tuple(inputs), (name,), attrs))
        return name

    def graph(self, *outputs: str) -> Graph:
        """The verified graph."""
        return verify(Graph(self.name, self.inputs, outputs, self.values, tuple(self.nodes)))


def small_cnn(seed: int = 0) -> Graph:
    """A residual CNN: (1, 8, 8, 3) -> softmax over 5 classes."""
    rng = np.random.default_rng(seed)
    b = Builder((1, 8, 8, 3))

    def conv(x: str, c_in: int, c_out: int, size: int, **attrs: object) -> str:
        w = b.constant(rng.normal(size=(c_out, size, size, c_in)).astype(np.float32) / size)
        bias = b.constant(rng.normal(size=c_out).astype(np.float32) * 0.1)
        return b.op("conv2d", (x, w, bias), Conv2dAttrs(**attrs))

    stem = conv("x", 3, 8, 3, activation="RELU")
    branch = conv(stem, 8, 8, 3)
    joined = b.op("add", (stem, branch), AddAttrs(activation="RELU"))
    narrow = conv(joined, 8, 6, 1, stride=(2, 2), activation="RELU6")
    pooled = b.op("mean", (narrow,), MeanAttrs((1, 2), keep_dims=True))
    flat = b.op("reshape", (pooled,), ReshapeAttrs((1, 6)))
    w = b.constant(rng.normal(size=(5, 6)).astype(np.float32))
    dense = b.op("fully_connected", (flat, w), FullyConnectedAttrs())
    return b.graph(b.op("softmax", (dense,), SoftmaxAttrs()))


def lstm_net(*, time_major: bool = False) -> Graph:
    """(1, 6, 3), or (6, 1, 3) -> an LSTM of four units."""
    rng, b = np.random.default_rng(0), Builder((6, 1, 3) if time_major else (1, 6, 3))
    shapes = [(4, 3)] * 4 + [(4, 4)] * 4 + [(4,)] * 4 + [(1, 4)] * 2
    constants = [b.constant(rng.normal(size=s).astype(np.float32) / 2) for s in shapes]
    op, attrs = "unidirectional_sequence_lstm", LstmAttrs(time_major=time_major)
    types = OPS[op].infer(attrs, [b.values[name].type for name in ("x", *constants)])
    names = ("all", "hidden", "cell")
    for name, type_ in zip(names, types, strict=True):
        b.values[name] = Value(name, type_.dtype, type_.shape)
    b.nodes.append(Node(op, "lstm", ("x", *constants), names, attrs))
    return b.graph("all")


def renamed(graph: Graph, old: str, new: str) -> Graph:
    """The graph whose value of the old name has the new one."""

    def names(of: Sequence[str]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in of)

    nodes = (replace(n, inputs=names(n.inputs), outputs=names(n.outputs)) for n in graph.nodes)
    values = {v.name: v for v in graph.values.values() if v.name != old}
    values[new] = replace(graph.value(old), name=new)
    return replace(
        graph,
        inputs=names(graph.inputs),
        outputs=names(graph.outputs),
        values=values,
        nodes=tuple(nodes),
    )
