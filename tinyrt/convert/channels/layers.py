"""Layers whose channels can be cut: what they read, and what constant channels add to them."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.channels.links import Kept
from tinyrt.convert.values.interval import FLOATS, Array, Bounds, channels_of
from tinyrt.convert.values.sums import window_of, zero_point_of
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.spec import limits_of

LAYERS = frozenset({"conv2d", "fully_connected", "transpose_conv"})
"""Ops that sum over all channels of their input."""


BIASES = {DType.FLOAT32: DType.FLOAT32, DType.INT8: DType.INT32, DType.INT16: DType.INT64}
"""Dtype of activations -> dtype of a bias."""


def is_layer(node: BoundNode) -> bool:
    """Whether channels of input and output can be cut: constant weights over whole channels."""
    if node.op not in LAYERS or not has_constants(node):
        return False
    # A dense layer's row may hold several pixels; a group's filter reads some channels of one.
    return node.input(1).shape[-1] % channels_of(node.input(0).shape) == 0


def has_constants(node: BoundNode) -> bool:
    """Whether weights and bias are constants."""
    return all(v is None or v.data is not None for v in node.inputs[1:])


def weights_of(node: BoundNode) -> Array:
    """Weights as (output channels, taps, input channels); taps of a dense layer are pixels."""
    w = np.asarray(node.input(1).data)
    return w.reshape(len(w), -1, channels_of(node.input(0).shape))


def read(node: BoundNode, outputs: Kept) -> Kept:
    """The input channels that have a weight other than 0 in one of these output channels."""
    w = weights_of(node)
    return np.asarray(((w if outputs.all() else w[outputs]) != 0).any(axis=(0, 1)))


def foldable(node: BoundNode, x: Bounds) -> Kept:
    """The input channels that add the same to a sum at every place, whatever the model's inputs."""
    window = window_of(node)
    even = node.op == "fully_connected" or (window is not None and not window.is_padded)
    finite = np.isfinite(x.low)
    return np.asarray(x.constant & finite & (even | (x.low == zero_point_of(node))))


def folded_bias(node: BoundNode, x: Bounds, removed: Kept) -> Array | None:
    """The bias with what removed constant channels add to each sum; None where they add nothing.

    Sums of integers are int64, those of floats float64.
    """
    gone = removed & foldable(node, x)
    numbers = x.low[gone] - zero_point_of(node)
    total = weights_of(node)[:, :, gone].sum(axis=1, dtype=numbers.dtype) @ numbers
    bias = node.optional(2)
    if not total.any():
        return None
    return np.asarray(total if bias is None else total + np.asarray(bias.data, total.dtype))


def bias_type(node: BoundNode) -> DType:
    """The dtype of the node's bias, or of one that it could have."""
    x, bias = node.input(0), node.optional(2)
    return bias.dtype if bias is not None else BIASES[x.dtype]


def fits(node: BoundNode, bias: Array) -> bool:
    """Whether the bias's dtype holds these sums."""
    dtype = bias_type(node)
    if dtype in FLOATS:
        return bool((np.abs(bias) <= np.finfo(np.float32).max).all())
    low, high = limits_of(dtype)
    return bool(bias.min() >= low and bias.max() <= high)
