"""How values are spread: of weights, and of activations on data; and how many are clipped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.api.inputs import Data, file_of, source_of
from tinyrt.errors import error_context
from tinyrt.interpreter.model import Model
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.ops import is_weighted
from tinyrt.ops.shared.spec import limits_of
from tinyrt.report.facts import Histogram

BINS = 32
"""Bins of a histogram."""

SAMPLES = 32
"""Samples that activations are looked at with."""

Array = NDArray[np.generic]


def weight_histograms(graph: Graph) -> tuple[Histogram, ...]:
    """A histogram of the weights of each convolution and dense layer, as they are stored."""
    found = []
    for node in graph.bound():
        if is_weighted(node) and (data := node.input(1).data) is not None:
            counts = Counts(node.input(1), node.index)
            counts.add(data)
            found.append(counts.histogram())
    return tuple(found)


def activation_histograms(graph: Graph, data: Data) -> tuple[Histogram, ...]:
    """A histogram of each op's first output on the first samples of the data, as it is stored.

    Args:
        graph: the model.
        data: samples; what follows the first 32 is not read.

    Raises:
        DataError: the data do not fit the model.

    """
    counts: dict[int, Counts] = {}

    def on_op(node: BoundNode, output: NDArray[np.generic]) -> None:
        if node.index not in counts:
            counts[node.index] = Counts(node.output, node.index)
        counts[node.index].add(output)

    with error_context(file=file_of(data)):
        model = Model(graph, on_op=on_op)
        source = source_of(model.graph, data)
        piece = next(source.pieces({name: SAMPLES * rows for name, rows in model.rows.items()}))
        model.run_raw(model.stored_inputs(piece))
    return tuple(each.histogram() for each in counts.values())


class Counts:
    """The counts of a tensor's values, added up piece by piece.

    Integers are counted one by one; real values by bins whose range is that of the first piece,
    where values beyond it are at its ends.
    """

    def __init__(self, value: Value, op: int) -> None:
        self._value, self._op = value, op
        self._is_integer = value.dtype in (DType.INT8, DType.INT4, DType.INT16, DType.UINT8)
        self._edges: NDArray[np.float64] | None = None
        self._counts: NDArray[np.int64] = np.zeros(BINS, np.int64)
        if self._is_integer:
            low, high = limits_of(value.dtype)
            bins = min(high + 1 - low, BINS)
            self._edges = np.linspace(low, high + 1, bins + 1) - 0.5
            self._counts = np.zeros(bins, np.int64)
        self._at = np.zeros(2, np.int64)

    def add(self, array: Array) -> None:
        """Count these values."""
        values = np.asarray(array, np.float64).reshape(-1)
        values = values[np.isfinite(values)]
        if self._edges is None:
            low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
            self._edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
        within = np.clip(values, self._edges[0], self._edges[-1])
        counts, _ = np.histogram(within, self._edges)
        self._counts = self._counts + counts
        if self._is_integer:
            low, high = limits_of(self._value.dtype)
            # Weights are symmetric: their least integer is the greatest one's negative.
            low = -high if self._value.is_constant else low
            self._at += [int((values <= low).sum()), int((values >= high).sum())]

    def histogram(self) -> Histogram:
        """What was counted."""
        edges = self._edges
        assert edges is not None, "there is a first piece"
        return Histogram(
            name=self._value.name,
            op=self._op,
            low=float(edges[0]),
            high=float(edges[-1]),
            counts=tuple(map(int, self._counts)),
            at_low=int(self._at[0]),
            at_high=int(self._at[1]),
        )
