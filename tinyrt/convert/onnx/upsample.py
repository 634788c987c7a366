"""ONNX's transposed convolution, and pooling by a norm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import tensor_params, weight_params
from tinyrt.convert.onnx.pointwise import scalar
from tinyrt.convert.onnx.shapes import sized
from tinyrt.convert.onnx.taps import lines, mean_by_taps
from tinyrt.convert.onnx.weights import Array
from tinyrt.convert.onnx.window import (
    channels_first,
    channels_last,
    height_width,
    kernel_shape,
    pair,
    pool,
    pool_window,
    spatial_rank,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import QParams, Value
from tinyrt.ops.shared.window import Pair, Window

MAX_EXPONENT = 64
"""A norm of a higher exponent is a sign of a damaged file."""


def conv_transpose(call: Call) -> Value:
    """Transposed convolution: padded as TFLite does where that is the same, else pads are cut off.

    Dilation spreads the kernel with zeros; groups become zeros of a full kernel.
    """
    x, w = call.value(0), call.array(1, "the weights")
    rank = spatial_rank(call, x)
    kernel = _spread(call, _full(call, x, w), rank)
    stride = pair(call, "strides", rank)
    taps = kernel.shape[2], kernel.shape[3]
    size = height_width(x.shape[2:], 1)
    whole = tuple((n - 1) * s + k for n, s, k in zip(size, stride, taps, strict=True))
    before, out = _output_region(call, whole, size, stride, rank)
    same = Window.of(out, taps, stride, "SAME")
    fits = whole != out and (same.out, same.before) == (size, before)
    whole = out if fits else whole
    extra = [max(b + o - n, 0) for b, o, n in zip(before, out, whole, strict=True)]
    y = call.emit(
        "transpose_conv",
        channels_last(call, x),
        # (c_in, c_out, kh, kw) -> (c_out, kh, kw, c_in)
        call.constant(call.node.inputs[1], kernel.transpose(1, 2, 3, 0), _params(call, w)),
        name=f"{call.result}.whole",
        size=whole,
        stride=stride,
        padding="SAME" if fits else "VALID",
    )
    if any(extra) and not fits:
        border = ((0, 0), (0, extra[0]), (0, extra[1]), (0, 0))
        y = call.emit("pad", y, name=f"{call.result}.padded", paddings=border)
    if y.shape[1:3] != out:
        y = call.emit(
            "slice",
            y,
            name=f"{call.result}.cut",
            begin=(0, *before, 0),
            size=(y.shape[0], *out, y.shape[3]),
            strides=(1, 1, 1, 1),
        )
    if call.has(2):
        y = call.emit("add", y, call.value(2), name=f"{call.result}.biased")
    return channels_first(call, y, len(x.shape))


def _params(call: Call, w: Array) -> QParams | None:
    """Parameters of the kernel: of the weights, between which there may be zeros."""
    groups = call.node.get_int("group", 1)
    return weight_params(w, 1, 0) if groups == 1 or tensor_params(w) is not None else None


def _full(call: Call, x: Value, w: Array) -> Array:
    """Weights (c_in, c_out, kernel...) of one group."""
    groups = call.node.get_int("group", 1)
    fits = w.ndim == len(x.shape) and 0 not in w.shape and groups >= 1
    if not fits or w.shape[0] != x.shape[1] or w.shape[0] % groups:
        raise ModelFormatError(
            f"weights {list(w.shape)} with {groups} groups",
            tensor=x.describe(),
            expected="weights (input channels, c_out / groups, kernel...)",
        )
    if groups == 1:
        return w
    ins, outs = w.shape[0] // groups, w.shape[1]
    sized((w.shape[0], outs * groups, *w.shape[2:]), "the weights of all groups", copies=1)
    full = np.zeros((w.shape[0], outs * groups, *w.shape[2:]), w.dtype)
    for g in range(groups):
        rows = slice(g * ins, (g + 1) * ins)
        full[rows, g * outs : (g + 1) * outs] = w[rows]
    return full


def _spread(call: Call, w: Array, rank: int) -> Array:
    """Weights (c_in, c_out, kh, kw) with zeros between dilated taps."""
    taps = w if rank == 2 else w[:, :, None]
    dilation = pair(call, "dilations", rank)
    if dilation == (1, 1):
        return taps
    extent = [(k - 1) * d + 1 for k, d in zip(taps.shape[2:], dilation, strict=True)]
    sized((*taps.shape[:2], *extent), "the dilated weights", copies=1)
    spread = np.zeros((*taps.shape[:2], *extent), taps.dtype)
    spread[:, :, :: dilation[0], :: dilation[1]] = taps
    return spread


def _output_region(
    call: Call, whole: tuple[int, ...], size: Pair, stride: Pair, rank: int
) -> tuple[Pair, Pair]:
    """Where the output begins in the whole result, and its height and width."""
    node = call.node
    more = height_width(node.get_ints("output_padding", rank) or (0,) * rank, 0)
    pads = node.get_ints("pads", 2 * rank) or (0,) * (2 * rank)
    before, after = height_width(pads[:rank], 0), height_width(pads[rank:], 0)
    output_shape = node.get_ints("output_shape")
    mode = node.get_string("auto_pad", "NOTSET")
    if output_shape is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        same = (size[0] * stride[0], size[1] * stride[1])
        reached = [w + m >= o for w, m, o in zip(whole, more, same, strict=True)]
        if output_shape is None and not all(reached):
            raise UnsupportedError(
                f"auto_pad {mode} of a kernel that is smaller than its stride",
                expected="pads, or an output_shape: runtimes differ in how large the output is",
                hint="export the model with explicit pads",
            )
        target = height_width(output_shape[-rank:], 1) if output_shape is not None else same
        # An output larger than what the layer reaches is filled up at the end.
        total = [max(w + m - o, 0) for w, m, o in zip(whole, more, target, strict=True)]
        first = [t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in total]
        return (first[0], first[1]), target
    out = [w - b - a + m for w, b, a, m in zip(whole, before, after, more, strict=True)]
    if min(*before, *after) < 0 or min(out) < 1:
        raise UnsupportedError(
            f"pads {list(pads)}",
            expected="pads that leave some output",
            hint="correct the layer's pads",
        )
    return before, (out[0], out[1])


def lp_pool(call: Call) -> Value:
    """``(sum |x|**p) ** (1/p)`` under a window."""
    x, p, r = call.value(0), _exponent(call), call.result
    kernel = kernel_shape(call, x)
    if p == 2:
        powered = call.emit("mul", x, x, name=f"{r}.square")
    else:
        powered = call.emit("abs", x, name=f"{r}.abs")
        exponent = scalar(call, "p", p)
        powered = powered if p == 1 else call.emit("pow", powered, exponent, name=f"{r}.power")
    means = pool(call, "average_pool2d", powered, pool_window(call, powered), pad_with_zeros=True)
    if means is None:
        windows = [replace(w, after=w.size + w.kernel * w.dilation) for w in lines(call, x, kernel)]
        means = mean_by_taps(call, powered, windows, with_pads=True)
    count = scalar(call, "count", float(np.prod(kernel)))
    total = call.emit("mul", means, count, name="" if p == 1 else f"{r}.total")
    if p == 1:
        return total
    return call.emit("sqrt", total) if p == 2 else call.emit("pow", total, scalar(call, "q", 1 / p))


def _exponent(call: Call) -> int:
    p = call.node.get_int("p", 2)
    if not 1 <= p <= MAX_EXPONENT:
        raise ModelFormatError(f"attribute 'p' is {p}", expected=f"1 to {MAX_EXPONENT}")
    return p


def global_lp_pool(call: Call) -> Value:
    """``(sum |x|**p) ** (1/p)`` over all spatial dimensions, which stay with size 1."""
    x, p, r = call.value(0), _exponent(call), call.result
    powered = call.emit("mul", x, x, name=f"{r}.square") if p == 2 else None
    if powered is None:
        powered = call.emit("abs", x, name=f"{r}.abs")
        powered = call.emit("pow", powered, scalar(call, "p", p), name=f"{r}.power")
    axes = tuple(range(2, len(x.shape)))
    total = call.emit("sum", powered, name=f"{r}.total", axes=axes, keep_dims=True)
    return call.emit("sqrt", total) if p == 2 else call.emit("pow", total, scalar(call, "q", 1 / p))
