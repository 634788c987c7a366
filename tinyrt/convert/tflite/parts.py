"""The graph that a reader of a .tflite file builds: nodes, values and states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import OP, current
from tinyrt.convert.tflite.declared import computed_shapes
from tinyrt.convert.tflite.tensors import check_elements
from tinyrt.errors import ModelFormatError, UnsupportedError, VerifyError
from tinyrt.ir import BoundNode, DType, Node, Shape, TensorType, Value, check_arity, check_types
from tinyrt.ops import OPS
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import folded
from tinyrt.ops.shared.spec import NoAttrs

COUNTED = (DType.INT32, DType.INT64)
"""Element types that shapes and indices are computed in."""

KNOWN = (*COUNTED, DType.BOOL)
"""Element types of which constants are computed at once: they decide what a file's ops do."""


class Parts:
    """A graph that grows.

    Attributes:
        values: all values by name: the file's tensors, and those that were added.
        nodes: in execution order.
        states: pairs of values, as a graph has them.
        spare: outputs whose nodes are left out where nothing reads them.
        empty: tensors without elements: parts of loops' lists, and nothing but joins reads them.
        stale: tensors of the file whose declared shapes are not what their ops compute: both
            shapes by name.

    """

    def __init__(self, tensors: Sequence[Value]) -> None:
        self.values = {value.name: value for value in tensors}
        self.nodes: list[Node] = []
        self.states: list[tuple[str, str]] = []
        self.spare: set[str] = set()
        self.empty: set[str] = set()
        self.stale: dict[str, tuple[Shape, Shape]] = {}
        self._declared = frozenset(self.values)
        self._changed: set[str] = set()
        self._written: set[str] = set()
        self._tried: dict[str, int] = {}

    def new(self, wish: str, like: Value, shape: Shape | None = None) -> Value:
        """A new value with another one's dtype and quantisation; by default its shape, too."""
        name = self._unused(wish)
        shape = like.shape if shape is None else shape
        self.values[name] = Value(name, like.dtype, shape, like.q)
        return self.values[name]

    def hidden_state(self, output: Value, kind: TensorType) -> Value:
        """A state that the op of that output keeps, for which the file has no tensor.

        Raises:
            UnsupportedError: it has more elements than kernels count.

        """
        name = self._unused(f"{output.name}/state")
        check_elements(kind.shape, f"'{name}' {list(kind.shape)}")
        self.values[name] = Value(name, kind.dtype, kind.shape)
        return self.values[name]

    def protect(self, names: Iterable[str]) -> None:
        """Mark values as inputs: no op may compute them."""
        self._written.update(names)

    def add(self, op: str, inputs: Sequence[Value], output: Value, attrs: object = None) -> Value:
        """Append an op; its output, in the shape that the op computes."""
        names = tuple(value.name for value in inputs)
        attrs = NoAttrs() if attrs is None else attrs
        self.append(Node(op, output.name, names, (output.name,), attrs))
        return self.values[output.name]

    def reshape(self, x: Value, output: Value) -> Value:
        """Append a reshape to the output's shape."""
        return self.add("reshape", [x], output, ReshapeAttrs(output.shape))

    def append(self, node: Node) -> None:
        """Append a node; shape arithmetic on constants is computed at once and becomes a constant.

        Raises:
            VerifyError: such a node's inputs, attributes and output do not fit together.
            BudgetError: such a constant is larger than the file may cost.

        """
        current().spend(OP, "reading ops")
        check_arity(node, OPS[node.op])
        inputs = tuple(self.values[name] if name else None for name in node.inputs)
        for name, shape in zip(node.outputs, computed_shapes(node, inputs), strict=False):
            self.state_shape(self.values[name], shape)
        (output, *others) = (self.values[name] for name in node.outputs)
        all_constant = all(value is None or value.data is not None for value in inputs)
        computable = OPS[node.op].ref_f32 is not None
        if not all_constant or others or not computable or output.dtype not in KNOWN or output.q:
            self._written.update(node.outputs)
            self.nodes.append(node)
            return
        bound = BoundNode(len(self.nodes), node, inputs, (output,))
        check_types(bound, OPS)
        (data,) = folded(bound)
        self.define(output, data)

    def state_shape(self, value: Value, shape: Shape) -> Value:
        """The value in the shape that its op computes, whatever the file declares.

        Raises:
            UnsupportedError: it has more elements than kernels count.

        """
        if value.shape == shape or value.data is not None or value.name in self._written:
            return value
        check_elements(shape, f"'{value.name}' {list(shape)}")
        if value.name in self._declared:
            self.stale[value.name] = value.shape, shape
        self.values[value.name] = replace(value, shape=shape)
        return self.values[value.name]

    def define(self, value: Value, data: Any) -> None:
        """Make a value a constant.

        Raises:
            VerifyError: it is one, or an op computes it.
            ModelFormatError: its dtype does not hold the array's elements.
            BudgetError: it is larger than the file may cost.

        """
        self._check_open(value)
        array = np.asarray(data)
        current().hold(value.nbytes, f"the constant {value.describe()}")
        if value.dtype not in KNOWN:
            raise ModelFormatError(
                "a tensor does not hold what the op computes for it",
                tensor=value.describe(),
                expected="int32 or int64",
            )
        self.set(value, array.astype(value.dtype.numpy).reshape(value.shape))

    def set(self, value: Value, data: NDArray[Any]) -> Value:
        """Make a value a constant of this array, which has its dtype and shape.

        Raises:
            VerifyError: it is one, or an op computes it.

        """
        self._check_open(value)
        self.values[value.name] = replace(value, data=data)
        return self.values[value.name]

    def _check_open(self, value: Value) -> None:
        if self.values[value.name].data is not None or value.name in self._written:
            raise VerifyError(
                f"'{value.name}' is defined twice",
                expected="one op for each tensor, and none for a constant",
            )

    def needed(self, outputs: Iterable[str]) -> list[Node]:
        """The nodes, without those of spare outputs that neither nodes nor these names read."""
        read = {*outputs, *(name for node in self.nodes for name in node.inputs)}
        return [node for node in self.nodes if node.outputs[0] not in self.spare - read]

    def next_of(self, state: Value, *, begins_anew: bool = False) -> str:
        """The name of a state's next value; a state that each run resets is a constant.

        Raises:
            UnsupportedError: it becomes something already.

        """
        if state.name in self._changed:
            raise UnsupportedError(
                "two ops change this state", tensor=state.describe(), expected="one"
            )
        self._changed.add(state.name)
        after = self.new(f"{state.name}/next", state)
        if begins_anew:
            zero = state.q.zero_point if state.q else 0
            current().hold(state.nbytes, f"the state {state.describe()}")
            zeros = np.full(state.shape, zero, state.dtype.numpy)
            self.values[state.name] = replace(state, data=zeros)
            return after.name
        self.states.append((state.name, after.name))
        return after.name

    def _unused(self, wish: str) -> str:
        name, i = wish, self._tried.get(wish, 0)
        while name in self.values:
            i += 1
            name = f"{wish}_{i}"
        self._tried[wish] = i
        return name
