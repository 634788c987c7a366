"""A graph for several samples, also where its first axis is not theirs all through.

Importers lay a single sample out as they please: time first, heads first. The samples' axis stands
in front here. A tensor whose own first dimension is 1 has the samples there; another one has a
dimension more. Where an op wants its operands in another shape, they are reshaped for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Graph, Node, Shape, Value
from tinyrt.ops import OPS, is_weighted, verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.batch import rebatch, with_samples
from tinyrt.ops.shared.traits import Dims
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.transpose import TransposeAttrs

ALONG_THE_LAST = frozenset({"softmax", "log_softmax", "batch_matmul"})
"""Ops that take any number of dimensions in front of those that they work along."""


@dataclass(frozen=True, slots=True)
class Batched:
    """A graph for several samples.

    Attributes:
        graph: it.
        owners: name of a reshape that was added -> name of the node that it was added for.
        origins: name of a value that was added -> that of the value whose elements it has.

    """

    graph: Graph
    owners: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)


def batched(graph: Graph, n: int) -> Batched:
    """The graph for ``n`` samples, along the first axis of its inputs and outputs.

    Raises:
        ShapeError: an op mixes samples, or is not known to keep them apart; or an input or output
            has another first dimension than 1.

    """
    try:
        return Batched(rebatch(graph, n))
    except ShapeError:
        return _Batching(graph, n).run()


class _Batching:
    """The graph for several samples, being built."""

    def __init__(self, graph: Graph, n: int) -> None:
        self.graph, self.n = graph, n
        self.values, self.nodes = dict(graph.values), list[Node]()
        self.fixed = {value.name for value in graph.values.values() if value.is_constant}
        self.owners: dict[str, str] = {}
        self.origins: dict[str, str] = {}

    def run(self) -> Batched:
        """All nodes in order."""
        if self.graph.states:
            raise ShapeError(
                "the model keeps state from sample to sample",
                expected="samples that begin anew each",
                hint="run samples one by one",
            )
        for name in (*self.graph.inputs, *self.graph.outputs):
            value = self.graph.value(name)
            if value.shape[:1] != (1,):
                raise ShapeError(
                    "the samples' axis is not in front",
                    tensor=value.describe(),
                    expected="(1, ...)",
                    hint="run samples one by one",
                )
        for name in self.graph.inputs:
            self._set(self.graph.value(name))
        for node in self.graph.bound():
            if all(v is None or v.name in self.fixed for v in node.inputs):
                self.fixed.update(node.node.outputs)
                self.nodes.append(node.node)
            elif not self._as_it_is(node):
                self._widened(node)
        graph = verify(replace(self.graph, values=self.values, nodes=tuple(self.nodes)))
        return Batched(graph, self.owners, self.origins)

    def _set(self, value: Value) -> None:
        self.values[value.name] = replace(value, shape=self._shape(value.shape))

    def _shape(self, own: Shape) -> Shape:
        """Of all samples together, from one's."""
        return (self.n, *(own[1:] if own[:1] == (1,) else own))

    def _as_it_is(self, node: BoundNode) -> bool:
        """Take the node over if the samples stand where an op of its kind has them."""
        if any(v.shape[:1] != (1,) for v in (*self._varying(node), *node.outputs)):
            return False
        try:
            new, types = with_samples(node, self.values, self.fixed, 1, self.n)
        except ShapeError:
            return False
        self.nodes.append(new)
        for value, type_ in zip(node.outputs, types, strict=True):
            self.values[value.name] = replace(value, shape=type_.shape)
        return True

    def _widened(self, node: BoundNode) -> None:
        """Add the node with a dimension for the samples in front of each sample's own."""
        attrs, collapses = _with_axis(node, self.n), _collapses(node)
        if attrs is None and not collapses:
            raise ShapeError(
                f"{node.describe()} is not known to keep samples apart",
                tensor=node.output.describe(),
                hint="run samples one by one",
            )
        rank = max(len(v.shape) for v in node.inputs if v is not None)
        names = []
        for value in node.inputs:
            if value is None or value.name in self.fixed:
                names.append("" if value is None else value.name)
                continue
            own = value.shape
            if _flattens(node):
                own = (math.prod(own[:-1]), own[-1])
            elif OPS[node.op].traits.elementwise or node.op in ALONG_THE_LAST:
                own = (*[1] * (rank - len(own)), *own)
            names.append(self._reshaped(node, value, self._wide(own, collapses)))
        new = replace(node.node, inputs=tuple(names), attrs=node.attrs if collapses else attrs)
        types = [self.values[name].type if name else None for name in names]
        (type_,) = OPS[node.op].infer(new.attrs, types)
        wide, (output,) = self._wide(node.output.shape, collapses), node.outputs
        assert type_.shape == wide, "the samples stay in front of what the op works along"
        self._set(output)
        if wide == self.values[output.name].shape:
            self.nodes.append(new)
            return
        inner = f"{output.name}/wide"
        self.values[inner] = replace(output, name=inner, shape=wide)
        self.nodes.append(replace(new, outputs=(inner,)))
        self._added(node, inner, output.name, output.name)

    def _wide(self, own: Shape, collapses: bool) -> Shape:
        return (self.n * own[0], *own[1:]) if collapses else (self.n, *own)

    def _reshaped(self, node: BoundNode, value: Value, shape: Shape) -> str:
        """An operand in that shape; its name."""
        if self.values[value.name].shape == shape:
            return value.name
        name = f"{value.name}/for/{node.name}"
        self.values[name] = replace(value, name=name, shape=shape)
        self._added(node, value.name, name, value.name)
        return name

    def _added(self, node: BoundNode, x: str, y: str, origin: str) -> None:
        """A reshape from one value to another, beside a node."""
        name = f"{y}/reshape"
        new_shape = ReshapeAttrs(self.values[y].shape)
        self.nodes.append(Node("reshape", name, (x,), (y,), new_shape))
        self.owners[name] = node.name
        for value in (x, y):
            if value not in self.graph.values:
                self.origins[value] = origin

    def _varying(self, node: BoundNode) -> list[Value]:
        return [v for v in node.inputs if v is not None and v.name not in self.fixed]


