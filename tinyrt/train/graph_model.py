"""A float graph in training: any model that tinyrt reads, and what pruning has left of it.

The graph is run op by op on tensors. Weights and biases of convolutions and dense layers, the
parameters of batch norms, and what ``constant_places`` finds (of layer norms, PReLU, position
embeddings, ...) are trained; other constants stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.train.batched import Batched, batched
from tinyrt.train.constants import ConstantLayer, constant_places, parameter_places
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.ends import ends_of, mixes_samples, needed_for, require_one_by_one
from tinyrt.train.functional import cat
from tinyrt.train.nn import BatchNorm
from tinyrt.train.recurrent import SequenceLayer, sequence_layers_of

Layer = TypeVar("Layer", bound=Module)


class GraphModule(Module):
    """A graph as a module that can be trained, for any number of samples.

    It is called as any module is, with its inputs in order; ``answers`` takes them by name.

    Args:
        graph: a float graph, batch 1.

    Attributes:
        graph: the same, where layers share no constants: each goes its own way. One that is applied
            several times, with the same weights and bias, stays one.
        ends: name of the value that the module gives for each output: the output, or where that is
            a softmax or the place of the largest, what goes into it, which a loss wants.
        one_by_one: whether the graph takes the samples of a batch one after the other, since it is
            not known to keep them apart.

    Raises:
        UnsupportedError: the graph is quantised, or has an op without gradient.

    """

    def __init__(self, graph: Graph) -> None:
        if graph.is_quantized:
            raise UnsupportedError(
                "the model is quantised already: its integers have no gradients",
                expected="a float model",
                hint="train the float model that it was made from; QatModel trains it for int8",
            )
        self.graph = with_own_constants(graph)
        self._graphs = {1: Batched(self.graph)}
        self.ends = ends_of(graph)
        self._needed = needed_for(self.graph, self.ends)
        self.one_by_one = mixes_samples(self.graph)
        for node in self.nodes(1):
            _require_first_output(node, graph)
            if OPS[node.op].vjp is None:
                raise UnsupportedError(
                    f"{node.op} has no gradient",
                    op=node.describe(),
                    tensor=node.output.describe(),
                    expected="ops that 'tinyrt ops' lists with one",
                    hint="train the part in front of it, or replace it in the model",
                )

    @property
    def logits(self) -> str:
        """What the module gives for its only output, as in ``ends``."""
        return self.ends[0]

    def forward(self, *inputs: Tensor) -> Any:
        """(n, ...) -> (n, ...), the logits where the graph ends in a softmax.

        Args:
            inputs: as many as the graph has, in its order.

        Returns:
            The output; a tuple of them where the graph has several.

        Raises:
            UnsupportedError: there are more or fewer inputs.

        """
        names = self.graph.inputs
        if len(inputs) != len(names):
            raise UnsupportedError(
                f"the model is called with {len(inputs)} inputs",
                expected=f"{len(names)}: {', '.join(names)}",
                hint="give a tuple of arrays to fit, one for each input, in this order",
            )
        answers = self.answers(dict(zip(names, inputs, strict=True)))
        return answers[0] if len(answers) == 1 else answers

    def answers(self, samples: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """What ``ends`` names, from inputs by name, each (n, ...) with the same n.

        Raises:
            UnsupportedError: several samples go one by one, and the model has batch norms, or an
                output whose first axis is not the samples'.

        """
        n = samples[self.graph.inputs[0]].shape[0]
        if n == 1 or not self.one_by_one:
            return self._answers(samples, n)
        require_one_by_one(self.graph, self.ends)
        each = ({k: x[i : i + 1] for k, x in samples.items()} for i in range(n))
        rows = [self._answers(sample, 1) for sample in each]
        return tuple(cat(column, 0) for column in zip(*rows, strict=True))

    def _answers(self, samples: Mapping[str, Tensor], n: int) -> tuple[Tensor, ...]:
        """As ``answers``, of n samples that the graph takes together."""
        raise NotImplementedError(f"{type(self).__name__} does not define _answers")

    def samples(self, name: str, x: Tensor) -> Tensor:
        """``x`` in the dtype of that input: batches come as floats, of places, too.

        Raises:
            ShapeError: an element is none of that dtype.

        """
        dtype = self.graph.value(name).dtype
        return x if dtype is DType.FLOAT32 else Tensor(x.data, dtype=dtype.numpy)

    def nodes(self, n: int) -> Iterator[BoundNode]:
        """The nodes that lead to the ends of ``n`` samples, in execution order."""
        if n not in self._graphs:  # a training run asks for the same few again and again
            self._graphs[n] = batched(self.graph, n)
            self.know(self._graphs[n].origins)
        graph, owners = self._graphs[n].graph, self._graphs[n].owners
        return (n for n in graph.bound() if owners.get(n.name, n.name) in self._needed)

    def know(self, origins: Mapping[str, str]) -> None:
        """Take note of values that hold the elements of others, for several samples at once."""


class GraphModel(GraphModule):
    """A float graph whose parameters can be trained.

    Where the graph ends in a softmax, the model gives the logits before it; ``trained`` has it.
    ``named_parameters`` names what is trained, ``untrained`` which constants are not.

    Args:
        graph: a float graph, batch 1.
        frozen: layers that stay as they are, by their names in ``children``; batch norms among
            them use their running statistics.

    Raises:
        UnsupportedError: the graph is quantised, or has an op without gradient.
        DataError: no layer has the name of one that is to be frozen.

    """

    def __init__(self, graph: Graph, *, frozen: Collection[str] = ()) -> None:
        super().__init__(graph)
        self._places = constant_places(self.graph)
        layers = layers_of(self.graph, _layer) | constant_layers_of(self.graph)
        layers |= sequence_layers_of(self.graph, SequenceLayer)
        layers = {n.name: layers[n.name] for n in self.graph.nodes if n.name in layers}
        names = [name for name, _ in each_once(layers)]
        if unknown := sorted({*frozen} - {*names}):
            raise DataError(
                f"there is no layer '{unknown[0]}' to freeze",
                expected=", ".join(names),
                hint="name a layer by the first node that applies it, without '.weight'",
            )
        still = [layers[name] for name in frozen]
        self.layers = {k: v for k, v in layers.items() if not any(v is layer for layer in still)}

    def children(self) -> Iterator[tuple[str, Module]]:
        """Layers by their nodes' names, the first where there are several."""
        yield from each_once(self.layers)

    def untrained(self) -> dict[str, tuple[str, ...]]:
        """Node name -> its constants of more than one element that are not trained."""
        rest = {}
        for node in self.graph.bound():
            own = self._parameters(node) if node.name in self.layers else ()
            names = tuple(
                value.name
                for i, value in enumerate(node.inputs)
                if value is not None and value.is_constant and i not in own and value.size > 1
            )
            if names:
                rest[node.name] = names
        return rest

    def _answers(self, samples: Mapping[str, Tensor], n: int) -> tuple[Tensor, ...]:
        live = {name: self.samples(name, samples[name]) for name in self.graph.inputs}
        for node in self.nodes(n):
            operands = [_operand(value, live) for value in node.inputs if value is not None]
            layer = self.layers.get(node.name)
            if layer is not None:
                varying = 1 if self._parameters(node) == (0,) else 0
                live[node.output.name] = layer(operands[varying])
            else:
                live[node.output.name] = apply(node.op, node.attrs, *operands)
        return tuple(live[name] for name in self.ends)

    def trained(self) -> Graph:
        """The graph with the constants as trained."""
        constants = []
        for node in self.graph.bound():
            layer = self.layers.get(node.name)
            if layer is not None:
                tensors = [t for _, t in layer.named_tensors()]
                for place, tensor in zip(self._parameters(node), tensors, strict=True):
                    name = node.input(place).name
                    constants.append(Value.constant(name, tensor.data.copy()))
        return self.graph.with_nodes(self.graph.nodes, constants)

    def _parameters(self, node: BoundNode) -> tuple[int, ...]:
        return parameter_places(node, self._places)


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


