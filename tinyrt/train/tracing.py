"""From a trained module to a graph: run it once as deployed, and write down every op applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, Node, Shape, Stage, Value
from tinyrt.ops import verify
from tinyrt.train.core.function import Function
from tinyrt.train.core.module import Module, active_module
from tinyrt.train.core.tensor import Tensor, listening, no_grad


def trace(module: Module, input_shape: Shape, *, name: str = "model") -> Graph:
    """The float graph that computes what the module computes when it is not training.

    Parameters and buffers become constants under their path in the module. An op is named by the
    path of the layer that applied it (``stem.conv``); where a module with parts of its own did,
    by that path and the op's type (``block.add``).

    Args:
        module: any composition of table ops; control flow is followed as for this input.
        input_shape: of one sample, without the batch dimension.
        name: the graph's name; its input is called ``input``.

    Returns:
        A verified graph for batch 1.

    Raises:
        UnsupportedError: the module applies a function that the op table does not have.
        ShapeError: the module does not take this input.

    """
    x = Tensor(np.zeros((1, *input_shape), np.float32))
    recorder = _Recorder(name, x, module)
    with module.evaluating(), no_grad(), listening(recorder.record):
        y = module(x)
    return verify(recorder.graph(y), Stage.FLOAT)


class _Recorder:
    """The graph of the ops applied so far."""

    def __init__(self, name: str, x: Tensor, module: Module) -> None:
        self._modules = {id(m): path for path, m in module.named_modules()}
        self._tensors = {id(t): path for path, t in module.named_tensors()}
        # Tensors are kept beside their names: an id is unique only while its tensor lives.
        self._names: dict[int, tuple[Tensor, str]] = {id(x): (x, "input")}
        inputs = {"input": Value("input", DType.FLOAT32, x.shape)}
        self._graph = Graph(name, tuple(inputs), (), inputs, ())

    def record(
        self, function: Function, attrs: Any, inputs: tuple[Tensor, ...], output: Tensor
    ) -> None:
        """Add one op."""
        deployed = function.deployed(attrs) if function.deployed is not None else None
        if deployed is None:
            raise UnsupportedError(
                f"{function.name} exists in training only, so no graph can hold it",
                tensor=f"shape {output.shape}",
                hint="build the module's forward from layers and table ops",
            )
        op, attrs = deployed
        names = tuple(self._name_of(t) for t in inputs)
        name = self._graph.unique_name(self._node_name(op))
        self._names[id(output)] = (output, name)
        node = Node(op, name, names, (name,), attrs)
        value = Value(name, DType.FLOAT32, output.shape)
        self._graph = self._graph.with_nodes((*self._graph.nodes, node), [value])

    def graph(self, y: Tensor) -> Graph:
        """What was recorded, with ``y`` as the output."""
        return replace(self._graph, outputs=(self._name_of(y),))

    def _node_name(self, op: str) -> str:
        module = active_module()
        path = self._modules.get(id(module), "")
        if module is None or not path:
            return op
        is_layer = next(module.children(), None) is None
        return path if is_layer else f"{path}.{op}"

    def _name_of(self, tensor: Tensor) -> str:
        """The tensor's name; one that was not computed here becomes a constant."""
        if id(tensor) not in self._names:
            name = self._graph.unique_name(self._tensors.get(id(tensor), "constant"))
            self._names[id(tensor)] = (tensor, name)
            # A copy: an optimiser may go on to change the parameter in place.
            constant = Value.constant(name, np.array(tensor.data, np.float32))
            self._graph = self._graph.with_nodes(self._graph.nodes, [constant])
        return self._names[id(tensor)][1]
