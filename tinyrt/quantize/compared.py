"""Rescaling for comparisons, so that their kernels tell all values apart.

TFLite's kernels bring both inputs to steps of 1/256, by multipliers below 1. With finer steps,
different values would become equal; a scale of 1 or more has no multiplier. Multiplying both inputs
by the same power of two changes no result, and brings the scales into the kernels' range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, QParams
from tinyrt.ops.comparison import ACCEPTED, BY_STORED_VALUE, LEFT_SHIFT
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.spec import limits_of
from tinyrt.quantize.ranges import Range

FINEST = 2.0**-LEFT_SHIFT
"""Steps of a scale that the kernels still tell apart."""

COARSEST = 0.99
"""Scales of inputs stay below: a number just outside of an input's range may need a larger one."""

SAME_PLACE = 1e-4
"""Of a step: what a number may be off its place for having been rounded to float32."""

ROUNDED: dict[str, Any] = {
    "greater": np.floor,
    "less_equal": np.floor,
    "less": np.ceil,
    "greater_equal": np.ceil,
    "equal": np.rint,
    "not_equal": np.rint,
}
"""Comparison with a number -> how this is moved to a multiple of the other input's scale: so that
no multiple changes sides."""

MIRRORED = {
    "greater": "less",
    "less": "greater",
    "greater_equal": "less_equal",
    "less_equal": "greater_equal",
}
"""Comparison -> the same with its inputs exchanged, where this is another."""


def is_comparison(node: BoundNode) -> bool:
    """Whether the node is one of these ops, on floats."""
    return node.op in ACCEPTED and node.input(0).dtype is DType.FLOAT32


def compares_as_stored(node: BoundNode, dtype: DType) -> bool:
    """Whether the kernel ignores scales, so that both inputs need the same."""
    return dtype is DType.INT16 and node.op in BY_STORED_VALUE


def factor_for(scales: Iterable[float]) -> float:
    """The power of two that inputs of these scales are multiplied with; 1 where all is well."""
    largest = max(scales)
    if FINEST <= largest < COARSEST:
        return 1.0
    return 2.0 ** -math.frexp(largest / COARSEST)[1]


def number_for(
    node: BoundNode, i: int, q: QParams, dtype: DType
) -> tuple[NDArray[np.integer[Any]], QParams]:
    """The constant input ``i``, as integers that compare with the other input's as reals do.

    Args:
        node: the comparison.
        i: which input is constant.
        q: the other input's parameters.
        dtype: what both become.

    Returns:
        The integers and their parameters: the other input's, or some that reach beyond its range.

    """
    op = node.op if i == 1 else MIRRORED.get(node.op, node.op)
    (low, high), data = limits_of(dtype), node.input(i).data
    assert data is not None, "only constants are moved"
    places = np.clip(data.astype(np.float64) / q.scale + q.zero_point, low - 2, high + 2)
    near = np.abs(places - np.rint(places)) < SAME_PLACE
    places = np.clip(np.where(near, np.rint(places), ROUNDED[op](places)), low - 1, high + 1)
    inside = bool(np.all((low <= places) & (places <= high)))
    if inside or compares_as_stored(node, dtype):
        return np.clip(places, low, high).astype(dtype.numpy), q
    real = ((places - q.zero_point) * q.scale).astype(np.float32)
    own = Range.of(real).params(dtype)
    return quantize_array(real, np.float32(own.scale), own.zero_point, dtype), own