def constant_layers_of(graph: Graph) -> dict[str, ConstantLayer]:
    """Node name -> the layer of its constant operand; nodes with the same constant share one.

    Args:
        graph: one whose constants are those of one layer each, as ``with_own_constants`` gives it.

    """
    places, by_constant, by_node = constant_places(graph), {}, {}
    for node in graph.bound():
        if node.name in places:
            name = node.input(places[node.name]).name
            if name not in by_constant:
                by_constant[name] = ConstantLayer(node, places[node.name])
            by_node[node.name] = by_constant[name]
    return by_node


def with_own_constants(graph: Graph) -> Graph:
    """The same graph where no two layers share their parameters.

    Nodes that do the same with the same constants are one layer.
    """
    constants = constant_places(graph)
    layers: dict[Any, list[BoundNode]] = {}
    for node in graph.bound():
        places = parameter_places(node, constants)
        if places:
            names = tuple((i, node.input(i).name) for i in places)
            layers.setdefault((node.op, node.attrs, names), []).append(node)
    for (_, _, names), applications in layers.items():
        graph = _owning(graph, applications, [i for i, _ in names])
    return graph


def _owning(graph: Graph, applications: Sequence[BoundNode], places: Sequence[int]) -> Graph:
    """The graph where nothing but one layer's applications reads its constants."""
    first, nodes = applications[0], list(graph.nodes)
    names, readers = list(first.node.inputs), {node.name for node in applications}
    for i in places:
        value = first.input(i)
        if value.data is None:
            continue
        others = {node.name for node in graph.consumers(value.name)} - readers
        if others or names.count(value.name) > 1:
            names[i] = graph.unique_name(f"{first.name}.{value.name}")
            graph = graph.with_nodes(nodes, [replace(value, name=names[i])])
    for node in applications:
        own = [names[i] if i in places else name for i, name in enumerate(node.node.inputs)]
        while not own[-1]:  # imported layers may end in the bias that they do not have
            own.pop()
        nodes[node.index] = replace(node.node, inputs=tuple(own))
    return graph.with_nodes(nodes)


def _require_first_output(node: BoundNode, graph: Graph) -> None:
    """Refuse a node whose further outputs are read: gradients pass through the first one alone."""
    for value in node.outputs[1:]:
        if graph.consumers(value.name) or value.name in graph.outputs:
            raise UnsupportedError(
                f"only the first output of {node.op} can be trained through",
                op=node.describe(),
                tensor=value.describe(),
                expected="that nothing reads the others",
                hint="read the last step of the first output, which is the last hidden state",
            )


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
