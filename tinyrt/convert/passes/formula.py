"""Writing a formula in place of a node."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.passes.common import Names
from tinyrt.ir import DType, Graph, Node, Patch, TensorType, Value
from tinyrt.ops import OPS


class Formula:
    """Ops that together compute what one node does."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self._node = node
        self._names = Names(graph)
        self._output = graph.value(node.output)
        self._graph = graph
        self._types: dict[str, TensorType] = {}
        self._values: list[Value] = []
        self._nodes: list[Node] = []

    def emit(self, op: str, wish: str, *inputs: str | float, attrs: object = None) -> str:
        """One op; numbers among its inputs become constants. Its output's name."""
        operands = tuple(x if isinstance(x, str) else self._constant(x) for x in inputs)
        spec = OPS[op]
        record = spec.attrs() if attrs is None else attrs
        (kind,) = spec.infer(record, [self.type_of(name) for name in operands])
        name = self._names.new(f"{self._output.name}.{wish}")
        self._types[name] = kind
        self._values.append(Value(name, kind.dtype, kind.shape))
        self._nodes.append(Node(op, name, operands, (name,), record))
        return name

    def type_of(self, name: str) -> TensorType:
        """Dtype and shape of a value."""
        return self._types[name] if name in self._types else self._graph.value(name).type

    def _constant(self, number: float) -> str:
        name = self._names.new(f"{self._output.name}.c")
        shape = (1,) if self._output.shape else ()
        self._values.append(Value.constant(name, np.full(shape, number, np.float32)))
        self._types[name] = TensorType(DType.FLOAT32, shape)
        return name

    def patch(self) -> Patch:
        """The node's replacement: the last op computes its output."""
        *before, last = self._nodes
        final = Node(last.op, self._node.name, last.inputs, self._node.outputs, last.attrs)
        values = tuple(v for v in self._values if v.name != last.output)
        return Patch(remove=(self._node,), add=(*before, final), values=values)
