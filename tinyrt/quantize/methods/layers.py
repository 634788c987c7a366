"""Weighted layers as matrix products: the rows of inputs and the weights of each output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, conv2d, depthwise_conv2d, transpose_conv
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.window import Window
from tinyrt.ops.transpose_conv import TransposeConvAttrs

Array = NDArray[Any]


def weight_axis(node: BoundNode) -> int:
    """The output channels' axis of the weights."""
    return OPS[node.op].weight_axis


def by_output(weights: Array, axis: int) -> Array:
    """Weights as (c_out, taps), the taps in the order of the remaining axes."""
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def per_output(node: BoundNode) -> NDArray[np.float64]:
    """The node's float weights as (c_out, taps)."""
    weights = node.input(1).data
    assert weights is not None, "the plan refuses weights that are not constant"
    return by_output(weights, weight_axis(node)).astype(np.float64)


def input_channels(node: BoundNode) -> NDArray[np.int64]:
    """(c_out, taps): the input channel (last axis) that each weight of ``per_output`` reads."""
    x, w = node.input(0), node.input(1)
    c_out = w.shape[weight_axis(node)]
    taps = w.size // c_out
    if node.op == "depthwise_conv2d":
        channels = np.arange(c_out) // (c_out // x.shape[-1])
        return np.repeat(channels[:, None], taps, axis=1)
    per_group = w.shape[-1]
    groups = x.shape[-1] // per_group if node.op == "conv2d" else 1
    first = np.arange(c_out) // (c_out // groups) * per_group
    return np.asarray(first[:, None] + np.arange(taps)[None, :] % per_group)


def window_of(node: BoundNode) -> Window | None:
    """The window that slides over the input; None for dense layers and transposed convolutions."""
    x, w = node.input(0).shape, node.input(1).shape
    if node.op == "conv2d":
        return conv2d.window_of(node.attrs_as(Conv2dAttrs), x, w)
    if node.op == "depthwise_conv2d":
        return depthwise_conv2d.window_of(node.attrs_as(DepthwiseConv2dAttrs), x, w)
    return None


def is_padded(node: BoundNode) -> bool:
    """Whether some outputs have fewer inputs than others, and zeros in their place."""
    if node.op == "transpose_conv":
        return True
    window = window_of(node)
    return window is not None and any((*window.before, *window.after))


def layer_rows(node: BoundNode, x: Array) -> Array:
    """The rows of inputs whose matrix product with the weights gives the layer's outputs.

    Args:
        node: an op with weights.
        x: its input, (samples, ...).

    Returns:
        (blocks, rows, taps): of ``c_out = blocks * n`` outputs, those from ``block * n`` on are
        the products of the block's rows with the weights of ``per_output``.

    """
    window = window_of(node)
    taps = node.input(1).size // node.input(1).shape[weight_axis(node)]
    if node.op == "transpose_conv":
        return _spread_rows(node, x.reshape(-1, *node.input(0).shape[1:]))
    if window is None:
        return x.reshape(1, -1, taps)
    x = x.reshape(-1, *node.input(0).shape[1:])
    patches = window.patches(window.pad(x))  # (n, oh, ow, kh, kw, c)
    kh_kw = window.kernel[0] * window.kernel[1]
    depthwise = node.op == "depthwise_conv2d"
    blocks = x.shape[-1] if depthwise else x.shape[-1] * kh_kw // taps
    rows = patches.reshape(-1, kh_kw, blocks, taps // kh_kw)
    return np.ascontiguousarray(rows.transpose(2, 0, 1, 3)).reshape(blocks, -1, taps)


def _spread_rows(node: BoundNode, x: Array) -> Array:
    """``layer_rows`` of a transposed convolution: a plain one over inputs spread by its stride."""
    attrs = node.attrs_as(TransposeConvAttrs)
    window = transpose_conv.window_of(attrs, node.input(1).shape)
    (n, h, w, c), (kh, kw), size = x.shape, window.kernel, attrs.size
    top, left = kh - 1 - window.before[0], kw - 1 - window.before[1]
    spread = np.zeros((n, size[0] + kh - 1, size[1] + kw - 1, c), x.dtype)
    spread[:, top :: window.stride[0], left :: window.stride[1]][:, :h, :w] = x
    patches = np.lib.stride_tricks.sliding_window_view(spread, (kh, kw), (1, 2))
    rows = patches[..., ::-1, ::-1].transpose(0, 1, 2, 4, 5, 3)
    return np.ascontiguousarray(rows).reshape(1, -1, kh * kw * c)
