"""Element-wise ops on one tensor, gathered to one ``pointwise`` and spread again.

A .tflite file has no such op: it holds the float ops between a DEQUANTIZE and a QUANTIZE, which
any runtime computes, and which are gathered again when the file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, Value
from tinyrt.ops import OPS
from tinyrt.ops.pointwise import Operand, PointwiseAttrs, Step
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import NoAttrs

INSIDE = (DType.FLOAT32, DType.BOOL, DType.INT32)
"""Dtypes of what steps compute."""


@dataclass(frozen=True, slots=True)
class PointwiseRegion:
    """Ops that read one tensor, each other and single numbers, and of which others read the last.

    Attributes:
        source: the tensor.
        nodes: the ops, in execution order.

    """

    source: str
    nodes: tuple[Node, ...]


class PointwiseRegions:
    """Finds regions of a graph.

    Args:
        graph: the graph.
        belongs: which nodes may be part of one.

    """

    def __init__(self, graph: Graph, belongs: Callable[[Node], bool]) -> None:
        self.graph = graph
        self._belongs = belongs
        self._place = {node.output: i for i, node in enumerate(graph.nodes)}

    def behind(self, root: Node) -> PointwiseRegion | None:
        """The largest region that ends in the node; None where there is none.

        Tensors are added from the latest to the earliest. Whenever a single open input is left, the
        whole region depends on it alone.
        """
        graph, inside = self.graph, {root.output: root}
        open_ends, region = self._operands(root), None
        while open_ends:
            latest = max(open_ends, key=lambda name: self._place.get(name, -1))
            if len(open_ends) == 1 and graph.value(latest).dtype is DType.FLOAT32:
                region = PointwiseRegion(latest, tuple(sorted(inside.values(), key=self._order)))
            node = graph.producer(latest)
            readers = graph.consumers(latest)
            if (
                node is None
                or latest in graph.outputs
                or any(r.output not in inside for r in readers)
            ):
                break
            further = self._operands(node)
            if not further:
                break
            inside[latest] = node
            open_ends = (open_ends - {latest}) | further
        return region

    def _order(self, node: Node) -> int:
        return self._place[node.output]

    def _operands(self, node: Node) -> set[str]:
        """The tensors that the node reads; none where it cannot be a step of a region."""
        if not OPS[node.op].pointwise or len(node.outputs) > 1 or not self._belongs(node):
            return set()
        y = self.graph.value(node.output)
        operands = set()
        for name in node.inputs:
            value = self.graph.values.get(name)
            if value is None or value.q is not None:
                return set()
            if value.data is not None:
                if value.dtype is not DType.FLOAT32 or value.size != 1:
                    return set()
            elif value.shape == y.shape and value.dtype in INSIDE:
                operands.add(name)
            else:
                return set()
        return operands if y.dtype in INSIDE and y.q is None else set()

    def attrs(self, region: PointwiseRegion) -> PointwiseAttrs:
        """The region as attributes of one op."""
        places = {region.source: 0}
        steps = []
        for i, node in enumerate(region.nodes, 1):
            operands = tuple(self._operand(name, places) for name in node.inputs)
            steps.append(Step(node.op, node.attrs, operands))
            places[node.output] = i
        return PointwiseAttrs(tuple(steps))

    def _operand(self, name: str, places: dict[str, int]) -> Operand:
        data = self.graph.value(name).data
        return places[name] if data is None else float(data.reshape(-1)[0])


def _any(node: Node) -> bool:
    del node
    return True


def gather(
    graph: Graph, accepts: Callable[[PointwiseRegion], bool], belongs: Callable[[Node], bool] = _any
) -> Graph:
    """The graph with one op in place of each region that is accepted.

    Args:
        graph: a float graph.
        accepts: whether a region is to become one op; regions that end last come first.
        belongs: which nodes may be part of one.

    """
    regions = PointwiseRegions(graph, belongs)
    ends: dict[str, Node] = {}
    absorbed: set[str] = set()
    for node in reversed(graph.nodes):
        if node.output in absorbed or graph.value(node.output).dtype is not DType.FLOAT32:
            continue
        region = regions.behind(node)
        if region is not None and accepts(region):
            attrs, last = regions.attrs(region), region.nodes[-1]
            ends[last.output] = replace(last, op="pointwise", inputs=(region.source,), attrs=attrs)
            absorbed.update(n.output for n in region.nodes[:-1])
    if not ends:
        return graph
    nodes = [ends.get(n.output, n) for n in graph.nodes if n.output not in absorbed]
    return _without_unused(replace(graph, nodes=tuple(nodes)))


def gather_islands(graph: Graph) -> Graph:
    """The graph with one op on int8 for each region between a dequantize and a quantize."""
    regions, ends, absorbed = PointwiseRegions(graph, _any), dict[str, Node](), set[str]()
    for node in graph.bound():
        if node.op != "quantize" or node.output.dtype is not DType.INT8:
            continue
        real = node.input(0).name
        root = graph.producer(real)
        if root is None or real in graph.outputs or len(graph.consumers(real)) > 1:
            continue
        region = regions.behind(root)
        source = graph.producer(region.source) if region is not None else None
        if region is None or source is None or not _widens(graph, source):
            continue
        name, attrs = node.output.name, regions.attrs(region)
        ends[name] = Node("pointwise", node.name, source.inputs, (name,), attrs)
        absorbed.update(n.output for n in region.nodes)
    if not ends:
        return graph
    nodes = [ends.get(n.output, n) for n in graph.nodes if n.output not in absorbed]
    read = {name for node in nodes for name in node.inputs} | set(graph.outputs)
    live = [n for n in nodes if n.op != "dequantize" or n.output in read]
    return _without_unused(replace(graph, nodes=tuple(live)))


def _widens(graph: Graph, node: Node) -> bool:
    """Whether the node makes floats of an int8 activation."""
    if node.op != "dequantize":
        return False
    x = graph.value(node.inputs[0])
    return x.dtype is DType.INT8 and not x.is_constant and x.q is not None and x.q.axis is None


def _without_unused(graph: Graph) -> Graph:
    used = {name for n in graph.nodes for name in (*n.inputs, *n.outputs)}
    used.update(graph.inputs, graph.outputs)
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(graph, values=values)


def spread(graph: Graph, *, all_of_them: bool = True) -> Graph:
    """The graph with the float ops that each ``pointwise`` consists of, or each on floats."""
    if all(node.op != "pointwise" for node in graph.nodes):
        return graph
    nodes: list[Node] = []
    values: dict[str, Value] = {}
    for node in graph.bound():
        on_floats = node.output.dtype is DType.FLOAT32
        if node.op == "pointwise" and (all_of_them or on_floats):
            _Spread(graph, node, nodes, values).run()
        else:
            nodes.append(node.node)
    return _without_unused(graph.with_nodes(nodes, values.values()))


class _Spread:
    """One ``pointwise`` op being replaced by the ops of its steps."""

    def __init__(
        self, graph: Graph, node: BoundNode, nodes: list[Node], values: dict[str, Value]
    ) -> None:
        self._graph, self._node = graph, node
        self._nodes, self._values = nodes, values

    def run(self) -> None:
        node, shape = self._node, self._node.output.shape
        steps = node.attrs_as(PointwiseAttrs).steps
        results = [node.input(0).name]
        integer = node.output.dtype is not DType.FLOAT32
        if integer:
            real = self._value("real", DType.FLOAT32)
            self._add("dequantize", NoAttrs(), results, real)
            results = [real]
        for i, step in enumerate(steps, 1):
            operands = [
                results[o] if isinstance(o, int) else self._number(o, shape) for o in step.operands
            ]
            types = [self._typed(name).type for name in operands]
            (kind,) = OPS[step.op].infer(step.attrs, types)
            last = i == len(steps) and not integer
            results.append(node.output.name if last else self._value(f"step{i}", kind.dtype))
            self._add(step.op, step.attrs, operands, results[-1])
        if integer:
            self._add("quantize", QuantizeAttrs(node.output.dtype), results[-1:], node.output.name)

    def _add(self, op: str, attrs: object, inputs: Iterable[str], output: str) -> None:
        name = self._node.name if output == self._node.output.name else output
        self._nodes.append(Node(op, name, tuple(inputs), (output,), attrs))

    def _typed(self, name: str) -> Value:
        return self._values[name] if name in self._values else self._graph.value(name)

    def _value(self, suffix: str, dtype: DType) -> str:
        name = self._fresh(suffix)
        self._values[name] = Value(name, dtype, self._node.output.shape)
        return name

    def _number(self, number: float, shape: tuple[int, ...]) -> str:
        """A constant; operands of several ops of the file share one."""
        data = np.full((1,) if shape else (), number, np.float32)
        name = f"number {number!r}{'' if shape else ' alone'}"
        if name in self._graph.values:
            name = self._fresh(f"number {number!r}")
        self._values.setdefault(name, Value.constant(name, data))
        return name

    def _fresh(self, suffix: str) -> str:
        wish = name = f"{self._node.output.name}/{suffix}"
        i = 0
        while name in self._graph.values or name in self._values:
            i += 1
            name = f"{wish}_{i}"
        return name
