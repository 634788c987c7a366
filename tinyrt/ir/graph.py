"""The one graph type: named values, nodes in execution order.

Ops are TFLite's builtin ops with TFLite's attributes and NHWC layout. Nodes refer to values by
name; names of imported tensors survive, rewrites append suffixes to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

from numpy.typing import NDArray

from tinyrt.errors import VerifyError
from tinyrt.ir.types import DType, QParams, Shape, TensorType

T = TypeVar("T")
AttrsT = TypeVar("AttrsT")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor: a constant if it has ``data``, else an input or the output of one node."""

    name: str
    dtype: DType
    shape: Shape
    q: QParams | None = None
    data: NDArray[Any] | None = None

    @classmethod
    def constant(
        cls, name: str, data: NDArray[Any], q: QParams | None = None, dtype: DType | None = None
    ) -> Value:
        """A value with the shape and dtype of ``data``; int4 weights name their dtype."""
        return cls(name, dtype or DType.of(data.dtype), tuple(data.shape), q, data)

    @property
    def type(self) -> TensorType:
        """Dtype and shape."""
        return TensorType(self.dtype, self.shape)

    @property
    def is_constant(self) -> bool:
        """Whether the value is known before the model runs."""
        return self.data is not None

    @property
    def is_quantized(self) -> bool:
        """Whether integers stand for real numbers, or float16 does, in which weights are stored."""
        quantised = self.q is not None and self.dtype is not DType.FLOAT32
        return quantised or self.dtype is DType.FLOAT16

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self.dtype.nbytes(self.size)

    def describe(self) -> str:
        """``'x' s8[1,96,96,3]``, for messages."""
        return f"'{self.name}' {self.type}"


@dataclass(frozen=True, slots=True)
class Node:
    """One op: its inputs (an empty name stands for an absent optional one) and outputs."""

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: object = None

    @property
    def output(self) -> str:
        """The first output."""
        return self.outputs[0]

    def attrs_as(self, kind: type[AttrsT]) -> AttrsT:
        """The op's attributes, which must be of that type.

        Raises:
            TypeError: they are of another one.

        """
        if not isinstance(self.attrs, kind):
            raise TypeError(f"{self.op} '{self.name}' has {self.attrs}, not {kind.__name__}")
        return self.attrs


class Notes:
    """Results of analyses of a node, each computed once.

    Attributes:
        of_node: results that depend on the whole node.
        of_constants: results that depend on its constants and scales alone; they also hold where
            the node computes only a few rows.

    """

    def __init__(self, whole: Notes | None = None) -> None:
        self.of_node: dict[Hashable, Any] = {}
        self.of_constants: dict[Hashable, Any] = {} if whole is None else whole.of_constants
        self._whole = whole or self
        self._on_rows: dict[int, Notes] = {}

    def on_rows(self, count: int) -> Notes:
        """Notes on the same node where it computes ``rows`` rows of its output."""
        whole = self._whole
        if count not in whole._on_rows:
            whole._on_rows[count] = Notes(whole)
        return whole._on_rows[count]


@dataclass(frozen=True, slots=True)
class BoundNode:
    """A node with its values looked up: what kernels, shape rules and writers work on."""

    index: int
    node: Node
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    # Not copied by ``replace``: a node with other values has other notes.
    _notes: Notes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def op(self) -> str:
        """The op's name, such as ``conv2d``."""
        return self.node.op

    @property
    def name(self) -> str:
        """The node's name in the model."""
        return self.node.name

    @property
    def attrs(self) -> object:
        """The op's attribute record."""
        return self.node.attrs

    def attrs_as(self, kind: type[AttrsT]) -> AttrsT:
        """The op's attributes, which must be of that type, see ``Node.attrs_as``."""
        return self.node.attrs_as(kind)

    def input(self, i: int) -> Value:
        """Input ``i``, which must be present.

        Raises:
            VerifyError: the node has no such input.

        """
        value = self.inputs[i] if i < len(self.inputs) else None
        if value is None:
            raise VerifyError(f"input {i} is missing", op=self.describe(), expected="a tensor")
        return value

    @property
    def operands(self) -> tuple[Value, ...]:
        """All inputs, each of which must be present.

        Raises:
            VerifyError: one is absent.

        """
        return tuple(map(self.input, range(len(self.inputs))))

    def optional(self, i: int) -> Value | None:
        """Input ``i``, or None where it is absent."""
        return self.inputs[i] if i < len(self.inputs) else None

    @property
    def output(self) -> Value:
        """The first output."""
        return self.outputs[0]

    def describe(self) -> str:
        """``conv2d 'stem/conv'``, for messages: passes leave other numbers than the file has."""
        return f"{self.op} '{self.name}'"

    @property
    def notes(self) -> Notes:
        """The notes on this node."""
        if self._notes is None:
            object.__setattr__(self, "_notes", Notes())
        assert self._notes is not None
        return self._notes

    def noting(self, notes: Notes) -> BoundNode:
        """The node itself, which is new, with notes that it shares with others."""
        object.__setattr__(self, "_notes", notes)
        return self

    def noted(self, key: Hashable, find: Callable[[], T]) -> T:
        """The result of ``find`` on this node, computed once."""
        return _noted(self.notes.of_node, key, find)

    def noted_of_constants(self, key: Hashable, find: Callable[[], T]) -> T:
        """The result of ``find`` on the node's constants and scales, computed once.

        It must not depend on shapes of activations, nor on padding: these differ on a few rows.
        """
        return _noted(self.notes.of_constants, key, find)


