"""conv2d: 2-D convolution, grouped or not, with fused bias and activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.activation import activate, activation_grad, bounds
from tinyrt.ops.shared.convolution import CONVOLUTION, bias_gradient, biased, convolve
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.requant import weighted_requant, wide_requant
from tinyrt.ops.shared.rows import RowOp, windowed_rows
from tinyrt.ops.shared.shapes import check_weighted, operand, optional_operand
from tinyrt.ops.shared.spec import Array, IntegerForm, qparams
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.weighted import weighted_op
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs, ConvolutionS8, ConvolutionS16

WEIGHT_AXIS = 0
"""The weights' axis of output channels."""


@dataclass(frozen=True, slots=True)
class Conv2dAttrs(ConvolutionAttrs):
    """TFLite's Conv2DOptions."""


def window_of(attrs: Conv2dAttrs, x: Shape, w: Shape) -> Window:
    """The sliding window for input ``x`` (n, h, w, c) and weights ``w`` (c_out, kh, kw, c_in)."""
    return Window.of((x[1], x[2]), (w[1], w[2]), attrs.stride, attrs.padding, attrs.dilation)


def infer(attrs: Conv2dAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, h, w, c_in), weights (c_out, kh, kw, c_in / groups), bias -> (n, h, w, c_out)."""
    x, w = operand(inputs, 0, "input", 4), operand(inputs, 1, "weights", 4)
    groups, rest = divmod(x.shape[3], w.shape[3])
    if rest or w.shape[0] % groups:
        raise ShapeError(
            f"{x.shape[3]} input channels do not fit weights {w}",
            expected=f"groups of {w.shape[3]}, as many as divide {w.shape[0]} output channels",
        )
    check_weighted(x, w, optional_operand(inputs, 2, "bias"), w.shape[0], attrs.wide)
    bounds(attrs.activation)
    out = window_of(attrs, x.shape, w.shape).out
    return (TensorType(x.dtype, (x.shape[0], *out, w.shape[0])),)


def ref_f32(attrs: Conv2dAttrs, x: Array, w: Array, bias: Array | None = None) -> Array:
    """``activation(sum(x * w) + bias)``; shapes as in ``infer``."""
    return activate(biased(_shapes(attrs, x.shape, w.shape), x, w, bias), attrs.activation)


def vjp(
    attrs: Conv2dAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, w and bias."""
    x, w, *bias = inputs
    grad = activation_grad(output, grad, attrs.activation)
    gradients = CONVOLUTION.y.vjp(_shapes(attrs, x.shape, w.shape), (x, w), output, grad)
    return (*gradients, *([bias_gradient(grad)] if bias else []))


@lru_cache(maxsize=256)  # training steps use the same few shapes again and again
def _shapes(attrs: Conv2dAttrs, x: Shape, w: Shape) -> Shapes:
    return Shapes(window_of(attrs, x, w), x, w)


def prepare_s8(node: BoundNode) -> ConvolutionS8:
    """Multipliers, clamp and window of one node."""
    x, w = node.input(0), node.input(1)
    requant = weighted_requant(node, WEIGHT_AXIS)
    window = window_of(node.attrs_as(Conv2dAttrs), x.shape, w.shape)
    return ConvolutionS8(window, qparams(x)[1], requant)


def ref_s8(
    p: ConvolutionS8,
    x: NDArray[np.int8],
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None = None,
) -> NDArray[np.int8]:
    """``clamp(requant(bias + sum((x - x_zp) * w)) + y_zp)``.

    The sum runs in float64, which holds every int32 accumulator exactly and has a fast matmul.
    """
    centred = x.astype(np.float64) - p.x_zp
    acc = convolve(Shapes(p.window, x.shape, w.shape), centred, w.astype(np.float64))
    return p.requant.apply(acc.astype(np.int64) if bias is None else acc.astype(np.int64) + bias)


def prepare_s16(node: BoundNode) -> ConvolutionS16:
    """Multipliers, clamp and window of one node."""
    window = window_of(node.attrs_as(Conv2dAttrs), node.input(0).shape, node.input(1).shape)
    return ConvolutionS16(window, wide_requant(node, WEIGHT_AXIS))


def ref_s16(
    p: ConvolutionS16, x: NDArray[np.int16], w: NDArray[np.int8], bias: Array | None = None
) -> Array:
    """``clamp(requant(bias + sum(x * w)))``; sums are exact in float64."""
    acc = convolve(Shapes(p.window, x.shape, w.shape), x.astype(np.float64), w.astype(np.float64))
    return p.requant.apply(acc.astype(np.int64) if bias is None else acc.astype(np.int64) + bias)


def macs(node: BoundNode) -> int:
    """Output elements times taps times input channels per group."""
    w = node.input(1)
    return node.output.size * (w.size // w.shape[0])


def rows(node: BoundNode) -> RowOp | None:
    """Rows under the window, with the input's zero point around them."""
    x, w = node.input(0), node.input(1)
    window = window_of(node.attrs_as(Conv2dAttrs), x.shape, w.shape)
    return windowed_rows(node, window, qparams(x)[1])


CONV2D = weighted_op(
    name="conv2d",
    attrs=Conv2dAttrs,
    infer=infer,
    weight_axis=WEIGHT_AXIS,
    ref_f32=ref_f32,
    vjp=vjp,
    int8=IntegerForm(prepare_s8, ref_s8),
    int16x8=IntegerForm(prepare_s16, ref_s16),
    macs=macs,
    rows=rows,
    int4_weights=True,
    traits=Traits(fuses=True, biased=True, skips_zeros=True),
)
