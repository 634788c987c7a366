"""Kernels of ops with weights on floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import act_fields
from tinyrt.backends.c.kernel import Call, Data, Fields, Params, call
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.constants import stored_data

FILTERS = 4
"""Output channels that ``tinyrt_conv2d_f32`` computes side by side."""


def by_fours(w: NDArray[Any], groups: int) -> NDArray[np.float32]:
    """Filters (c_out, ...) in the order in which ``tinyrt_conv2d_f32`` reads them, flattened.

    Within each group, blocks of four filters interleave element by element. The filters left over
    come one after the other.
    """
    parts = []
    for filters in np.split(w.reshape(w.shape[0], -1), groups):
        whole = len(filters) // FILTERS * FILTERS
        fours = filters[:whole].reshape(-1, FILTERS, filters.shape[1]).transpose(0, 2, 1)
        parts += [fours.reshape(-1), filters[whole:].reshape(-1)]
    return np.concatenate(parts)


def convolution_f32(node: BoundNode, fields: Fields, groups: int) -> Call:
    """The call of ``tinyrt_conv2d_f32`` for an op with filters (c_out, ...).

    Args:
        node: the op; input 1 is the weights, input 2 the bias or absent.
        fields: shapes and window.
        groups: of input and output channels.

    With weights that the model computes, it is ``tinyrt_conv2d_plain_f32``.

    """
    params = _params(node, fields, groups)
    x, w, bias = node.input(0), node.input(1), node.optional(2)
    if w.data is None:
        return call("tinyrt_conv2d_plain_f32", params, x, w, bias, node.output)
    packed = Data("w", by_fours(w.data, groups))
    return call("tinyrt_conv2d_f32", params, x, packed, bias, node.output)


def depthwise_as_convolution(node: BoundNode, w: NDArray[Any], fields: Fields) -> Call:
    """The call of ``tinyrt_conv2d_f32`` for a depthwise layer: a group to each input channel."""
    x, bias = node.input(0), node.optional(2)
    packed = Data("w", by_fours(np.moveaxis(w[0], -1, 0), x.shape[3]))
    params = _params(node, fields, x.shape[3])
    return call("tinyrt_conv2d_f32", params, x, packed, bias, node.output)


def has_known_bias(node: BoundNode) -> bool:
    """Whether an op has no bias, or one that the model does not compute."""
    bias = node.optional(2)
    return bias is None or bias.data is not None


def depthwise_in_turns(node: BoundNode, w: NDArray[Any], fields: Fields) -> Call:
    """The call of ``tinyrt_depthwise_turns_f32``: the first filters of all channels come first."""
    x, bias = node.input(0), node.optional(2)
    by_channel = (x.shape[3], -1)
    filters = w[0].reshape(*w.shape[1:3], *by_channel)
    turns = Data("w", np.ascontiguousarray(np.moveaxis(filters, -1, 0)).reshape(-1))
    first = None if bias is None or bias.data is None else bias.data.reshape(by_channel).T
    params = Params("tinyrt_depthwise_conv2d_f32_params", fields | _limits(node))
    own = None if first is None else Data("bias", np.ascontiguousarray(first).reshape(-1))
    return call("tinyrt_depthwise_turns_f32", params, x, turns, own, node.output)


def transpose_quads(node: BoundNode, fields: Fields) -> Call:
    """The call of ``tinyrt_transpose_quads_f32``."""
    packed = Data("w", by_fours(stored_data(node.input(1)), 1))
    params = Params("tinyrt_transpose_conv_f32_params", fields | _limits(node))
    x, bias = node.input(0), node.optional(2)
    return call("tinyrt_transpose_quads_f32", params, x, packed, bias, node.output)


def _limits(node: BoundNode) -> Fields:
    return act_fields(fused_activation(node))


def _params(node: BoundNode, fields: Fields, groups: int) -> Params:
    return Params("tinyrt_conv2d_f32_params", fields | {"groups": groups} | _limits(node))
