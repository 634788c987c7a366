"""A float graph in training: any model that tinyrt reads, and what pruning has left of it.

The graph is run op by op on tensors. Weights and biases of convolutions and dense layers and the
parameters of batch norms are trained; other constants stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tinyrt.errors import UnsupportedError
from tinyrt.interpreter.batch import rebatch
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Quant
from tinyrt.train.module import Module, Parameter
from tinyrt.train.nn import BatchNorm
from tinyrt.train.tensor import Tensor, apply


class GraphModule(Module):
    """What trains a graph: the graph itself, for any number of samples.

    Args:
        graph: a float graph with one input and one output, batch 1.

    Attributes:
        graph: the same, where no two layers share weights or bias: each goes its own way.
        logits: name of the value that the module gives: the output, or where that is a softmax,
            what goes into it, which a loss wants.

    Raises:
        UnsupportedError: the graph has several inputs or outputs.

    """

    def __init__(self, graph: Graph) -> None:
        if len(graph.inputs) != 1 or len(graph.outputs) != 1:
            raise UnsupportedError(
                f"the model has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs",
                expected="one of each",
                hint="train the part between one input and one output",
            )
        self.graph = with_own_constants(graph)
        self._graphs = {1: self.graph}
        (output,) = graph.outputs
        last = graph.producer(output)
        self.logits = last.inputs[0] if last is not None and last.op == "softmax" else output

    def nodes(self, n: int) -> Iterator[BoundNode]:
        """The nodes that lead to the logits of ``n`` samples, in execution order."""
        if n not in self._graphs:  # a training run asks for the same few again and again
            self._graphs[n] = rebatch(self.graph, n)
        for node in self._graphs[n].bound():
            yield node
            if node.output.name == self.logits:
                return


class GraphModel(GraphModule):
    """A float graph whose weights and batch norms can be trained.

    Where the graph ends in a softmax, the model gives the logits before it; ``trained`` has it.

    Args:
        graph: a float graph with one input and one output, batch 1.

    Raises:
        UnsupportedError: the graph has several inputs or outputs.

    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        layers = ((node.name, _layer(node)) for node in self.graph.bound())
        self.layers = {name: layer for name, layer in layers if layer is not None}

    def children(self) -> Iterator[tuple[str, Module]]:
        """Layers by their nodes' names."""
        return iter(self.layers.items())

    def forward(self, x: Tensor) -> Tensor:
        """(n, ...) -> (n, ...), the logits where the graph ends in a softmax."""
        live = {self.graph.inputs[0]: x}
        for node in self.nodes(x.shape[0]):
            layer = self.layers.get(node.name)
            if layer is not None:
                y = layer(live[node.input(0).name])
            else:
                y = apply(node.op, node.attrs, *(_operand(v, live) for v in node.inputs))
            live[node.output.name] = y
        return live[self.logits]

    def trained(self) -> Graph:
        """The graph with the constants as trained."""
        constants = []
        for node in self.graph.bound():
            layer = self.layers.get(node.name)
            if layer is not None:
                tensors = [t for _, t in layer.named_tensors()]
                for value, tensor in zip(node.inputs[1:], tensors, strict=True):
                    assert value is not None
                    constants.append(Value.constant(value.name, tensor.data.copy()))
        return self.graph.with_nodes(self.graph.nodes, constants)


class GraphLayer(Module):
    """The weights and bias of one node.

    Args:
        node: a convolution or dense layer.

    """

    def __init__(self, node: BoundNode) -> None:
        weight, bias = node.input(1).data, node.optional(2)
        assert weight is not None, "only nodes with constant weights are layers"
        self._op, self._attrs = node.op, node.attrs
        self.weight = Parameter(weight.copy())
        self.bias = None if bias is None or bias.data is None else Parameter(bias.data.copy())

    def forward(self, x: Tensor) -> Tensor:
        """What the node takes -> what it gives."""
        return apply(self._op, self._attrs, x, self.weight, self.bias)


def is_weighted(node: BoundNode) -> bool:
    """Whether the node is a convolution or dense layer."""
    return OPS[node.op].quant is Quant.WEIGHTED


def with_own_constants(graph: Graph) -> Graph:
    """The same graph where no two layers share weights, bias or batch norm parameters."""
    for node in [n for n in graph.bound() if is_weighted(n) or n.op == "batch_norm"]:
        names = list(node.node.inputs)
        for i, value in enumerate(node.inputs[1:], start=1):
            shared = value is not None and (
                len(graph.consumers(value.name)) > 1 or names.count(value.name) > 1
            )
            if value is not None and shared:
                names[i] = graph.unique_name(f"{node.name}.{value.name}")
                graph = graph.with_nodes(graph.nodes, [replace(value, name=names[i])])
        nodes = list(graph.nodes)
        nodes[node.index] = replace(node.node, inputs=tuple(names))
        graph = graph.with_nodes(nodes)
    return graph


def _layer(node: BoundNode) -> Module | None:
    """What is trained of a node; None where nothing is."""
    if any(v is None or v.data is None for v in node.inputs[1:]):
        return None
    if is_weighted(node):
        return GraphLayer(node)
    if node.op != "batch_norm":
        return None
    norm = BatchNorm(node.output.shape[-1], epsilon=node.attrs.epsilon)
    tensors = (norm.gamma, norm.beta, norm.mean, norm.variance)
    for tensor, value in zip(tensors, node.inputs[1:], strict=True):
        tensor.data = np.array(value.data if value is not None else None)
    return norm


def _operand(value: Value | None, live: dict[str, Tensor]) -> Tensor | None:
    if value is None:
        return None
    return Tensor(value.data) if value.data is not None else live[value.name]
