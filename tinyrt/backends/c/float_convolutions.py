"""Kernels of ops with weights on floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import act_fields
from tinyrt.backends.c.kernel import Call, Data, Fields, Params, call
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.activation import fused_activation

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


def _params(node: BoundNode, fields: Fields, groups: int) -> Params:
    own = fields | {"groups": groups} | act_fields(fused_activation(node))
    return Params("tinyrt_conv2d_f32_params", own)
