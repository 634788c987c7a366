"""Sequence LSTMs that keep their states from run to run <-> the same, each run from zeros.

Each calibration sample is a run of its own: it begins with zeros, as the first run does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.ir import Graph, Value
from tinyrt.ops import verify
from tinyrt.ops.unidirectional_sequence_lstm import CELL, HIDDEN

OP = "unidirectional_sequence_lstm"

States = tuple[tuple[str, str], ...]


def begun_anew(graph: Graph) -> Graph:
    """The float graph with constant zeros for states; the same graph if other ops have any."""
    own = {node.inputs[i] for node in graph.nodes if node.op == OP for i in (HIDDEN, CELL)}
    states = [graph.value(before) for before, _ in graph.states]
    if not own.issuperset(value.name for value in states):
        return graph
    zeros = {v.name: Value.constant(v.name, np.zeros(v.shape, np.float32)) for v in states}
    outputs = {after for _, after in graph.states}
    return replace(
        graph,
        inputs=tuple(name for name in graph.inputs if name not in zeros),
        outputs=tuple(name for name in graph.outputs if name not in outputs),
        values={**graph.values, **zeros},
        states=(),
    )


def kept_on(graph: Graph, states: States) -> Graph:
    """The quantised graph with the states of the float one, in place of constants.

    Args:
        graph: what became of a graph of ``begun_anew``.
        states: those of the graph before.

    """
    inputs = {before: replace(graph.value(before), data=None) for before, _ in states}
    return verify(
        replace(
            graph,
            inputs=(*graph.inputs, *inputs),
            outputs=(*graph.outputs, *(after for _, after in states)),
            values={**graph.values, **inputs},
            states=states,
        )
    )
