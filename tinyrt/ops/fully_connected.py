"""fully_connected: matrix product with weights, fused bias and activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.activation import activate, activation_grad, bounds
from tinyrt.ops.batch_matmul import float_product
from tinyrt.ops.blocks import block_of, dense_scratch, dense_sweep, emit_dense, matrix_of
from tinyrt.ops.emit import Fields, emit_weighted, nhwc, window_fields
from tinyrt.ops.emit_float import emit_conv_f32
from tinyrt.ops.emit_wide import column_bytes, emit_conv_s16
from tinyrt.ops.float_products import matmul
from tinyrt.ops.function import Gradient
from tinyrt.ops.group_blocks import emit_groups, group_block, group_scratch
from tinyrt.ops.requant import Requant, WideRequant, weighted_requant, wide_requant
from tinyrt.ops.shapes import check_weighted, operand, optional_operand, size_of
from tinyrt.ops.spec import (
    Array,
    CWriter,
    InstructionSet,
    IntegerForm,
    OpSpec,
    Quant,
    is_integer,
    qparams,
)
from tinyrt.ops.sweep import Sweep
from tinyrt.ops.vector_kernels import VECTOR_KERNELS
from tinyrt.ops.window import Window


@dataclass(frozen=True, slots=True)
class FullyConnectedAttrs:
    """TFLite's FullyConnectedOptions.

    Attributes:
        keep_num_dims: keep all dimensions of the input but the last, instead of flattening them.
        activation: fused activation.

    """

    keep_num_dims: bool = False
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class FullyConnectedS8:
    """What the integer kernel knows beforehand."""

    x_zp: int
    requant: Requant
    keep_num_dims: bool


@dataclass(frozen=True, slots=True)
class FullyConnectedS16:
    """What the kernel on int16 activations knows beforehand."""

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
    """``x @ w.T`` of whole numbers, in a type that holds every sum and has a fast product."""
    return _shaped(_rows(x, w) @ w.T.astype(x.dtype), x, keep_num_dims).astype(np.int64)


def prepare_s8(node: BoundNode) -> FullyConnectedS8:
    """Multipliers and clamp of one node."""
    requant = weighted_requant(node, channel_axis=0)
    return FullyConnectedS8(qparams(node.input(0))[1], requant, node.attrs.keep_num_dims)


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
    return FullyConnectedS16(wide_requant(node, channel_axis=0), node.attrs.keep_num_dims)


def ref_s16(
    p: FullyConnectedS16, x: NDArray[np.int16], w: NDArray[np.int8], bias: Array | None = None
) -> Array:
    """``clamp(requant(bias + x @ w.T))``; sums are exact in float64."""
    acc = _exact(x.astype(np.float64), w, p.keep_num_dims)
    return p.requant.apply(acc if bias is None else acc + bias)


def macs(node: BoundNode) -> int:
    """Output elements times row length."""
    return node.output.size * node.input(1).shape[1]


def scratch_bytes(node: BoundNode, isa: InstructionSet) -> int:
    """Columns of the packed kernel; the general one needs nothing."""
    if isa in VECTOR_KERNELS:
        return VECTOR_KERNELS[isa].dense_scratch(node)
    p = prepare_s8(node)
    block = block_of(node, p.x_zp, p.requant, isa)
    group = None if block else group_block(node, p.x_zp, p.requant, isa)
    if group is not None:
        return group_scratch(group, matrix_of(node)[1], isa)
    return dense_scratch(node, block, isa)


def emit_c(node: BoundNode, p: FullyConnectedS8, c: CWriter) -> None:
    """Write the call of a packed kernel, or of the general one where that cannot be."""
    if c.isa in VECTOR_KERNELS:
        VECTOR_KERNELS[c.isa].emit_fully_connected(node, p.x_zp, p.requant, c)
        return
    block = block_of(node, p.x_zp, p.requant, c.isa)
    if block is not None:
        emit_dense(node, block, p.requant, c)
        return
    group = group_block(node, p.x_zp, p.requant, c.isa)
    if group is not None:
        x, y, window = _pixels(node)
        emit_groups(node, group, (x, y), window, p.x_zp, p.requant, c)
        return
    c_out, c_in = node.input(1).shape
    fields: Fields = {"rows": node.input(0).size // c_in, "c_in": c_in, "c_out": c_out}
    emit_weighted("tinyrt_fully_connected_s8", node, p, c, fields, channel_axis=0)


def emit_s16(node: BoundNode, p: FullyConnectedS16, c: CWriter) -> None:
    """Write the call of ``tinyrt_conv2d_s16``, with rows as pixels."""
    emit_conv_s16(node, p.requant, _as_pixels(node), 1, c)


def scratch_s16(node: BoundNode, isa: InstructionSet) -> int:
    """The column that is copied to."""
    del isa  # the same on all
    return column_bytes(node)


def emit_f32(node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_conv2d_f32``, with rows as pixels."""
    emit_conv_f32(node, _as_pixels(node), 1, c)


def _as_pixels(node: BoundNode) -> Fields:
    x, y, window = _pixels(node)
    return {"x": nhwc(x), "y": nhwc(y), "window": window_fields(window)}


def _pixels(node: BoundNode) -> tuple[Shape, Shape, Window]:
    """Input and output as images of one row, and the window of one pixel."""
    c_out, c_in = node.input(1).shape
    rows = node.input(0).size // c_in
    window = Window.of((1, rows), (1, 1), (1, 1), "VALID")
    return (1, 1, rows, c_in), (1, 1, rows, c_out), window


def sweep(node: BoundNode, isa: InstructionSet) -> Sweep | None:
    """Samples from the front, where the packed kernels copy them first."""
    if not is_integer(node) or isa in VECTOR_KERNELS:
        return None
    p = prepare_s8(node)
    block = block_of(node, p.x_zp, p.requant, isa)
    return None if block is None else dense_sweep(node, block, isa)


FULLY_CONNECTED = OpSpec(
    name="fully_connected",
    attrs=FullyConnectedAttrs,
    arity=(2, 3),
    infer=infer,
    quant=Quant.WEIGHTED,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare_s8,
    ref_s8=ref_s8,
    macs=macs,
    scratch_bytes=scratch_bytes,
    sweep=sweep,
    emit_c=emit_c,
    int16x8=IntegerForm(prepare_s16, ref_s16, scratch_bytes=scratch_s16, emit_c=emit_s16),
    int4_weights=True,
    emit_f32=emit_f32,
)
