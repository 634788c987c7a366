"""Which constants of a float graph are parameters, beside those of layers with weights.

Importers and ``trace`` write layer norm, group norm, PReLU, per-channel scale and bias and position
embeddings as products and sums with constants. This module tells them from the constants of
arithmetic, of masks, and of what prepares the input.
"""

from __future__ import annotations

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.unidirectional_sequence_lstm import (
    HIDDEN,
    UNIDIRECTIONAL_SEQUENCE_LSTM,
    LstmAttrs,
)
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, apply

SEQUENCE = UNIDIRECTIONAL_SEQUENCE_LSTM.name
LEARNS = frozenset({"add", "sub", "mul", "prelu", "embedding"})
"""Ops whose one constant operand is a parameter."""

OF_ANY_INPUT = frozenset({"prelu", "embedding"})
"""Those among them that never merely prepare an input."""

PREPARES = frozenset({"add", "sub", "mul", "div", "cast", "resize_bilinear"})
"""Ops that, with constants only, prepare an input; so do those that move or select elements."""

HIDES = 100
"""Added to scores, a number of this magnitude hides them; no parameter has only it and zeros."""


class ConstantLayer(Module):
    """The constant operand of one product, sum, difference, PReLU or look-up.

    Args:
        node: the op; one of its two operands is constant.
        place: which.

    """

    def __init__(self, node: BoundNode, place: int) -> None:
        data = node.input(place).data
        assert data is not None, "places are those of constants"
        self._op, self._attrs, self._place = node.op, node.attrs, place
        self.constant = Parameter(data.copy())

    def forward(self, x: Tensor) -> Tensor:
        """The node's output for its other operand, ``x``."""
        operands = (x, self.constant) if self._place == 1 else (self.constant, x)
        return apply(self._op, self._attrs, *operands)


def constant_places(graph: Graph) -> dict[str, int]:
    """Node name -> which of the node's inputs is a parameter, for ops without weights.

    That is the constant operand of an op in ``LEARNS`` if it holds floats and has more than one
    element (slopes of a PReLU: any number), except

    - masks: they hold infinities, or only zeros beside ones or a number of at least ``HIDES``;
    - zeros that are multiplied or subtracted from: a state before its first step;
    - what meets a prepared input, but for slopes and tables: one that has only been moved,
      resized and combined with constants since it came in.
    """
    prepared = _prepared(graph)
    places = {}
    for node in graph.bound():
        if node.op not in LEARNS:
            continue
        constants = [i for i, value in enumerate(node.inputs) if value and value.is_constant]
        if len(constants) != 1:
            continue
        (place,) = constants
        data = node.input(place).data
        assert data is not None
        is_single = data.size == 1 and node.op != "prelu"
        is_float = node.input(place).dtype is DType.FLOAT32
        of_input = node.input(1 - place).name in prepared and node.op not in OF_ANY_INPUT
        is_state = node.op in ("mul", "sub") and not data.any()
        if is_float and not (is_single or of_input or is_state or _is_mask(data)):
            places[node.name] = place
    return places


def parameter_places(node: BoundNode, constants: dict[str, int]) -> tuple[int, ...]:
    """Which inputs of a node are its parameters, ``constants`` as ``constant_places`` has them."""
    if node.name in constants:
        return (constants[node.name],)
    if node.op == SEQUENCE:
        operands = [value.data for value in node.operands[1:]]
        if node.attrs_as(LstmAttrs).time_major:
            return ()
        begins_anew = all(d is not None for d in operands) and not any(map(np.any, operands[12:]))
        return tuple(range(1, HIDDEN)) if begins_anew else ()
    if is_weighted(node) or node.op == "batch_norm":
        return tuple(i for i, value in enumerate(node.inputs) if i > 0 and value is not None)
    return ()


def _prepared(graph: Graph) -> set[str]:
    """The inputs, and what follows from each by constants and moves alone."""
    prepared = set(graph.inputs)
    for node in graph.bound():
        if node.op not in PREPARES and not OPS[node.op].traits.selects:
            continue
        varying = [v.name for v in node.inputs if v is not None and not v.is_constant]
        if prepared.issuperset(varying):
            prepared.update(node.node.outputs)
    return prepared


def _is_mask(data: Array) -> bool:
    if not np.isfinite(data).all():
        return True
    values = np.unique(data)
    if len(values) != 2 or 0 not in values:
        return False
    other = float(values[values != 0][0])
    return other == 1 or abs(other) >= HIDES
