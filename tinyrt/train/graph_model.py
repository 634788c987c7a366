"""A float graph in training: any model that tinyrt reads, and what pruning has left of it.

The graph is run op by op on tensors. Weights and biases of convolutions and dense layers and the
parameters of batch norms are trained; other constants stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.metrics import logits_name
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.shared.batch import rebatch
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.nn import BatchNorm

Layer = TypeVar("Layer", bound=Module)


class GraphModule(Module):
    """A graph as a module that can be trained, for any number of samples.

    Args:
        graph: a float graph with one input and one output, batch 1.

    Attributes:
        graph: the same, where layers share no constants: each goes its own way. One that is applied
            several times, with the same weights and bias, stays one.
        logits: name of the value that the module gives: the output, or where that is a softmax or
            the place of the largest, what goes into it, which a loss wants.

    Raises:
        UnsupportedError: the graph is quantised, has several inputs or outputs, or an op without
            gradient.

    """

    def __init__(self, graph: Graph) -> None:
        if len(graph.inputs) != 1 or len(graph.outputs) != 1:
            raise UnsupportedError(
                f"the model has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs",
                expected="one of each",
                hint="train the part between one input and one output",
            )
        if graph.is_quantized:
            raise UnsupportedError(
                "the model is quantised already: its integers have no gradients",
                expected="a float model",
                hint="train the float model that it was made from; QatModel trains it for int8",
            )
        self.graph = with_own_constants(graph)
        self._graphs = {1: self.graph}
        self.logits = logits_name(graph)
        for node in self.nodes(1):
            if OPS[node.op].vjp is None:
                raise UnsupportedError(
                    f"{node.op} has no gradient",
                    op=node.describe(),
                    tensor=node.output.describe(),
                    expected="ops that 'tinyrt ops' lists with one",
                    hint="train the part in front of it, or replace it in the model",
                )

    def samples(self, x: Tensor) -> Tensor:
        """``x`` in the dtype of the graph's input: batches come as floats, of places, too.

        Raises:
            ShapeError: an element is none of that dtype.

        """
        dtype = self.graph.input_values[0].dtype
        return x if dtype is DType.FLOAT32 else Tensor(x.data, dtype=dtype.numpy)

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
        self.layers = layers_of(self.graph, _layer)

    def children(self) -> Iterator[tuple[str, Module]]:
        """Layers by their nodes' names, the first where there are several."""
        yield from each_once(self.layers)

    def forward(self, x: Tensor) -> Tensor:
        """(n, ...) -> (n, ...), the logits where the graph ends in a softmax."""
        live = {self.graph.inputs[0]: self.samples(x)}
        for node in self.nodes(x.shape[0]):
            operands = [_operand(value, live) for value in node.inputs if value is not None]
            layer = self.layers.get(node.name)
            if layer is not None:
                live[node.output.name] = layer(operands[0])
            else:
                live[node.output.name] = apply(node.op, node.attrs, *operands)
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
        """The node's output for the input ``x``."""
        return apply(self._op, self._attrs, x, self.weight, self.bias)


def layers_of(graph: Graph, make: Callable[[BoundNode], Layer | None]) -> dict[str, Layer]:
    """Node name -> the layer that ``make`` returns; nodes with the same weights share one layer."""
    by_weights: dict[str, Layer | None] = {}
    by_node = {}
    for node in graph.bound():
        weights = node.optional(1)
        if weights is None or not weights.is_constant:
            continue
        if weights.name not in by_weights:
            by_weights[weights.name] = make(node)
        layer = by_weights[weights.name]
        if layer is not None:
            by_node[node.name] = layer
    return by_node


def each_once(layers: Mapping[str, Layer]) -> Iterator[tuple[str, Layer]]:
    """Layers by the names of the first nodes that apply them."""
    visited: set[int] = set()
    for name, layer in layers.items():
        if id(layer) not in visited:
            visited.add(id(layer))
            yield name, layer


def applied_once(graph: Graph, node: BoundNode) -> bool:
    """Whether a layer's weights are its own, and not those of other nodes as well."""
    return len(graph.consumers(node.input(1).name)) == 1


def with_own_constants(graph: Graph) -> Graph:
    """The same graph where no two layers share weights, bias or batch norm parameters.

    Nodes that do the same with the same constants are one layer.
    """
    layers: dict[Any, list[BoundNode]] = {}
    for node in graph.bound():
        if is_weighted(node) or node.op == "batch_norm":
            layers.setdefault((node.op, node.attrs, node.node.inputs[1:]), []).append(node)
    for applications in layers.values():
        graph = _owning(graph, applications)
    return graph


def _owning(graph: Graph, applications: Sequence[BoundNode]) -> Graph:
    """The graph where nothing but one layer's applications reads its constants."""
    first, nodes = applications[0], list(graph.nodes)
    names, readers = list(first.node.inputs), {node.name for node in applications}
    while not names[-1]:  # imported layers may end in the bias that they do not have
        names.pop()
    for i, value in enumerate(first.inputs[1:], start=1):
        if value is None or value.data is None:
            continue
        others = {node.name for node in graph.consumers(value.name)} - readers
        if others or names.count(value.name) > 1:
            names[i] = graph.unique_name(f"{first.name}.{value.name}")
            graph = graph.with_nodes(nodes, [replace(value, name=names[i])])
    for node in applications:
        nodes[node.index] = replace(node.node, inputs=(node.node.inputs[0], *names[1:]))
    return graph.with_nodes(nodes)


def _layer(node: BoundNode) -> Module | None:
    """The trainable layer of a node; None where nothing is trained."""
    if any(v is None or v.data is None for v in node.inputs[1:]):
        return None
    if is_weighted(node):
        return GraphLayer(node)
    if node.op != "batch_norm":
        return None
    norm = BatchNorm(node.output.shape[-1], epsilon=node.attrs_as(BatchNormAttrs).epsilon)
    tensors = (norm.gamma, norm.beta, norm.mean, norm.variance)
    for tensor, value in zip(tensors, node.inputs[1:], strict=True):
        tensor.data = np.array(value.data if value is not None else None)
    return norm


def _operand(value: Value, live: dict[str, Tensor]) -> Tensor:
    if value.data is None:
        return live[value.name]
    return Tensor(value.data, dtype=value.data.dtype)
