"""Ranges of what is too faint for the integers around it: zeros in sums, and floats' rounding."""

from __future__ import annotations

from collections.abc import Callable

from tinyrt.ir import Graph
from tinyrt.quantize.ranges import Range

FAINT = 2.0**-16
"""Share of the operands below which a result is lost: half a step of int16, 1/500 of int8's."""

CANCELLING = ("add", "sub", "mean", "sum")
"""Ops whose result may be far below their operands."""

SUMMED = ("add", "sub", "squared_difference")
"""Ops that bring both operands to one scale."""


def lifted(
    graph: Graph, name: str, observed: Range, range_of: Callable[[str], Range | None]
) -> Range:
    """A range whose scale the tensor's neighbours can be computed with.

    A tensor that was always zero has no scale of its own. Where it is added to another, it takes
    that one's: sums are refused where an operand's steps are a million times those of the result.

    What remains where sums cancel, as in the mean of what is centred already, is floats' rounding.
    """
    if observed.low == observed.high == 0:
        return _other_operand(graph, name, range_of) or observed
    maker = graph.producer(name)
    if maker is None or maker.op not in CANCELLING:
        return observed
    # Of constants, a mask's may be any number: its sums are as large before they are narrowed.
    operands = [n for n in maker.inputs if n and not graph.value(n).is_constant]
    least = FAINT * max((_peak(range_of(n)) for n in operands), default=0.0)
    return observed if _peak(observed) >= least else Range(-least, least)


def _other_operand(
    graph: Graph, name: str, range_of: Callable[[str], Range | None]
) -> Range | None:
    """Of the first sum that reads the tensor with one that is not always zero."""
    for node in graph.consumers(name):
        others = [range_of(n) for n in node.inputs if n != name] if node.op in SUMMED else []
        for other in others:
            if _peak(other) > 0:
                return other
    return None


def _peak(of: Range | None) -> float:
    return 0.0 if of is None else max(-of.low, of.high)
