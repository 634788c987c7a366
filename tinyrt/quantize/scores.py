"""What softmax reads inside a model: values far below their row's greatest count as nothing.

Attention hides positions by adding minus infinity to their scores, or a number as good as that.
Ranges that held such numbers would leave no steps to the scores that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import Graph, Node
from tinyrt.quantize.ranges import Range

DEPTH = 10.0
"""exp(-10) is a fortieth of the smallest step of an int8 probability: a row of forty hidden
positions is still rounded as if they were not there."""

LEVELS = 256
"""A mask's factor may be as small as the smallest step of what it multiplies."""

RangeOf = Callable[[str], Range | None]


def score_depths(graph: Graph) -> dict[str, float]:
    """Tensors that softmax alone reads -> how far below a row's greatest value they matter.

    The softmax that gives the model's own output is left out: what it reads is the model's answer.
    """
    found: dict[str, float] = {}
    for node in reversed(graph.nodes):
        readers = graph.consumers(node.outputs[0])
        depths = [_depth(graph, reader, found) for reader in readers]
        if depths and node.outputs[0] not in graph.outputs and None not in depths:
            found[node.outputs[0]] = max(d for d in depths if d is not None)
    return found


def _depth(graph: Graph, reader: Node, found: Mapping[str, float]) -> float | None:
    source, output = reader.inputs[0], reader.outputs[0]
    if reader.op == "softmax" and output not in graph.outputs:
        return DEPTH / float(reader.attrs.beta)
    same_rows = graph.value(source).shape[-1:] == graph.value(output).shape[-1:]
    return found.get(output) if reader.op == "reshape" and same_rows else None


def lift(x: NDArray[Any], depth: float) -> NDArray[Any]:
    """Scores, of which none is more than ``depth`` below the greatest of its row (last axis)."""
    return np.asarray(np.maximum(x, x.max(axis=-1, keepdims=True) - x.dtype.type(depth)))


def narrowed(graph: Graph, name: str, found: Range, range_of: RangeOf) -> Range:
    """The part of a tensor's range that can decide scores, if it is a mask that is added to them.

    Args:
        graph: the graph.
        name: the tensor.
        found: its range.
        range_of: the range of any other tensor, None where it has none.

    """
    low = _least(graph, name, range_of)
    low = found.low if low is None else max(found.low, low)
    return Range(low, max(found.high, low))


def _least(graph: Graph, name: str, range_of: RangeOf) -> float | None:
    """What may as well stand for anything less; None where everything matters."""
    depths = graph.noted("score depths", lambda: score_depths(graph))
    lows = []
    for reader in graph.consumers(name):
        output = reader.outputs[0]
        scores = range_of(output) if output in depths else None
        low = scores.low if scores is not None else None
        if reader.op in ("add", "mul", "select_v2") and low is None:
            low = _least(graph, output, range_of)
        others = [
            r for n in reader.inputs if n not in ("", name) and (r := range_of(n)) is not None
        ]
        most = max([r.high for r in others if np.isfinite(r.high)], default=0.0)
        match reader.op:
            case "add" if low is not None:
                lows.append(low - max(most, 0.0))
            case "select_v2" if low is not None:
                lows.append(low)
            case "mul" if low is not None and most > 0 and min(r.low for r in others) >= 0:
                lows.append(low * LEVELS / most)
            case _:
                return None
    return min(lows, default=None)
