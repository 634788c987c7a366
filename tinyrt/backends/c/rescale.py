"""Integers brought from one scale to another, where one of them or both are int16."""

from __future__ import annotations

from tinyrt.backends.c.kernel import Calls, Fields, Params, call
from tinyrt.ir import BoundNode

Multiplier = tuple[int, int]
"""Mantissa and exponent."""


def rescale_calls(
    node: BoundNode,
    limits: tuple[int, int],
    multiplier: Multiplier,
    below: Multiplier | None = None,
    zero_points: tuple[int, int] = (0, 0),
) -> Calls:
    """The call of ``tinyrt_rescale_s16``, or of that from or to int8.

    Args:
        node: the op, with one input.
        limits: least and greatest output.
        multiplier: multiplier of inputs from the zero point on.
        below: multiplier of inputs below the zero point, if it differs.
        zero_points: the input's and the output's.

    """
    x, y = node.input(0), node.output
    negative = multiplier if below is None else below
    fields: Fields = {
        "size": y.size,
        "x_zp": zero_points[0],
        "mult": multiplier[0],
        "shift": multiplier[1],
        "neg_mult": negative[0],
        "neg_shift": negative[1],
        "y_zp": zero_points[1],
        "act_min": limits[0],
        "act_max": limits[1],
    }
    types = x.dtype.short if x.dtype is y.dtype else f"{x.dtype.short}_{y.dtype.short}"
    return (call(f"tinyrt_rescale_{types}", Params("tinyrt_rescale_params", fields), x, y),)
