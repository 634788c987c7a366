"""Places that count from the end where they are negative: files have arithmetic in front of them.

GATHER and GATHER_ND take places from 0 on. Written, a place below 0 gets the size of what it points
into added: ``i + min(max(i, -1), 0) * -size``, in ops that all runtimes have on int32. Read, that
becomes the attribute again, and costs no op.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, Graph, Node, Shape, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.places import counting, counts_from_end
from tinyrt.ops.shared.spec import NoAttrs

STEPS = ("maximum", "minimum", "mul", "add")
"""The ops in front of places, in order."""


def places_from_front(graph: Graph) -> Graph:
    """The graph with that arithmetic in place of the attribute."""
    nodes: list[Node] = []
    values: dict[str, Value] = {}
    counted: dict[tuple[str, tuple[int, ...]], str] = {}
    for node in graph.bound():
        if not counts_from_end(node):
            nodes.append(node.node)
            continue
        key = node.input(1).name, tuple(_sizes(node).reshape(-1).tolist())
        if key not in counted:
            nodes += _arithmetic(graph, node, values)
            counted[key] = nodes[-1].output
        inputs = (node.node.inputs[0], counted[key])
        nodes.append(replace(node.node, inputs=inputs, attrs=counting(node, from_end=False)))
    return graph.with_nodes(nodes, values.values()) if values else graph


def places_from_end(graph: Graph) -> Graph:
    """The graph with the attribute in place of that arithmetic, where it has no other readers."""
    nodes: list[Node] = []
    gone: set[str] = set()
    for node in graph.bound():
        steps = _steps_before(graph, node)
        if steps is None:
            nodes.append(node.node)
            continue
        inputs = (node.node.inputs[0], steps[0].inputs[0])
        nodes.append(replace(node.node, inputs=inputs, attrs=counting(node, from_end=True)))
        gone.update(step.output for step in steps)
    if not gone:
        return graph
    read = {name for node in nodes if node.output not in gone for name in node.inputs}
    gone -= _needed(nodes, read | {*graph.outputs}, gone)
    return drop_unused_values(graph.with_nodes(n for n in nodes if n.output not in gone))


def _needed(nodes: list[Node], read: set[str], gone: set[str]) -> set[str]:
    """What of the arithmetic something else reads."""
    needed = set()
    for node in reversed(nodes):
        if node.output in gone & read:
            needed.add(node.output)
            read = read | {*node.inputs}
    return needed


def _sizes(node: BoundNode) -> NDArray[np.int32]:
    """Sizes of the dimensions that places point into: one for all, or one for each number."""
    x = node.input(0)
    if isinstance(node.attrs, EmbeddingAttrs):
        return np.full(_one(node), x.shape[node.attrs.batch_dims], np.int32)
    return np.asarray(x.shape[: node.input(1).shape[-1]], np.int32)


def _arithmetic(graph: Graph, node: BoundNode, values: dict[str, Value]) -> list[Node]:
    """The ops in front of a node's places; what they read and give is added to ``values``."""
    places, nodes = node.input(1), []
    x = places.name
    for op, other in zip(STEPS, (*_constants(node), None), strict=True):
        y = graph.unique_name(f"{node.output.name}/{op}", values)
        values[y] = Value(y, DType.INT32, places.shape)
        inputs = (places.name, x)
        if other is not None:
            number = graph.unique_name(f"{y}_by", values)
            values[number] = Value.constant(number, other)
            inputs = (x, number)
        nodes.append(Node(op, y, inputs, (y,), _attrs_of(op)))
        x = y
    return nodes


def _constants(node: BoundNode) -> tuple[NDArray[np.int32], ...]:
    """What the steps but the last one read beside places."""
    one = _one(node)
    return np.full(one, -1, np.int32), np.zeros(one, np.int32), -_sizes(node)


def _one(node: BoundNode) -> Shape:
    """The shape of a number that leaves the shape of a node's places as it is."""
    return (1,) * min(1, len(node.input(1).shape))


def _attrs_of(op: str) -> object:
    return {"mul": MulAttrs(), "add": AddAttrs()}.get(op, NoAttrs())


def _steps_before(graph: Graph, node: BoundNode) -> list[Node] | None:
    """The four ops in front of a node's places, where they count those below 0 from the end."""
    if node.op not in ("embedding", "gather_nd") or counts_from_end(node):
        return None
    last = graph.producer(node.node.inputs[1])
    steps: list[Node] = []
    name = last.inputs[1] if last is not None and len(last.inputs) == 2 else ""
    for op, other in zip(STEPS[-2::-1], _constants(node)[::-1], strict=True):
        step = graph.producer(name)
        if step is None or step.op != op:
            return None
        data = graph.value(step.inputs[1]).data
        if data is None or data.shape != other.shape or (data != other).any():
            return None
        steps.insert(0, step)
        name = step.inputs[0]
    assert last is not None, "the steps begin in front of it"
    return [*steps, last] if (last.op, last.inputs[0]) == ("add", name) else None
