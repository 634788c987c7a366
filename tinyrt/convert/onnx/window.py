"""ONNX convolutions and poolings, with the transposes between channels-first and channels-last.

One spatial dimension is handled as two, the first of which has size 1. Paddings are made explicit;
the pass ``fuse_pad`` turns those that equal TFLite's SAME back into an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import weight_params
from tinyrt.convert.onnx.taps import lines, max_by_taps, mean_by_taps
from tinyrt.convert.passes.common import CHANNEL_AXIS
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value
from tinyrt.ops import ops_where
from tinyrt.ops.shared.window import Pair, Window

NONNEGATIVE = ops_where(lambda spec: spec.traits.nonnegative)
"""Ops whose results are never below zero."""

TRANSPARENT = {"transpose", "reshape", "max_pool2d", "average_pool2d", "concatenation"}
"""Ops whose results are never below zero if their inputs are not."""


@dataclass(frozen=True, slots=True)
class Sliding:
    """A window as ONNX describes it, over height and width.

    Attributes:
        size: the input's height and width.
        kernel: taps (height, width).
        stride: step between outputs.
        dilation: step between taps.
        before: padding above and to the left.
        after: padding below and to the right.

    """

    size: Pair
    kernel: Pair
    stride: Pair
    dilation: Pair
    before: Pair
    after: Pair

    @property
    def is_padded(self) -> bool:
        """Whether there is any padding."""
        return max(*self.before, *self.after) > 0

    @property
    def out(self) -> Pair:
        """The output's height and width."""
        extents = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        counts = (
            (size + before + after - extent) // stride + 1
            for size, before, after, extent, stride in zip(
                self.size, self.before, self.after, extents, self.stride, strict=True
            )
        )
        height, width = counts
        return height, width

    def equals_same(self) -> bool:
        """Whether the outputs are those of TFLite's padding SAME."""
        same = Window.of(self.size, self.kernel, self.stride, "SAME", self.dilation)
        return same.before == self.before and same.out == self.out

    def is_centred(self) -> bool:
        """Whether SAME with stride 1, then every stride-th output, gives the same outputs."""
        dense = Window.of(self.size, self.kernel, (1, 1), "SAME", self.dilation)
        sizes = tuple(-(-n // s) for n, s in zip(dense.out, self.stride, strict=True))
        return dense.before == self.before and sizes == self.out


def pair(call: Call, name: str, rank: int) -> Pair:
    """A list attribute of positive numbers, one per spatial dimension, as (height, width)."""
    values = call.node.get_ints(name, rank) or (1,) * rank
    if min(values) < 1:
        raise ModelFormatError(f"attribute '{name}' is {list(values)}", expected="positive numbers")
    return height_width(values, 1)


def height_width(values: Sequence[int], missing: int) -> Pair:
    """One or two spatial dimensions as two."""
    return (values[0], values[1]) if len(values) == 2 else (missing, values[0])


def spatial_rank(call: Call, x: Value) -> int:
    """Number of spatial dimensions; raises ``UnsupportedError`` beyond 2."""
    rank = len(x.shape) - 2
    if rank not in (1, 2):
        raise UnsupportedError(
            f"{call.node.op} over {rank} spatial dimensions",
            tensor=x.describe(),
            expected="1 or 2",
            hint="rewrite the layer with 2-D convolutions or poolings",
        )
    return rank


def channels_last(call: Call, x: Value) -> Value:
    """(n, c, h, w) or (n, c, l) -> (n, h, w, c)."""
    rank = len(x.shape)
    name = f"{x.name}.nhwc"
    y = call.transpose(x, (0, *range(2, rank), 1), name if rank == 4 else f"{x.name}.nlc")
    return call.reshape(y, (y.shape[0], *height_width(y.shape[1:-1], 1), y.shape[-1]), name)


def channels_first(call: Call, y: Value, rank: int) -> Value:
    """(n, h, w, c) -> (n, c, h, w) or (n, c, l)."""
    flat = y if rank == 4 else call.reshape(y, (y.shape[0], *y.shape[2:]), f"{call.result}.nlc")
    return call.transpose(flat, (0, rank - 1, *range(1, rank - 1)), f"{call.result}.nchw")


def _sliding(call: Call, x: Value, kernel: Sequence[int]) -> Sliding:
    """The window of a convolution or pooling over ``x`` (n, c, spatial dimensions)."""
    rank = len(x.shape) - 2
    stride, dilation = pair(call, "strides", rank), pair(call, "dilations", rank)
    size, taps = height_width(x.shape[2:], 1), height_width(kernel, 1)
    if min(taps) < 1:
        raise ModelFormatError(f"a kernel of {list(kernel)}", expected="positive sizes")
    before, after = _explicit_pads(call, size, taps, stride, dilation)
    if call.node.get_int("ceil_mode", 0):
        after = _ceil_mode_pads(size, taps, stride, dilation, before, after)
    sliding = Sliding(size, taps, stride, dilation, before, after)
    if min(sliding.out) < 1:
        raise ModelFormatError(
            f"a window of {list(kernel)} does not fit into the input",
            tensor=x.describe(),
            hint="check the input's shape (--shape NAME=...)",
        )
    return sliding


def _explicit_pads(
    call: Call, size: Pair, kernel: Pair, stride: Pair, dilation: Pair
) -> tuple[Pair, Pair]:
    """Padding before and after, whichever way the node gives it."""
    mode = call.node.get_string("auto_pad", "NOTSET")
    rank = len(call.shape(0)) - 2
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        same = Window.of(size, kernel, stride, "SAME", dilation)
        is_upper = mode == "SAME_UPPER"
        return (same.before, same.after) if is_upper else (same.after, same.before)
    if mode not in ("NOTSET", "VALID"):
        raise ModelFormatError(
            f"auto_pad is '{mode}'", expected="NOTSET, VALID, SAME_UPPER or SAME_LOWER"
        )
    pads = call.node.get_ints("pads", 2 * rank)
    if mode == "VALID" or pads is None:
        return (0, 0), (0, 0)
    if min(pads) < 0:
        raise UnsupportedError(
            f"negative pads {list(pads)}",
            expected="pads of 0 and more",
            hint="remove the cropping from the model",
        )
    return height_width(pads[:rank], 0), height_width(pads[rank:], 0)


def _ceil_mode_pads(
    size: Pair, kernel: Pair, stride: Pair, dilation: Pair, before: Pair, after: Pair
) -> Pair:
    """Padding after that makes room for the last, partial window of ``ceil_mode``.

    A window that would start in that padding does not count.
    """
    result = []
    for n, k, s, d, left, right in zip(size, kernel, stride, dilation, before, after, strict=True):
        extent = (k - 1) * d + 1
        count = -(-(n + left + right - extent) // s) + 1
        if (count - 1) * s >= n + left:
            count -= 1
        result.append(max(right, (count - 1) * s + extent - n - left))
    return result[0], result[1]


def _padded(call: Call, x: Value, sliding: Sliding) -> Value:
    """``x`` (n, h, w, c) inside a border of zeros."""
    if not sliding.is_padded:
        return x
    (top, left), (bottom, right) = sliding.before, sliding.after
    paddings = ((0, 0), (top, bottom), (left, right), (0, 0))
    return call.emit("pad", x, name=f"{call.result}.padded", paddings=paddings)


def conv(call: Call) -> Value:
    """Convolution; with one group per input channel, a depthwise one."""
    x, w = call.value(0), call.array(1, "the weights")
    rank = spatial_rank(call, x)
    groups = call.node.get_int("group", 1)
    _check_weights(call, x, w, groups)
    taps = w if rank == 2 else w[:, :, None]
    sliding = _sliding(call, x, w.shape[2:])
    computed = call.has(2) and not call.is_constant_input(2)
    bias = None if computed else call.optional_array(2, "the bias")
    is_depthwise = groups > 1 and groups == x.shape[1]
    # (c_out, c_in / groups, kh, kw) -> (1, kh, kw, c_out) or (c_out, kh, kw, c_in / groups)
    order = (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1)
    op = "depthwise_conv2d" if is_depthwise else "conv2d"
    y = call.emit(
        op,
        _padded(call, channels_last(call, x), sliding),
        call.constant(
            call.node.inputs[1],
            taps.transpose(order),
            weight_params(w, 0, CHANNEL_AXIS[op]),
        ),
        None if bias is None else call.constant(call.node.inputs[2], bias),
        stride=sliding.stride,
        dilation=sliding.dilation,
        padding="VALID",
        name=f"{call.result}.unbiased" if computed else "",
    )
    y = call.emit("add", y, call.value(2), name=f"{call.result}.biased") if computed else y
    return channels_first(call, y, len(x.shape))


def _check_weights(call: Call, x: Value, w: np.ndarray, groups: int) -> None:
    rank, shape = len(x.shape) - 2, list(w.shape)
    kernel = call.node.get_ints("kernel_shape", rank)
    fits = len(shape) == rank + 2 and 0 not in shape and groups >= 1
    fits = fits and shape[1] * groups == x.shape[1] and shape[0] % groups == 0
    if not fits or (kernel is not None and list(kernel) != shape[2:]):
        raise ModelFormatError(
            f"weights {shape} with {groups} groups"
            + (f" and kernel_shape {list(kernel)}" if kernel is not None else ""),
            tensor=x.describe(),
            expected=f"weights (c_out, {x.shape[1]} / {groups}, kernel_shape...)",
            hint="check the input's shape (--shape NAME=...), or export the model again",
        )


def kernel_shape(call: Call, x: Value) -> tuple[int, ...]:
    """The sizes of a pooling's window."""
    kernel = call.node.get_ints("kernel_shape", len(x.shape) - 2)
    if kernel is None:
        raise ModelFormatError(
            "attribute 'kernel_shape' is missing", expected=f"{len(x.shape) - 2} sizes"
        )
    return kernel


def pool_window(call: Call, x: Value) -> Sliding | None:
    """The window of a pooling; None where it has dilation, or dimensions that pool2d lacks."""
    rank = len(x.shape) - 2
    if rank not in (1, 2):
        return None
    sliding = _sliding(call, x, kernel_shape(call, x))
    return sliding if max(sliding.dilation) == 1 else None


def pool(
    call: Call, op: str, x: Value, sliding: Sliding | None, *, pad_with_zeros: bool
) -> Value | None:
    """A pooling, as padding VALID or SAME if either gives ONNX's outputs, else None.

    Args:
        call: the node.
        op: ``max_pool2d`` or ``average_pool2d``, which leave padding out.
        x: (n, c, spatial dimensions).
        sliding: the window.
        pad_with_zeros: whether a border of zeros gives ONNX's outputs too.

    """
    if sliding is None:
        return None
    kernel, stride = sliding.kernel, sliding.stride
    plain = not sliding.is_padded or pad_with_zeros
    if not plain and not sliding.equals_same() and not sliding.is_centred():
        return None
    y = channels_last(call, x)
    if plain:
        padded = _padded(call, y, sliding)
        y = call.emit(op, padded, kernel=kernel, stride=stride, padding="VALID")
    elif sliding.equals_same():
        y = call.emit(op, y, kernel=kernel, stride=stride, padding="SAME")
    else:
        every = call.emit(op, y, kernel=kernel, padding="SAME", name=f"{call.result}.every")
        y = call.emit("max_pool2d", every, kernel=(1, 1), stride=stride)
    return channels_first(call, y, len(x.shape))


def _is_nonnegative(call: Call, x: Value) -> bool:
    """Whether the ops that compute ``x`` rule out negative elements."""
    pending, visited = [x.name], {x.name}
    while pending:
        producer = call.builder.producers.get(pending.pop())
        if producer is None or producer.op not in NONNEGATIVE | TRANSPARENT:
            return False
        if producer.op in TRANSPARENT:
            pending += set(producer.inputs) - visited
            visited.update(producer.inputs)
    return True


def max_pool(call: Call) -> Value:
    """Greatest element under a window; padding never wins."""
    x = call.value(0)
    sliding = pool_window(call, x)
    padded = sliding is not None and sliding.is_padded and not sliding.equals_same()
    zeros = padded and _is_nonnegative(call, x)
    y = pool(call, "max_pool2d", x, sliding, pad_with_zeros=zeros)
    return y if y is not None else max_by_taps(call, x, lines(call, x, kernel_shape(call, x)))


def average_pool(call: Call) -> Value:
    """Mean under a window; padding counts only with ``count_include_pad``."""
    x = call.value(0)
    sliding = pool_window(call, x)
    counts_pads = call.node.get_int("count_include_pad", 0) != 0
    # Padding that ceil_mode adds never counts.
    if counts_pads and call.node.get_int("ceil_mode", 0):
        sliding = None
    y = pool(call, "average_pool2d", x, sliding, pad_with_zeros=counts_pads)
    if y is not None:
        return y
    return mean_by_taps(call, x, lines(call, x, kernel_shape(call, x)), with_pads=counts_pads)


def global_average_pool(call: Call) -> Value:
    """Mean over all spatial dimensions, which stay with size 1."""
    x = call.value(0)
    return call.emit("mean", x, axes=tuple(range(2, len(x.shape))), keep_dims=True)


def global_max_pool(call: Call) -> Value:
    """Greatest element over all spatial dimensions, which stay with size 1."""
    x = call.value(0)
    if len(x.shape) not in (3, 4):
        axes = tuple(range(2, len(x.shape)))
        return call.emit("reduce_max", x, axes=axes, keep_dims=True) if axes else x
    y = call.emit("max_pool2d", channels_last(call, x), kernel=height_width(x.shape[2:], 1))
    return channels_first(call, y, len(x.shape))
