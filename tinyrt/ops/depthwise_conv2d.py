"""depthwise_conv2d: each filter reads one input channel; fused bias and activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath import buffers
from tinyrt.floatmath.function import Gradient
from tinyrt.floatmath.parallel import each_block, each_part
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.activation import activate, activation_grad, bounds
from tinyrt.ops.shared.convolution import CONVOLUTION, bias_gradient, biased
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.requant import weighted_requant, wide_requant
from tinyrt.ops.shared.rows import RowOp, windowed_rows
from tinyrt.ops.shared.shapes import check_weighted, operand, optional_operand
from tinyrt.ops.shared.spec import Array, IntegerForm, qparams
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.weighted import weighted_op
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs, ConvolutionS8, ConvolutionS16

WEIGHT_AXIS = 3
"""The weights' axis of output channels."""


@dataclass(frozen=True, slots=True)
class DepthwiseConv2dAttrs(ConvolutionAttrs):
    """TFLite's DepthwiseConv2DOptions; the depth multiplier follows from the shapes."""


def window_of(attrs: DepthwiseConv2dAttrs, x: Shape, w: Shape) -> Window:
    """The sliding window for input ``x`` (n, h, w, c_in) and weights ``w`` (1, kh, kw, c_out)."""
    return Window.of((x[1], x[2]), (w[1], w[2]), attrs.stride, attrs.padding, attrs.dilation)


