"""fully_connected: matrix product with weights, fused bias and activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Gradient
from tinyrt.floatmath.products import matmul
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.batch_matmul import float_product
from tinyrt.ops.shared.activation import activate, activation_grad, bounds
from tinyrt.ops.shared.requant import (
    Requant,
    Steps,
    WideRequant,
    legacy_steps,
    weighted_requant,
    wide_requant,
)
from tinyrt.ops.shared.shapes import check_weighted, operand, optional_operand, size_of
from tinyrt.ops.shared.spec import Array, IntegerForm, qparams
from tinyrt.ops.shared.traits import Traits
from tinyrt.ops.shared.weighted import weighted_op

WEIGHT_AXIS = 0
"""The weights' axis of output channels."""


@dataclass(frozen=True, slots=True)
class FullyConnectedAttrs:
    """TFLite's FullyConnectedOptions.

    Attributes:
        keep_num_dims: keep the input's leading dimensions in the output instead of flattening them.
        activation: fused activation.
        legacy: whether sums are rounded as LiteRT does on uint8: once, in float64. Files have no
            field for it, but an entry of their metadata.

    """

    keep_num_dims: bool = False
    activation: str = "NONE"
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class FullyConnectedS8:
    """Precomputed constants of the integer kernel."""

    x_zp: int
    requant: Requant | Steps
    keep_num_dims: bool


@dataclass(frozen=True, slots=True)
class FullyConnectedS16:
    """Precomputed constants of the kernel on int16 activations."""

    requant: WideRequant | Requant
    keep_num_dims: bool


def infer(
    attrs: FullyConnectedAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(..., k), weights (c_out, k), bias (c_out,) -> (elements / k, c_out), or (..., c_out)."""
    x, w = operand(inputs, 0, "input"), operand(inputs, 1, "weights", 2)
    c_out, k = w.shape
    if attrs.keep_num_dims and x.shape[-1:] != (k,):
        raise ShapeError(
            f"input {x}, weights {w}", expected=f"an input whose last dimension is {k}"
        )
    if not x.shape or size_of(x.shape) % k:
        raise ShapeError(f"input {x}, weights {w}", expected=f"input rows of {k} elements")
    check_weighted(x, w, optional_operand(inputs, 2, "bias"), c_out)
    bounds(attrs.activation)
    leading = x.shape[:-1] if attrs.keep_num_dims else (size_of(x.shape) // k,)
    return (TensorType(x.dtype, (*leading, c_out)),)


def _rows(x: Array, w: Array) -> Array:
    return x.reshape(-1, w.shape[1])


def _shaped(product: Array, x: Array, keep_num_dims: bool) -> Array:
    return product.reshape(*x.shape[:-1], product.shape[1]) if keep_num_dims else product


def ref_f32(attrs: FullyConnectedAttrs, x: Array, w: Array, bias: Array | None = None) -> Array:
    """``activation(x @ w.T + bias)``; shapes as in ``infer``."""
    acc = _shaped(matmul(_rows(x, w), w.T), x, attrs.keep_num_dims)
    return activate(acc if bias is None else acc + bias, attrs.activation)


def vjp(
    attrs: FullyConnectedAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of x, w and bias."""
    x, w, *bias = inputs
    rows = activation_grad(output, grad, attrs.activation).reshape(-1, w.shape[0])

    def dx() -> Array:
        return float_product(rows, w).reshape(x.shape)

    def dw() -> Array:
        return float_product(rows, _rows(x, w), adj_x=True)

    return (dx, dw, *([rows.sum(axis=0)] if bias else []))


def _exact(x: Array, w: NDArray[np.int8], keep_num_dims: bool) -> NDArray[np.int64]:
    """``x @ w.T`` of whole numbers, computed in a type that holds every sum and is fast."""
    return _shaped(_rows(x, w) @ w.T.astype(x.dtype), x, keep_num_dims).astype(np.int64)


def prepare_s8(node: BoundNode) -> FullyConnectedS8:
    """Multipliers and clamp of one node."""
    attrs = node.attrs_as(FullyConnectedAttrs)
    requant = (legacy_steps if attrs.legacy else weighted_requant)(node, WEIGHT_AXIS)
    return FullyConnectedS8(qparams(node.input(0))[1], requant, attrs.keep_num_dims)


def ref_s8(
    p: FullyConnectedS8,
    x: NDArray[np.int8],
    w: NDArray[np.int8],
    bias: NDArray[np.int32] | None = None,
) -> NDArray[np.int8]:
    """``clamp(requant(bias + (x - x_zp) @ w.T) + y_zp)``.

    The product runs in float64, which holds every int32 accumulator exactly.
    """
    whole = _exact(x.astype(np.float64) - p.x_zp, w, p.keep_num_dims)
    return p.requant.apply(whole if bias is None else whole + bias)


def prepare_s16(node: BoundNode) -> FullyConnectedS16:
    """Multipliers and clamp of one node."""
    attrs = node.attrs_as(FullyConnectedAttrs)
    return FullyConnectedS16(wide_requant(node, WEIGHT_AXIS), attrs.keep_num_dims)


def ref_s16(
    p: FullyConnectedS16, x: NDArray[np.int16], w: NDArray[np.int8], bias: Array | None = None
) -> Array:
    """``clamp(requant(bias + x @ w.T))``; sums are exact in float64."""
    acc = _exact(x.astype(np.float64), w, p.keep_num_dims)
    return p.requant.apply(acc if bias is None else acc + bias)


def macs(node: BoundNode) -> int:
    """Output elements times row length."""
    return node.output.size * node.input(1).shape[1]


FULLY_CONNECTED = weighted_op(
    name="fully_connected",
    attrs=FullyConnectedAttrs,
    infer=infer,
    weight_axis=WEIGHT_AXIS,
    ref_f32=ref_f32,
    vjp=vjp,
    int8=IntegerForm(prepare_s8, ref_s8),
    int16x8=IntegerForm(prepare_s16, ref_s16),
    macs=macs,
    int4_weights=True,
    traits=Traits(fuses=True, biased=True, skips_zeros=True),
)
