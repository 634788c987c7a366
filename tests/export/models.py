"""Small int8 graphs for the exporter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

Q = QParams((0.5,), 3)


def dense(name: str = "net", node_name: str = "dense", *, bias: int = 7, size: int = 4) -> Graph:
    """(1, size) -> fully_connected -> (1, 2)."""
    w = np.arange(2 * size).reshape(2, size).astype(np.int8) % 100
    values = [
        Value("x", DType.INT8, (1, size), Q),
        Value.constant("w", w, QParams((0.25,))),
        Value.constant("b", np.array([bias, -3], np.int32), QParams((0.125,))),
        Value("y", DType.INT8, (1, 2), Q),
    ]
    node = Node("fully_connected", node_name, ("x", "w", "b"), ("y",), FullyConnectedAttrs())
    return verify(Graph(name, ("x",), ("y",), {v.name: v for v in values}, (node,)))


def layer_of(w: NDArray[np.int8]) -> Graph:
    """(1, taps) -> fully_connected with these weights (channels, taps) -> (1, channels)."""
    c_out, size = w.shape
    values = [
        Value("x", DType.INT8, (1, size), Q),
        Value.constant("w", w, QParams((0.01,))),
        Value("y", DType.INT8, (1, c_out), Q),
    ]
    node = Node("fully_connected", "dense", ("x", "w"), ("y",), FullyConnectedAttrs())
    return verify(Graph("layer", ("x",), ("y",), {v.name: v for v in values}, (node,)))


def views() -> Graph:
    """relu, reshape and relu again; the input's reshape is an output, too."""
    values = [
        Value("x", DType.INT8, (1, 2, 6), Q),
        Value("relu", DType.INT8, (1, 2, 6), Q),
        Value("view", DType.INT8, (1, 12), Q),
        Value("y", DType.INT8, (1, 12), Q),
        Value("copy", DType.INT8, (3, 4), Q),
    ]
    nodes = (
        Node("relu", "first", ("x",), ("relu",), NoAttrs()),
        Node("reshape", "flat", ("relu",), ("view",), ReshapeAttrs((1, 12))),
        Node("relu", "second", ("view",), ("y",), NoAttrs()),
        Node("reshape", "fold", ("x",), ("copy",), ReshapeAttrs((3, 4))),
    )
    return verify(Graph("views", ("x",), ("y", "copy"), {v.name: v for v in values}, nodes))


def apart() -> Graph:
    """Three inputs of 5, 18 and 3 elements, each with an output of its own."""
    sizes = {"b": 5, "a": 18, "c": 3}
    values = [Value(n + x, DType.INT8, (1, k), Q) for n, k in sizes.items() for x in ("", "_relu")]
    nodes = tuple(Node("relu", n, (n,), (f"{n}_relu",), NoAttrs()) for n in sizes)
    outputs = tuple(node.outputs[0] for node in nodes)
    return verify(Graph("apart", tuple(sizes), outputs, {v.name: v for v in values}, nodes))


def echo() -> Graph:
    """y = x + state; the state becomes x in the first op, before it is read."""
    values = [
        Value("x", DType.INT8, (1, 4), Q),
        Value("old", DType.INT8, (1, 4), Q),
        Value("new", DType.INT8, (1, 4), Q),
        Value("y", DType.INT8, (1, 4), Q),
    ]
    nodes = (
        Node("reshape", "keep", ("x",), ("new",), ReshapeAttrs((1, 4))),
        Node("add", "sum", ("x", "old"), ("y",), AddAttrs()),
    )
    by_name = {v.name: v for v in values}
    graph = Graph("echo", ("x", "old"), ("y", "new"), by_name, nodes, (("old", "new"),))
    return verify(graph)


def softmax(classes: int) -> Graph:
    """(1, classes) -> softmax."""
    values = [
        Value("x", DType.INT8, (1, classes), Q),
        Value("y", DType.INT8, (1, classes), QParams((1 / 256,), -128)),
    ]
    node = Node("softmax", "classes", ("x",), ("y",), SoftmaxAttrs())
    return verify(Graph("net", ("x",), ("y",), {v.name: v for v in values}, (node,)))
