"""The same model for another batch size."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Graph, Node, Value
from tinyrt.ops import OPS, verify


def rebatch(graph: Graph, batch: int) -> Graph:
    """The graph with ``batch`` samples along the first axis of every activation.

    Raises:
        ShapeError: the model's first axis is not a batch axis throughout, so that samples would
            mix: an op moves, joins or reduces it.

    """
    values = dict(graph.values)
    for value in graph.input_values:
        if not value.shape or value.shape[0] != 1:
            raise _mixes("a model input has no batch axis of size 1", value)
        values[value.name] = replace(value, shape=(batch, *value.shape[1:]))
    nodes: list[Node] = []
    for bound in graph.bound():
        node = _with_batch(bound, batch)
        nodes.append(node)
        types = [values[n].type if n else None for n in node.inputs]
        (inferred,) = OPS[node.op].infer(node.attrs, types)
        value = bound.output
        if value.shape[:1] != (1,) or inferred.shape != (batch, *value.shape[1:]):
            raise _mixes(f"{bound.describe()} does not keep samples apart", value)
        values[value.name] = replace(value, shape=inferred.shape)
    return verify(replace(graph, values=values, nodes=tuple(nodes)))


def _with_batch(bound: BoundNode, batch: int) -> Node:
    change = OPS[bound.op].rebatch
    if change is None:
        return bound.node
    return replace(bound.node, attrs=change(bound.attrs, 1, batch))


def _mixes(problem: str, value: Value) -> ShapeError:
    return ShapeError(
        problem,
        tensor=value.describe(),
        expected="a first axis of 1 that every op leaves alone",
        hint="run samples one by one",
    )