def _noted(notes: dict[Hashable, Any], key: Hashable, find: Callable[[], T]) -> T:
    if key not in notes:
        notes[key] = find()
    note: T = notes[key]
    return note


@dataclass(frozen=True)
class Graph:
    """A model: values by name, nodes in execution order.

    Attributes:
        name: the model's name.
        inputs: names of the input values, in the model's order.
        outputs: names of the output values, in the model's order.
        values: every value that a node, input or output refers to.
        nodes: in an order in which each input is defined before it is used.
        states: pairs of an input and an output of the same type: what the output holds after one
            run, the input holds in the next one. At first it holds zeros. The output is no input.

    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: dict[str, Value] = field(repr=False)
    nodes: tuple[Node, ...] = field(repr=False)
    states: tuple[tuple[str, str], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """The model alone, for another process: what was looked up or noted is found anew there."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def fed(self) -> tuple[str, ...]:
        """The inputs that a caller feeds: those that are no state."""
        states = {name for name, _ in self.states}
        return tuple(name for name in self.inputs if name not in states)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The outputs that a caller reads: those that are no state."""
        states = {name for _, name in self.states}
        return tuple(name for name in self.outputs if name not in states)

    @property
    def is_quantized(self) -> bool:
        """Whether any activation or weight is."""
        return any(v.is_quantized for v in self.values.values())

    def value(self, name: str) -> Value:
        """The value of that name."""
        return self.values[name]

    @property
    def input_values(self) -> tuple[Value, ...]:
        """The inputs, in the model's order."""
        return tuple(self.values[n] for n in self.inputs)

    @property
    def output_values(self) -> tuple[Value, ...]:
        """The outputs, in the model's order."""
        return tuple(self.values[n] for n in self.outputs)

    def bind(self, index: int) -> BoundNode:
        """Node ``index`` with its values."""
        node = self.nodes[index]
        return BoundNode(
            index,
            node,
            tuple(self.values[n] if n else None for n in node.inputs),
            tuple(self.values[n] for n in node.outputs),
        ).noting(self._notes_on(node.outputs))

    def bound(self) -> Iterator[BoundNode]:
        """All nodes in execution order, each with its values."""
        return (self.bind(i) for i in range(len(self.nodes)))

    def consumers(self, name: str) -> tuple[Node, ...]:
        """Nodes that read the value, in their order; none for a mere output."""
        return self._consumers.get(name, ())

    def producer(self, name: str) -> Node | None:
        """The node that writes the value; None for inputs and constants."""
        return self._producers.get(name)

    @cached_property
    def _consumers(self) -> dict[str, tuple[Node, ...]]:
        readers: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.inputs):
                readers.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in readers.items()}

    @cached_property
    def _producers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs}

    def noted(self, key: Hashable, find: Callable[[], T]) -> T:
        """The result of ``find`` on this graph, computed once; graphs do not change."""
        return _noted(self._notes, key, find)

    @cached_property
    def _notes(self) -> dict[Hashable, Any]:
        return {}

    def _notes_on(self, outputs: tuple[str, ...]) -> Notes:
        if outputs not in self._notes_of:
            self._notes_of[outputs] = Notes()
        return self._notes_of[outputs]

    @cached_property
    def _notes_of(self) -> dict[tuple[str, ...], Notes]:
        """Notes on nodes, by their outputs."""
        return {}

    def with_nodes(self, nodes: Iterable[Node], values: Iterable[Value] = ()) -> Graph:
        """A copy with these nodes; ``values`` are added or replace those of the same name."""
        merged = dict(self.values)
        merged.update((v.name, v) for v in values)
        return replace(self, nodes=tuple(nodes), values=merged)

    def unique_name(self, wish: str, others: Container[str] = ()) -> str:
        """``wish``, or ``wish_1``, ``wish_2``, ... if a value or one of the others has the name."""
        i = self._numbers.get(wish, 0)
        while self.has_value(name := f"{wish}_{i}" if i else wish):
            i += 1
        self._numbers[wish] = i
        while name in others or self.has_value(name):
            i += 1
            name = f"{wish}_{i}"
        return name

    def has_value(self, name: str) -> bool:
        """Whether a value has the name."""
        return name in self.values

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Wish -> the number at which the search for a free name goes on."""
        return {}
