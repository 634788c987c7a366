"""The same model for another batch size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Graph, Node, TensorType, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.shapes import axis_of

PICKING = ("dynamic_update_slice", "embedding", "gather_nd", "slice_at")
"""Ops that pick or replace parts of their first input, at places that are the last one."""

STATES = {"unidirectional_sequence_lstm": (13, 14)}
"""Op -> its inputs that have a row for each sample, whether they are constants or not."""


def rebatch(graph: Graph, batch: int) -> Graph:
    """The graph with ``batch`` samples along the first axis of every activation.

    Raises:
        ShapeError: the first axis is not a batch axis in the whole model. Some op moves, joins or
            reduces it and so mixes samples, or the model keeps state.

    """
    if graph.states and batch != batch_of(graph):
        raise _mixes("the model keeps state from sample to sample", graph.input_values[0])
    values = dict(graph.values)
    old = batch_of(graph)
    for value in graph.input_values:
        if value.shape[:1] != (old,):
            raise _mixes(f"a model input has no batch axis of size {old}", value)
        values[value.name] = replace(value, shape=(batch, *value.shape[1:]))
    nodes: list[Node] = []
    fixed = {value.name for value in values.values() if value.is_constant}
    for bound in graph.bound():
        if all(v is None or v.name in fixed for v in bound.inputs):
            fixed.update(v.name for v in bound.outputs)  # does not depend on any sample
            nodes.append(bound.node)
            continue
        node, types = with_samples(bound, values, fixed, old, batch)
        nodes.append(node)
        for value, type_ in zip(bound.outputs, types, strict=True):
            values[value.name] = replace(value, shape=type_.shape)
    return verify(replace(graph, values=values, nodes=tuple(nodes)))


def with_samples(
    bound: BoundNode, values: dict[str, Value], fixed: Collection[str], old: int, batch: int
) -> tuple[Node, Sequence[TensorType]]:
    """A node for another number of samples along the first axis of what it reads and gives.

    Args:
        bound: the node.
        values: those that it reads, as they are for the new number; states are added.
        fixed: names of values that do not depend on any sample.
        old: the number that the node is for.
        batch: the new number.

    Returns:
        The node, and its outputs' types.

    Raises:
        ShapeError: the node does not keep samples apart, or not along the first axis.

    """
    ranks = {len(v.shape) for v in bound.inputs if v is not None and v.name not in fixed}
    if 1 in ranks or len(ranks) > 1:
        # An op on rank 1 may add or compare samples. Of two ranks, the lower one is broadcast
        # against the higher one's last axes, so its first axis is not the batch.
        raise _mixes(f"{bound.describe()} may not keep samples apart", bound.output)
    if bound.op == "cumsum" and _first_axis_is_summed(bound):
        raise _mixes(f"{bound.describe()} adds samples up", bound.output)
    if getattr(bound.attrs, "time_major", False):
        raise _mixes(f"{bound.describe()} has time before samples", bound.output)
    if bound.op in PICKING and _samples_are_rows(bound, fixed):
        raise _mixes(f"{bound.describe()} picks from all samples", bound.output)
    node = _with_batch(bound, old, batch)
    _repeat_states(node, values, old, batch)
    types = [values[n].type if n else None for n in node.inputs]
    inferred = OPS[node.op].infer(node.attrs, types)
    for value, type_ in zip(bound.outputs, inferred, strict=True):
        if value.shape[:1] != (old,) or type_.shape != (batch, *value.shape[1:]):
            raise _mixes(f"{bound.describe()} does not keep samples apart", value)
    return node, inferred


def _first_axis_is_summed(node: BoundNode) -> bool:
    """Whether a cumsum adds samples up; its output shape does not show it."""
    attrs: Any = node.attrs  # CumsumAttrs, of a module above this one
    return axis_of(attrs.axis, len(node.output.shape)) == 0


def _samples_are_rows(node: BoundNode, fixed: Collection[str]) -> bool:
    """Whether a table holds samples, and not a part for each of them."""
    return not getattr(node.attrs, "batch_dims", 0) and node.input(0).name not in fixed


def batch_of(graph: Graph) -> int:
    """Samples along the first axis of the first input; 1 where there is no such axis."""
    values = graph.input_values
    return values[0].shape[0] if values and values[0].shape else 1


def _with_batch(bound: BoundNode, old: int, new: int) -> Node:
    change = OPS[bound.op].rebatch
    if change is None:
        return bound.node
    return replace(bound.node, attrs=change(bound.attrs, old, new))


def _repeat_states(node: Node, values: dict[str, Value], old: int, new: int) -> None:
    """Give constant states a row for each sample."""
    for place in STATES.get(node.op, ()):
        state = values[node.inputs[place]]
        if state.data is None or new == old:
            continue
        if (state.data != state.data[:1]).any():
            raise _mixes("samples have constant states of their own", state)
        data = np.repeat(state.data[:1], new, axis=0)
        values[state.name] = Value.constant(state.name, data, state.q, state.dtype)


def _mixes(problem: str, value: Value) -> ShapeError:
    return ShapeError(
        problem,
        tensor=value.describe(),
        expected="a first axis that every op leaves alone",
        hint="run samples one by one",
    )
