"""transpose_conv: the input gradient of a convolution as a layer with its own weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.activation import activate, activation_grad, bounds
from tinyrt.ops.shared.convolution import CONVOLUTION, adjoint, bias_gradient
from tinyrt.ops.shared.convolution_shapes import Shapes
from tinyrt.ops.shared.requant import Requant, WideRequant, weighted_requant, wide_requant
from tinyrt.ops.shared.shapes import check_weighted, operand, optional_operand
from tinyrt.ops.shared.spec import Array, IntegerForm, qparams
from tinyrt.ops.shared.weighted import weighted_op
from tinyrt.ops.shared.window import Pair, Window

WEIGHT_AXIS = 0
"""The weights' axis of output channels."""


@dataclass(frozen=True, slots=True)
class TransposeConvAttrs:
    """TFLite's TransposeConvOptions, with the output's height and width."""

    size: Pair
    stride: Pair = (1, 1)
    padding: str = "SAME"
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class TransposeConvS8:
    """Precomputed constants of the integer kernel."""

    attrs: TransposeConvAttrs
    x_zp: int
    requant: Requant


@dataclass(frozen=True, slots=True)
class TransposeConvS16:
    """Precomputed constants of the kernel on int16 activations."""

    attrs: TransposeConvAttrs
    requant: WideRequant | Requant


def window_of(attrs: TransposeConvAttrs, w: Shape) -> Window:
    """The window that slides over the output."""
    return Window.of(attrs.size, (w[1], w[2]), attrs.stride, attrs.padding)


def _shapes(attrs: TransposeConvAttrs, x: Shape, w: Shape) -> Shapes:
    """Shapes of the convolution from output to input; this op is its input gradient."""
    return Shapes(window_of(attrs, w), (x[0], *attrs.size, w[0]), (w[3], w[1], w[2], w[0]))


def infer(attrs: TransposeConvAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, h, w, c_in), weights (c_out, kh, kw, c_in), bias -> (n, *size, c_out)."""
    x, w = operand(inputs, 0, "input", 4), operand(inputs, 1, "weights", 4)
    check_weighted(x, w, optional_operand(inputs, 2, "bias"), w.shape[0])
    bounds(attrs.activation)
    if x.shape[3] != w.shape[3]:
        raise ShapeError(f"weights {w} for {x}", expected=f"{x.shape[3]} input channels")
    if len(attrs.size) != 2 or min(attrs.size) < 1:
        raise ShapeError(f"a size of {list(attrs.size)}", expected="a height and width from 1")
    out = window_of(attrs, w.shape).out
    if out != x.shape[1:3]:
        raise ShapeError(
            f"an output of {list(attrs.size)} from {x}",
            expected=f"a size that a convolution brings back to {list(x.shape[1:3])}",
        )
    return (TensorType(x.dtype, (x.shape[0], *attrs.size, w.shape[0])),)


def _turned(w: Array) -> Array:
    return w.transpose(3, 1, 2, 0)


def ref_f32(attrs: TransposeConvAttrs, x: Array, w: Array, bias: Array | None = None) -> Array:
    """Adds each input times the kernel to the outputs under it; then bias and activation."""
    shapes, turned = _shapes(attrs, x.shape, w.shape), _turned(w)
    if np.isfinite(w).all():
        acc = CONVOLUTION.dx.forward(shapes, x, turned)
    else:  # the loops multiply weights with zeros: NaN for a weight that is not finite
        with np.errstate(invalid="ignore"):
            acc = adjoint(shapes, x, turned)
    return activate(acc if bias is None else acc + bias, attrs.activation)


def vjp(
    attrs: TransposeConvAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, w and bias."""
    x, w, *bias = inputs
    grad = activation_grad(output, grad, attrs.activation)
    shapes = _shapes(attrs, tuple(x.shape), tuple(w.shape))
    return (
        lambda: CONVOLUTION.y(shapes, grad, _turned(w)),
        lambda: CONVOLUTION.dw(shapes, grad, x).transpose(3, 1, 2, 0),
        *([bias_gradient(grad)] if bias else []),
    )


def prepare_s8(node: BoundNode) -> TransposeConvS8:
    """Multipliers and clamp of one node."""
    requant = weighted_requant(node, WEIGHT_AXIS)
    return TransposeConvS8(node.attrs_as(TransposeConvAttrs), qparams(node.input(0))[1], requant)


def ref_s8(
    p: TransposeConvS8,
    x: NDArray[np.int8],
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None = None,
) -> NDArray[np.int8]:
    """``clamp(requant(bias + sum((x - x_zp) * w)) + y_zp)``; sums are exact in float64."""
    shapes = _shapes(p.attrs, x.shape, w.shape)
    centred = x.astype(np.float64) - p.x_zp
    acc = adjoint(shapes, centred, _turned(w.astype(np.float64))).astype(np.int64)
    return p.requant.apply(acc if bias is None else acc + bias)


def prepare_s16(node: BoundNode) -> TransposeConvS16:
    """Multipliers and clamp of one node."""
    return TransposeConvS16(node.attrs_as(TransposeConvAttrs), wide_requant(node, WEIGHT_AXIS))


def ref_s16(
    p: TransposeConvS16, x: NDArray[np.int16], w: NDArray[np.int8], bias: Array | None = None
) -> Array:
    """``clamp(requant(bias + sum(x * w)))``; sums are exact in float64."""
    shapes, turned = _shapes(p.attrs, x.shape, w.shape), _turned(w.astype(np.float64))
    acc = adjoint(shapes, x.astype(np.float64), turned).astype(np.int64)
    return p.requant.apply(acc if bias is None else acc + bias)


def macs(node: BoundNode) -> int:
    """Input elements times taps times output channels."""
    w = node.input(1)
    return node.input(0).size * (w.size // w.shape[3])


TRANSPOSE_CONV = weighted_op(
    name="transpose_conv",
    attrs=TransposeConvAttrs,
    infer=infer,
    weight_axis=WEIGHT_AXIS,
    ref_f32=ref_f32,
    vjp=vjp,
    int8=IntegerForm(prepare_s8, ref_s8),
    int16x8=IntegerForm(prepare_s16, ref_s16),
    macs=macs,
)
