"""A dense layer without a sign whose rows reach each output's least sum, and the sum before it."""

from __future__ import annotations

import numpy as np

from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import prepared, verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs, FullyConnectedS8

LOW = -128
"""Zero point of input and output."""

HIGH_WEIGHT = 127

MULTIPLIERS = (
    2.0**-6,
    (1 - 2.0**-24) * 2.0**-5,
    0.7 * 2.0**-7,
    0.93 * 2.0**-8,
    0.51 * 2.0**-9,
    0.6 * 2.0**-4,
    2.0**-6 / 3,
)
"""From a sum to an output: the least mantissa, the greatest one, and shifts that differ by five."""

SIGNS = (1, 1, -1, 1, 1, -1, 0)
"""Of the weights: in two channels outputs fall as inputs rise, and one has no weights."""

BIASES = (-90, 77, 32_000, -3_000, 5, 7_000, 5_000)


def layer() -> tuple[Graph, dict[str, np.ndarray]]:
    """The layer, and its rows."""
    x = _rows(_graph(1))
    return _graph(len(x)), {"x": x}


def _graph(rows: int) -> Graph:
    scales = tuple(map(float, np.float32(MULTIPLIERS)))
    w = np.outer(SIGNS, (HIGH_WEIGHT, 1)).astype(np.int8)
    q = QParams(scales, 0, 0)
    values = [
        Value("x", DType.INT8, (rows, 2), QParams((1.0,), LOW)),
        Value.constant("w", w, q),
        Value.constant("bias", np.array(BIASES, np.int32), q),
        Value("y", DType.INT8, (rows, len(w)), QParams((1.0,), LOW)),
    ]
    node = Node("fully_connected", "dense", ("x", "w", "bias"), ("y",), FullyConnectedAttrs())
    return verify(Graph("thresholds", ("x",), ("y",), {v.name: v for v in values}, (node,)))


def _rows(graph: Graph) -> np.ndarray:
    """All inputs at which an output changes, and those one sum before."""
    requant = prepared(graph.bind(0), FullyConnectedS8).requant
    steps = np.arange(256 * HIGH_WEIGHT + 129)
    sums = np.array(BIASES) + np.outer(steps, SIGNS)
    outputs = requant.apply(sums)
    at, _ = np.nonzero(outputs[1:] != outputs[:-1])
    met = np.unique([at, at + 1])
    upper = np.minimum(met // HIGH_WEIGHT, 255)
    lower = met - upper * HIGH_WEIGHT
    return (np.stack([upper, lower], axis=1) + LOW).astype(np.int8)
