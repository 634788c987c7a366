"""Kernels of ops with weights on floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.fields import act_fields
from tinyrt.backends.c.kernel import Call, Data, Fields, Params, call
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.constants import stored_data

FILTERS = 4
"""Output channels that ``tinyrt_conv2d_f32`` computes side by side."""

PAIRS = (
    *(("h", "w"), ("kernel_h", "kernel_w"), ("stride_h", "stride_w")),
    *(("dilation_h", "dilation_w"), ("pad_top", "pad_left")),
)
OTHER_AXIS = dict(PAIRS) | {across: along for along, across in PAIRS}
"""Fields of height and width, and those of width and height instead."""


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


def takes_few(node: BoundNode) -> bool:
    """Whether a depthwise layer has few channels, and weights and biases that are known."""
    channels, w = node.input(0).shape[3], node.input(1)
    is_convolution = channels == 1 and w.shape[3] >= FILTERS
    known = w.data is not None and has_known_bias(node)
    return known and channels <= FILTERS and not is_convolution


def few_channels(node: BoundNode, fields: Fields) -> Call:
    """The call of ``tinyrt_depthwise_few_f32``, whose weights are those of filters in turns.

    It takes four pixels that lie side by side: each filter's bias is there four times, and images
    of one column become a row. With several filters they do not: these write a row one after the
    other, so that it must not lie on what it reads.
    """
    w = stored_data(node.input(1))
    x, y = node.input(0).shape, node.output.shape
    if x[2] == y[2] == 1 and x[3] == y[3]:
        fields = {name: _turned(cast("Fields", sizes)) for name, sizes in fields.items()}
        w = np.swapaxes(w, 1, 2)
    made = depthwise_in_turns(node, w, fields, "tinyrt_depthwise_few_f32")
    params, image, turns, bias, out = made.args
    if isinstance(bias, Data):
        each = bias.array.reshape(-1, 1, x[3])
        bias = Data("bias", np.tile(each, (1, FILTERS, 1)).reshape(-1))
    return replace(made, args=(params, image, turns, bias, out))


def _turned(sizes: Fields) -> Fields:
    """Fields of a shape or a window with height for width, and width for height."""
    return {OTHER_AXIS.get(name, name): size for name, size in sizes.items()}


def depthwise_in_turns(
    node: BoundNode, w: NDArray[Any], fields: Fields, function: str = "tinyrt_depthwise_turns_f32"
) -> Call:
    """The call of a kernel for which the first filters of all channels come first."""
    x, bias = node.input(0), node.optional(2)
    by_channel = (x.shape[3], -1)
    filters = w[0].reshape(*w.shape[1:3], *by_channel)
    turns = Data("w", np.ascontiguousarray(np.moveaxis(filters, -1, 0)).reshape(-1))
    first = None if bias is None or bias.data is None else bias.data.reshape(by_channel).T
    params = Params("tinyrt_depthwise_conv2d_f32_params", fields | _limits(node))
    own = None if first is None else Data("bias", np.ascontiguousarray(first).reshape(-1))
    return call(function, params, x, turns, own, node.output)


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
