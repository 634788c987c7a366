"""General int8 kernels of ops with weights, and the check that their accumulators fit."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tinyrt.backends.c.fields import requant_fields
from tinyrt.backends.c.kernel import Call, Calls, Data, Fields, Params, call
from tinyrt.errors import UnsupportedError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, INT32_MAX, wrap_int32
from tinyrt.ir import BoundNode, DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.constants import stored_data
from tinyrt.ops.shared.requant import Requant, Steps


def weighted_call(
    function: str, node: BoundNode, fields: Fields, x_zp: int, requant: Requant
) -> Call:
    """The call of an op with weights and bias.

    Args:
        function: the C function; its parameter type is named after it.
        node: the op; input 1 is the weights, input 2 the bias or absent.
        fields: the first fields of the function's parameters.
        x_zp: the input's zero point.
        requant: requantisation of all channels.

    Raises:
        UnsupportedError: an accumulator could overflow.

    """
    check_accumulator(node, x_zp)
    own = fields | {"x_zp": x_zp, "requant": requant_fields(requant)}
    x, w, bias = node.input(0), node.input(1), node.optional(2)
    return call(function, Params(f"{function}_params", own), x, w, bias, node.output)


def legacy_call(node: BoundNode, fields: Fields, x_zp: int, requant: Steps) -> Call:
    """The call of a dense layer that rounds as on uint8; arguments and errors as above.

    Its weights and bias are constants.
    """
    require_constants(node)
    check_accumulator(node, x_zp)
    own = fields | {
        "act_min": requant.act_min,
        "steps": len(requant.last),
        "last": Data("last", requant.last, "int32_t"),
    }
    params = Params("tinyrt_fully_connected_legacy_s8_params", own)
    x, w, bias = node.input(0), node.input(1), node.optional(2)
    first = 0 if bias is None else np.asarray(bias.data, np.int64)
    sums = first - x_zp * stored_data(w).sum(axis=1, dtype=np.int64)
    starts = Data("bias", wrap_int32(sums).astype(np.int32))
    return call("tinyrt_fully_connected_legacy_s8", params, x, w, starts, node.output)


class Weighted(Protocol):
    """The integer record of an int8 op with weights."""

    @property
    def x_zp(self) -> int:
        """The zero point of the input."""
        ...

    @property
    def requant(self) -> Requant:
        """Requantisation of all channels."""
        ...


def general_calls(function: str, node: BoundNode, fields: Fields, p: Weighted) -> Calls:
    """The one call of a general kernel; arguments and errors as for ``weighted_call``."""
    return (weighted_call(function, node, fields, p.x_zp, p.requant),)


def require_constants(node: BoundNode) -> None:
    """Raise ``UnsupportedError`` if weights or bias are computed while the model runs."""
    for value in (node.input(1), node.optional(2)):
        if value is not None:
            stored_data(value)


def check_accumulator(node: BoundNode, x_zp: int) -> None:
    """Raise ``UnsupportedError`` if some input could overflow an int32 accumulator.

    The bound is exact for the model's own weights: ``max|x - x_zp| * sum|w| + |bias|``. Of weights
    that the model computes, it is that of the largest ones. A bias that it computes may make sums
    wrap, as in TFLM.
    """
    w = node.input(1)
    if w.dtype is DType.INT4:
        stored_data(w)
    channel, largest = node.noted_of_constants(
        "accumulator", lambda: _largest_accumulator(node, x_zp)
    )
    if largest > INT32_MAX:
        raise UnsupportedError(
            f"the accumulator of output channel {channel} can reach {largest}",
            tensor=w.describe(),
            expected=f"at most {INT32_MAX}, what an int32 holds",
            hint="split the layer, or train with smaller weights and biases",
        )


def axes_of_a_channel(node: BoundNode) -> tuple[int, ...]:
    """The axes of the weights that one output channel's weights lie along."""
    rank = len(node.input(1).shape)
    return tuple(i for i in range(rank) if i != OPS[node.op].weight_axis)


def _largest_accumulator(node: BoundNode, x_zp: int) -> tuple[int, int]:
    """The output channel with the largest possible absolute accumulator, and that value."""
    weights, bias = node.input(1), node.optional(2)
    w = np.full(weights.shape, INT8_MIN) if weights.data is None else np.asarray(weights.data)
    others = axes_of_a_channel(node)
    reach = max(INT8_MAX - x_zp, x_zp - INT8_MIN)
    largest = np.abs(w.astype(np.int64)).sum(axis=others) * reach
    if bias is not None and bias.data is not None:
        largest = largest + np.abs(np.asarray(bias.data).astype(np.int64))
    channel = int(np.argmax(largest))
    return channel, int(largest[channel])