def infer(
    attrs: DepthwiseConv2dAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(n, h, w, c_in), weights (1, kh, kw, c_in * m), bias (c_in * m,) -> (n, h, w, c_in * m)."""
    x, w = operand(inputs, 0, "input", 4), operand(inputs, 1, "weights", 4)
    if w.shape[0] != 1 or w.shape[3] % x.shape[3]:
        raise ShapeError(
            f"weights {w} do not fit {x.shape[3]} input channels",
            expected=f"[1,kh,kw,c_out] with c_out a multiple of {x.shape[3]}",
        )
    check_weighted(x, w, optional_operand(inputs, 2, "bias"), w.shape[3], attrs.wide)
    bounds(attrs.activation)
    out = window_of(attrs, x.shape, w.shape).out
    return (TensorType(x.dtype, (x.shape[0], *out, w.shape[3])),)


def _spread(padded: Array, w: Array) -> Array:
    """Repeats the input channels: output channel ``c * m + j`` reads input channel ``c``."""
    per_channel = w.shape[3] // padded.shape[3]
    return padded if per_channel == 1 else np.repeat(padded, per_channel, axis=3)


def _convolve(window: Window, padded: Array, w: Array) -> Array:
    """Sum over taps, for any number type."""
    spread = _spread(padded, w)
    y = np.empty((padded.shape[0], *window.out, w.shape[3]), np.result_type(padded, w))

    def convolve(images: slice) -> None:
        acc, product = y[images], np.empty_like(y[images])
        for i, j, where in window.taps():
            first = i == j == 0
            np.multiply(spread[images][where], w[0, i, j], out=acc if first else product)
            if not first:
                acc += product

    each_block(len(y), 3 * y.nbytes, convolve)
    return y


def ref_f32(attrs: DepthwiseConv2dAttrs, x: Array, w: Array, bias: Array | None = None) -> Array:
    """``activation(sum(x * w) + bias)``; shapes as in ``infer``."""
    # Importing Numba is slow, and only floats need it.
    from tinyrt.floatmath.depthwise_loops import depthwise

    window = window_of(attrs, x.shape, w.shape)
    dtype = np.result_type(x, w, np.float32)
    spread, taps = (np.ascontiguousarray(a, dtype) for a in (_spread(x, w), w[0]))
    y = buffers.empty((len(x), *window.out, w.shape[3]), dtype)
    steps = (window.stride, window.dilation, window.before)
    each_part(len(y), y.nbytes, lambda part: depthwise(spread[part], taps, y[part], *steps))
    return activate(y if bias is None else y + bias, attrs.activation)


def train_f32(attrs: DepthwiseConv2dAttrs, x: Array, w: Array, bias: Array | None = None) -> Array:
    """As ``ref_f32``, computed as a grouped convolution with one input channel per group."""
    turned = w.transpose(3, 1, 2, 0)
    return activate(biased(_shapes(attrs, x.shape, w.shape), x, turned, bias), attrs.activation)


def vjp(
    attrs: DepthwiseConv2dAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, w and bias."""
    x, w, *bias = inputs
    grad = activation_grad(output, grad, attrs.activation)
    shapes = _shapes(attrs, x.shape, w.shape)
    return (
        lambda: CONVOLUTION.dx(shapes, grad, w.transpose(3, 1, 2, 0)),
        lambda: CONVOLUTION.dw(shapes, x, grad).transpose(3, 1, 2, 0),
        *([bias_gradient(grad)] if bias else []),
    )


@lru_cache(maxsize=256)  # training steps use the same few shapes again and again
def _shapes(attrs: DepthwiseConv2dAttrs, x: Shape, w: Shape) -> Shapes:
    return Shapes(window_of(attrs, x, w), x, (w[3], w[1], w[2], 1))


def prepare_s8(node: BoundNode) -> ConvolutionS8:
    """Multipliers, clamp and window of one node."""
    x, w = node.input(0), node.input(1)
    requant = weighted_requant(node, WEIGHT_AXIS)
    window = window_of(node.attrs_as(DepthwiseConv2dAttrs), x.shape, w.shape)
    return ConvolutionS8(window, qparams(x)[1], requant)


def ref_s8(
    p: ConvolutionS8,
    x: NDArray[np.int8],
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None = None,
) -> NDArray[np.int8]:
    """``clamp(requant(bias + sum((x - x_zp) * w)) + y_zp)``."""
    centred = p.window.pad(x.astype(np.int32) - np.int32(p.x_zp))
    acc = _convolve(p.window, centred, w.astype(np.int32))
    return p.requant.apply(acc if bias is None else acc + bias)


def prepare_s16(node: BoundNode) -> ConvolutionS16:
    """Multipliers, clamp and window of one node."""
    attrs = node.attrs_as(DepthwiseConv2dAttrs)
    window = window_of(attrs, node.input(0).shape, node.input(1).shape)
    return ConvolutionS16(window, wide_requant(node, WEIGHT_AXIS))


def ref_s16(
    p: ConvolutionS16, x: NDArray[np.int16], w: NDArray[np.int8], bias: Array | None = None
) -> Array:
    """``clamp(requant(bias + sum(x * w)))``."""
    acc = _convolve(p.window, p.window.pad(x.astype(np.int64)), w.astype(np.int64))
    return p.requant.apply(acc if bias is None else acc + bias)


def macs(node: BoundNode) -> int:
    """Output elements times taps."""
    w = node.input(1)
    return node.output.size * w.shape[1] * w.shape[2]


def rows(node: BoundNode) -> RowOp | None:
    """Rows under the window, with the input's zero point around them."""
    x, w = node.input(0), node.input(1)
    window = window_of(node.attrs_as(DepthwiseConv2dAttrs), x.shape, w.shape)
    return windowed_rows(node, window, qparams(x)[1])


DEPTHWISE_CONV2D = weighted_op(
    name="depthwise_conv2d",
    attrs=DepthwiseConv2dAttrs,
    infer=infer,
    weight_axis=WEIGHT_AXIS,
    ref_f32=ref_f32,
    train_f32=train_f32,
    vjp=vjp,
    int8=IntegerForm(prepare_s8, ref_s8),
    int16x8=IntegerForm(prepare_s16, ref_s16),
    macs=macs,
    rows=rows,
    int4_weights=True,
    traits=Traits(fuses=True, biased=True),
)
