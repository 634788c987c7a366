"""The least and greatest element of each channel of every tensor, whatever the inputs are.

Interval arithmetic: each op's bounds follow from those of its inputs, in the op's own arithmetic.
Bounds are sound: no element lies outside. They are exact for an op by itself; behind several ops
they may be wider than what can happen, since inputs are taken to be independent of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tinyrt.convert.values.elementwise import ELEMENTWISE, elementwise
from tinyrt.convert.values.interval import FLOATS, Bounds
from tinyrt.convert.values.moving import INCREASING, increasing
from tinyrt.convert.values.places import PLACES, places
from tinyrt.convert.values.sums import SUMS, summed
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops import OPS


def bounds_of(graph: Graph) -> dict[str, Bounds]:
    """The bounds of every input and of every op's outputs, by name.

    Integers are bounded by their stored values; floats by real ones, up to rounding, as long as
    the inputs are numbers.

    Args:
        graph: a verified graph, float or quantised.

    """
    return graph.noted("bounds", partial(_bounds_of, graph))


def _bounds_of(graph: Graph) -> dict[str, Bounds]:
    known = {value.name: Bounds.whole(value) for value in graph.input_values}
    for node in graph.bound():
        found = behind(node, known)
        for value in node.outputs:
            whole = _possible(node, value)
            known[value.name] = whole if found is None else found.within(whole)
    return known


def _possible(node: BoundNode, value: Value) -> Bounds:
    """What an output may be whatever the inputs are: floats that are never below 0, or any."""
    whole = Bounds.whole(value)
    if value.dtype in FLOATS and OPS[node.op].traits.nonnegative:
        return replace(whole, low=np.zeros_like(whole.low))
    return whole


def behind(node: BoundNode, known: Mapping[str, Bounds]) -> Bounds | None:
    """The bounds of an op's output; None where nothing is known about the op.

    Args:
        node: the op.
        known: the bounds of its inputs that are no constants, by name.

    """
    if node.op in SUMS:
        return summed(node, known)
    if node.op in PLACES:
        return places(node, known)
    if node.op in ELEMENTWISE:
        return elementwise(node, known)
    return increasing(node, known) if node.op in INCREASING else None
