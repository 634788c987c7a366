"""Calls that compute an op's output from sums, where a segment only adds rows up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinyrt.backends.c.kernel import Call, Fields, Params, Sums, call
from tinyrt.ir import BoundNode
from tinyrt.ops import prepared
from tinyrt.ops.mean import MeanS8
from tinyrt.ops.shared.pool import Pool2dS8


def mean_of_sums(node: BoundNode) -> Call:
    """The call of ``tinyrt_mean_sums_s8``."""
    p = prepared(node, MeanS8)
    fields: Fields = {
        "channels": node.input(0).shape[3],
        "count": p.count,
        "x_zp": p.x_zp,
        "y_zp": p.y_zp,
        "y_mult": p.mult,
        "y_shift": p.shift,
    }
    params = Params("tinyrt_mean_sums_s8_params", fields)
    return call("tinyrt_mean_sums_s8", params, Sums(), node.output)


def average_of_sums(node: BoundNode) -> Call:
    """The call of ``tinyrt_average_sums_s8``."""
    p = prepared(node, Pool2dS8)
    _, height, width, channels = node.input(0).shape
    fields: Fields = {
        "channels": channels,
        "count": height * width,
        "act_min": p.act_min,
        "act_max": p.act_max,
    }
    params = Params("tinyrt_average_sums_s8_params", fields)
    return call("tinyrt_average_sums_s8", params, Sums(), node.output)


FOLDS: Mapping[str, Callable[[BoundNode], Call]] = {
    "average_pool2d": average_of_sums,
    "mean": mean_of_sums,
}
"""Op -> the call for the whole node, once its sums are there; see ``ops.shared.rows.Fold``."""
