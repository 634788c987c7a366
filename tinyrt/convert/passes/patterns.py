"""Queries that several rules use to recognise a formula."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinyrt.convert.passes.common import constant_data, split_constant
from tinyrt.ir import Graph, Node
from tinyrt.ops.shared.activation import fused_activation

TOLERANCE = 1e-3
"""How far a constant may be off, relatively: exporters round them to a few digits."""


def number(graph: Graph, name: str) -> float | None:
    """The value of a constant of one element."""
    data = constant_data(graph, name)
    return float(data.reshape(-1)[0]) if data is not None and data.size == 1 else None


def is_near(constant: float | None, target: float) -> bool:
    """Whether a constant is meant to be that number."""
    return constant is not None and bool(np.isclose(constant, target, rtol=TOLERANCE, atol=0))


def scaled(graph: Graph, name: str, op: str = "mul") -> tuple[str, float] | None:
    """``(x, c)`` where the value is ``x * c`` (or ``x + c``) for a constant c of one element."""
    node = graph.producer(name)
    if node is None or node.op != op or fused_activation(node) != "NONE":
        return None
    split = split_constant(graph, node)
    if split is None or split[1].size != 1:
        return None
    return node.inputs[split[0]], float(split[1].reshape(-1)[0])


def without_factor(graph: Graph, name: str) -> tuple[str, float]:
    """``(x, c)`` as ``scaled`` gives it, or the value itself with the factor 1."""
    return scaled(graph, name) or (name, 1.0)


def products_with(graph: Graph, name: str, factor: str) -> Iterator[tuple[Node, float]]:
    """The products of the value with ``factor`` and constants, and with nothing else.

    Multiplications follow each other, each read by the next one alone. Yields those whose result
    contains ``factor``, with the product of the constants up to there.
    """
    coefficient, has_factor, current = 1.0, False, name
    while is_read_by(graph, current):
        (node,) = graph.consumers(current)
        if node.op != "mul" or fused_activation(node) != "NONE" or node.inputs.count(current) != 1:
            return
        (other,) = (n for n in node.inputs if n != current)
        constant = number(graph, other)
        if constant is None:
            base, constant = (other, 1.0) if other == factor else without_factor(graph, other)
            if has_factor or base != factor:
                return
            has_factor = True
        coefficient *= constant
        if has_factor:
            yield node, coefficient
        current = node.output


def is_read_by(graph: Graph, name: str, count: int = 1) -> bool:
    """Whether exactly ``count`` nodes read the value, and it is no output of the model."""
    return name not in graph.outputs and len(graph.consumers(name)) == count


def op_before(graph: Graph, name: str, op: str) -> Node | None:
    """The node that computes the value, if it is of that op."""
    node = graph.producer(name)
    return node if node is not None and node.op == op else None
