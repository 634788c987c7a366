"""The scores that softmax reads inside a model: values far below their row's maximum do not matter.

Attention masks positions by adding minus infinity, or a large negative number, to their scores.
Ranges that included such numbers would leave no steps for the scores that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Graph, Node
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Quant
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize.ranges import AVERAGING, Range

DEPTH = 10.0
"""exp(-10) is a fortieth of the smallest step of an int8 probability: a row of forty hidden
positions is still rounded as if they were not there."""

HIDDEN = 400
"""Depths below 0 beyond which no learned score lies; masks subtract more."""

LEVELS = 256
"""Least factor of a mask: the smallest step of the tensor that it multiplies."""

RangeOf = Callable[[str], Range | None]


class Depth(NamedTuple):
    """How far below the maximum of their row scores matter.

    Attributes:
        least: scores that lie deeper get no share.
        answers: whether the shares are the model's own output. Then all scores matter, except
            those that a mask has hidden.

    """

    least: float
    answers: bool


def score_depths(graph: Graph) -> dict[str, Depth]:
    """Tensors that softmax alone reads -> how far below a row's greatest value they matter."""
    depths: dict[str, Depth] = {}
    for node in reversed(graph.nodes):
        readers = graph.consumers(node.output)
        reader_depths = [d for r in readers if (d := _depth(graph, r, depths)) is not None]
        if (
            reader_depths
            and node.output not in graph.outputs
            and len(reader_depths) == len(readers)
        ):
            answers = any(d.answers for d in reader_depths)
            depths[node.output] = Depth(max(d.least for d in reader_depths), answers)
    return depths


def _depth(graph: Graph, reader: Node, depths: Mapping[str, Depth]) -> Depth | None:
    source, output = reader.inputs[0], reader.output
    if reader.op == "softmax":
        return Depth(DEPTH / float(reader.attrs_as(SoftmaxAttrs).beta), output in graph.outputs)
    same_rows = graph.value(source).shape[-1:] == graph.value(output).shape[-1:]
    return depths.get(output) if reader.op == "reshape" and same_rows else None


def masks(graph: Graph) -> frozenset[str]:
    """Tensors whose values far below all others, even minus infinity, do not matter."""
    depths, names = score_depths(graph), set[str]()
    for node in reversed(graph.nodes):
        name = node.output
        flags = [
            _passes(graph, reader) and (reader.output in depths or reader.output in names)
            for reader in graph.consumers(name)
            if not _takes_greatest(graph, name, reader)
        ]
        if graph.consumers(name) and name not in graph.outputs and all(flags):
            names.add(name)
    return frozenset(names)


def _passes(graph: Graph, reader: Node) -> bool:
    """Whether a mask comes through the op to the scores: it is combined with them, or moved."""
    floats = [n for n in reader.inputs if n and graph.value(n).dtype is DType.FLOAT32]
    keeps = OPS[reader.op].quant is Quant.SAME_AS_INPUT and reader.op not in AVERAGING
    moves = keeps and len(floats) == 1
    return moves or reader.op in ("add", "mul", "select_v2")


def _takes_greatest(graph: Graph, name: str, reader: Node) -> bool:
    """Whether the op takes the maximum of the chosen scores: masked ones never win."""
    maker = graph.producer(name)
    return reader.op == "reduce_max" and maker is not None and maker.op == "select_v2"


def lift(x: NDArray[Any], depth: Depth) -> NDArray[Any]:
    """Scores, raised so that none lies further below its row's maximum (last axis) than it matters.

    Rows that are masked entirely get the least maximum of the other rows: all their scores become
    alike.
    """
    least, hidden = x.dtype.type(depth.least), x.dtype.type(HIDDEN * depth.least)
    peaks = x.max(axis=-1, keepdims=True)
    is_visible = peaks > -hidden
    peaks = np.where(
        is_visible, peaks, peaks[is_visible].min() if is_visible.any() else x.dtype.type(0)
    )
    deep = x < peaks - (hidden if depth.answers else least)
    return np.asarray(np.where(deep, peaks - least, x))


def narrowed(graph: Graph, name: str, own_range: Range, range_of: RangeOf) -> Range:
    """The part of a tensor's range that can decide scores, if it is a mask that is added to them.

    Args:
        graph: the graph.
        name: the tensor.
        own_range: its range.
        range_of: the range of any other tensor, None where it has none.

    """
    low = _least(graph, name, range_of)
    low = own_range.low if low is None else max(own_range.low, low)
    return Range(low, max(own_range.high, low))


def _least(graph: Graph, name: str, range_of: RangeOf) -> float | None:
    """The value below which all values count alike; None where every value matters."""
    depths = graph.noted("score depths", lambda: score_depths(graph))
    lows = []
    for reader in graph.consumers(name):
        output = reader.output
        scores = range_of(output) if output in depths else None
        low = scores.low if scores is not None else None
        if low is None and _passes(graph, reader):
            low = _least(graph, output, range_of)
        others = [
            r for n in reader.inputs if n not in ("", name) and (r := range_of(n)) is not None
        ]
        most = max([r.high for r in others if np.isfinite(r.high)], default=0.0)
        match reader.op:
            case "reduce_max" if _takes_greatest(graph, name, reader):
                greatest = range_of(output)
                lows += [greatest.low] if greatest is not None else []
            case "add" if low is not None:
                lows.append(low - most)
            case "mul" if low is not None and most > 0 and min(r.low for r in others) >= 0:
                lows.append(low * LEVELS / most)
            case _ if low is not None and reader.op != "mul" and _passes(graph, reader):
                lows.append(low)
            case _:
                return None
    return min(lows, default=None)
