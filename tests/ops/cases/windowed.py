"""Random cases of ops that slide a window, and of the matrix product."""

from __future__ import annotations

from tests.ops.build import Case, Rng
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.activation import BOUNDS
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import Pair
from tinyrt.ops.transpose_conv import TransposeConvAttrs

CONSTANT = frozenset({1, 2})


def ints(rng: Rng, low: int, high: int, count: int) -> tuple[int, ...]:
    """``count`` integers, both ends included."""
    return tuple(int(n) for n in rng.integers(low, high + 1, size=count))


def pair(rng: Rng, low: int, high: int) -> Pair:
    """Two integers, both ends included."""
    return int(rng.integers(low, high + 1)), int(rng.integers(low, high + 1))


def activation(rng: Rng) -> str:
    """Any activation that ops absorb."""
    return str(rng.choice(list(BOUNDS)))


def _window(rng: Rng) -> tuple[Pair, dict[str, object]]:
    """A kernel, and window attributes; as in TFLM, stride or dilation is 1."""
    stride, dilation = (
        (pair(rng, 1, 3), (1, 1)) if rng.random() < 0.7 else ((1, 1), pair(rng, 1, 2))
    )
    attrs = {
        "stride": stride,
        "dilation": dilation,
        "padding": str(rng.choice(["SAME", "VALID"])),
        "activation": activation(rng),
    }
    return pair(rng, 1, 4), attrs


def conv2d(rng: Rng) -> Case:
    """Batches, groups, with and without bias."""
    kernel, attrs = _window(rng)
    groups = int(rng.choice([1, 1, 2]))
    c_in, per_group = ints(rng, 1, 5, 2)
    x = (*ints(rng, 1, 2, 1), *pair(rng, 7, 11), c_in * groups)
    c_out = per_group * groups
    w = (c_out, *kernel, c_in)
    shapes = (x, w, (c_out,)) if rng.random() < 0.8 else (x, w)
    return Case("conv2d", Conv2dAttrs(**attrs), shapes, frozenset({1, 2}))


def transpose_conv(rng: Rng) -> Case:
    """One image or two, strides up to 3, both paddings; no activation: TFLM does not fuse one."""
    kernel, stride = pair(rng, 1, 4), pair(rng, 1, 3)
    padding = str(rng.choice(["SAME", "VALID"]))
    h, w = pair(rng, 1, 5)
    size = (
        (h * stride[0], w * stride[1])
        if padding == "SAME"
        else ((h - 1) * stride[0] + kernel[0], (w - 1) * stride[1] + kernel[1])
    )
    c_in, c_out = ints(rng, 1, 5, 2)
    x = (*ints(rng, 1, 2, 1), h, w, c_in)
    shapes = (x, (c_out, *kernel, c_in), (c_out,))
    attrs = TransposeConvAttrs(size, stride, padding)
    return Case("transpose_conv", attrs, shapes[: 3 if rng.random() < 0.7 else 2], CONSTANT)


def depthwise_conv2d(rng: Rng) -> Case:
    """Depth multipliers from 1 to 3."""
    kernel, attrs = _window(rng)
    channels, per_channel = ints(rng, 1, 5, 1)[0], int(rng.choice([1, 1, 2, 3]))
    x = (*ints(rng, 1, 2, 1), *pair(rng, 7, 11), channels)
    c_out = channels * per_channel
    w = (1, *kernel, c_out)
    shapes = (x, w, (c_out,)) if rng.random() < 0.8 else (x, w)
    return Case("depthwise_conv2d", DepthwiseConv2dAttrs(**attrs), shapes, frozenset({1, 2}))


def fully_connected(rng: Rng) -> Case:
    """Inputs of rank 1 to 4, flattened or not."""
    k, c_out = int(rng.integers(1, 200)), int(rng.integers(1, 20))
    keep = bool(rng.random() < 0.4)
    leading = ints(rng, 1, 3, int(rng.integers(1, 4)))
    attrs = FullyConnectedAttrs(keep_num_dims=keep, activation=activation(rng))
    x = (*leading, k) if keep or rng.random() < 0.7 else (k,)
    shapes = (x, (c_out, k), (c_out,)) if rng.random() < 0.8 else (x, (c_out, k))
    return Case("fully_connected", attrs, shapes, frozenset({1, 2}))


def _pool(op: str, rng: Rng) -> Case:
    attrs = Pool2dAttrs(
        kernel=pair(rng, 1, 4),
        stride=pair(rng, 1, 3),
        padding=str(rng.choice(["SAME", "VALID"])),
        activation=activation(rng),
    )
    return Case(op, attrs, ((*ints(rng, 1, 2, 1), *pair(rng, 4, 9), *ints(rng, 1, 5, 1)),))


def average_pool2d(rng: Rng) -> Case:
    """Windows that reach over the border, too."""
    return _pool("average_pool2d", rng)


def max_pool2d(rng: Rng) -> Case:
    """Windows that reach over the border, too."""
    return _pool("max_pool2d", rng)