def _collapses(node: BoundNode) -> bool:
    """Whether the op takes what lies along its first dimension one by one, however much it is."""
    return is_weighted(node) and node.op != "fully_connected"


def _flattens(node: BoundNode) -> bool:
    """Whether the op makes one dimension of all but the last."""
    attrs = node.attrs
    return isinstance(attrs, FullyConnectedAttrs) and not attrs.keep_num_dims


def _with_axis(node: BoundNode, n: int) -> Any:
    """The attributes with one more dimension in front, of ``n`` samples; None: not known."""
    attrs: Any = node.attrs
    traits = OPS[node.op].traits
    if isinstance(attrs, ReshapeAttrs):
        return ReshapeAttrs((n, *node.output.shape))
    if isinstance(attrs, TransposeAttrs):
        return TransposeAttrs((0, *(axis + 1 for axis in attrs.perm)))
    if isinstance(attrs, SliceAttrs):
        return SliceAttrs(
            (0, *attrs.begin),
            (n, *attrs.size),
            (1, *attrs.strides),
            tuple(axis + 1 for axis in attrs.dropped),
        )
    if isinstance(attrs, FullyConnectedAttrs):
        return replace(attrs, keep_num_dims=True)
    if traits.elementwise or node.op in ALONG_THE_LAST:
        return attrs
    if traits.dims is None or Dims.EACH in traits.dims.values() or len(node.outputs) != 1:
        return None
    changed: dict[str, Any] = {}
    for name, kind in traits.dims.items():
        given = getattr(attrs, name)
        if kind is Dims.AXIS:
            changed[name] = _behind(given)
        else:
            changed[name] = tuple(_behind(axis) for axis in given)
    return replace(attrs, **changed)


def _behind(axis: int) -> int:
    """The same dimension behind a new first one; those counted from the end stay."""
    return axis + 1 if axis >= 0 else axis
