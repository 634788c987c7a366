"""batch_matmul: products of pairs of matrices, both of them activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    INT16_MAX,
    INT16_MIN,
    multiply_by_quantized_multiplier,
    multiply_by_reduced_multiplier,
)
from tinyrt.floatmath.function import Function, Gradient
from tinyrt.floatmath.products import matmul
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.requant import multiplier, reduced
from tinyrt.ops.shared.shapes import broadcast, check_computable, operand, sum_to
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    qparams,
    require_alike,
    require_s8,
)


@dataclass(frozen=True, slots=True)
class BatchMatmulAttrs:
    """TFLite's BatchMatMulOptions: which operands are transposed."""

    adj_x: bool = False
    adj_y: bool = False


@dataclass(frozen=True, slots=True)
class BatchMatmulS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        attrs: the op's attributes.
        a_zp: the first operand's zero point.
        b_zp: the second operand's zero point.
        mult: mantissa of ``a_scale * b_scale / y_scale``.
        shift: its exponent.
        y_zp: the output's zero point.

    """

    attrs: BatchMatmulAttrs
    a_zp: int
    b_zp: int
    mult: int
    shift: int
    y_zp: int


@dataclass(frozen=True, slots=True)
class BatchMatmulS16:
    """Precomputed constants of the kernel on int16.

    Attributes:
        attrs: the op's attributes.
        mult: 15-bit mantissa of ``a_scale * b_scale / y_scale``.
        right: right shift after the multiplication.

    """

    attrs: BatchMatmulAttrs
    mult: int
    right: int


def infer(attrs: BatchMatmulAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., m, k) and (..., k, n) -> (..., m, n); leading dimensions broadcast.

    Both are of one dtype, or int16 and int8.
    """
    a, b = operand(inputs, 0, "the first input"), operand(inputs, 1, "the second input")
    check_computable(a, "batch_matmul")
    fits = a.dtype is b.dtype or (a.dtype, b.dtype) == (DType.INT16, DType.INT8)
    if min(len(a.shape), len(b.shape)) < 2 or not fits:
        raise ShapeError(
            f"inputs are {a} and {b}",
            expected="one dtype, or int16 and int8; two dimensions or more",
        )
    m, k = a.shape[-2:][::-1] if attrs.adj_x else a.shape[-2:]
    rows, n = b.shape[-2:][::-1] if attrs.adj_y else b.shape[-2:]
    if k != rows:
        raise ShapeError(f"{a} and {b} do not multiply", expected="(..., m, k) and (..., k, n)")
    return (TensorType(a.dtype, (*broadcast(a.shape[:-2], b.shape[:-2]), m, n)),)


def ref_f32(attrs: BatchMatmulAttrs, a: Array, b: Array) -> Array:
    """``a @ b`` for each matrix."""
    return matmul(*_turned(attrs, a, b))


def _turned(attrs: BatchMatmulAttrs, a: Array, b: Array) -> tuple[Array, Array]:
    left = a.swapaxes(-1, -2) if attrs.adj_x else a
    return left, b.swapaxes(-1, -2) if attrs.adj_y else b


def vjp(
    attrs: BatchMatmulAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``dA = G B^T`` and ``dB = A^T G``, with operands exchanged where one is transposed."""
    del output
    a, b = inputs
    x, y = attrs.adj_x, attrs.adj_y

    def of_a() -> Array:
        factors = (b, grad, y, True) if x else (grad, b, False, not y)
        product = float_product(*factors)
        return sum_to(product, tuple(a.shape))

    def of_b() -> Array:
        factors = (grad, a, True, x) if y else (a, grad, not x, False)
        product = float_product(*factors)
        return sum_to(product, tuple(b.shape))

    return of_a, of_b


def float_product(a: Array, b: Array, adj_x: bool = False, adj_y: bool = False) -> Array:
    """``a @ b`` of arrays or tensors; ``adj_x`` and ``adj_y`` transpose."""
    result: Array = _MATMUL(BatchMatmulAttrs(adj_x, adj_y), a, b)
    return result


_MATMUL = Function("batch_matmul", ref_f32, vjp)


def macs(node: BoundNode) -> int:
    """Elements of the output times the length of a row."""
    k = node.input(0).shape[-2 if node.attrs_as(BatchMatmulAttrs).adj_x else -1]
    return node.output.size * k


def _require_one_scale(b: Value) -> None:
    """Raise ``VerifyError`` where each channel has a scale: LiteRT then answers with zeros."""
    if b.q is not None and len(b.q.scales) > 1:
        raise VerifyError(
            f"a product of matrices reads {len(b.q.scales)} scales",
            tensor=b.describe(),
            expected="one scale for the whole tensor",
            hint="quantise it per tensor (TENSORWISE), or write the layer as FULLY_CONNECTED, "
            "whose weights may have a scale for each channel",
        )


def prepare_s8(node: BoundNode) -> BatchMatmulS8:
    """The multiplier of one node; the product of scales is a float32, as in TFLite."""
    a, b, y = node.input(0), node.input(1), node.output
    _require_one_scale(b)
    require_s8(a, b, y)
    (a_scale, a_zp), (b_scale, b_zp), (y_scale, y_zp) = qparams(a), qparams(b), qparams(y)
    mult, shift = multiplier(float(a_scale * b_scale) / float(y_scale))
    return BatchMatmulS8(node.attrs_as(BatchMatmulAttrs), a_zp, b_zp, mult, shift, y_zp)


def ref_s8(p: BatchMatmulS8, a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int8]:
    """``clamp(requant((a - a_zp) @ (b - b_zp)) + y_zp)``.

    The product runs in float64, which holds every int32 accumulator exactly.
    """
    left, right = _turned(p.attrs, a.astype(np.float64) - p.a_zp, b.astype(np.float64) - p.b_zp)
    acc = (left @ right).astype(np.int64)
    scaled = multiply_by_quantized_multiplier(acc, p.mult, p.shift)
    return np.asarray(np.clip(scaled + p.y_zp, INT8_MIN, INT8_MAX), np.int8)


def prepare_s16(node: BoundNode) -> BatchMatmulS16:
    """The multiplier of one node, whose second operand may be int8 without a zero point."""
    a, b, y = node.input(0), node.input(1), node.output
    _require_one_scale(b)
    if b.dtype is DType.INT8 and qparams(b)[1]:
        raise VerifyError(
            f"beside int16 the zero point is {qparams(b)[1]}", tensor=b.describe(), expected="0"
        )
    require_alike(a, y, *(() if b.dtype is DType.INT8 else (b,)))
    real = float(qparams(a)[0] * qparams(b)[0]) / float(qparams(y)[0])
    return BatchMatmulS16(node.attrs_as(BatchMatmulAttrs), *reduced(*multiplier(real), y))


def ref_s16(
    p: BatchMatmulS16, a: NDArray[np.int16], b: NDArray[np.int16 | np.int8]
) -> NDArray[np.int16]:
    """``clamp(requant(a @ b))`` with int64 sums; NumPy's own int64 product is exact."""
    left, right = _turned(p.attrs, a.astype(np.int64), b.astype(np.int64))
    acc = left @ right
    scaled = multiply_by_reduced_multiplier(acc, p.mult, p.right)
    return np.asarray(np.clip(scaled, INT16_MIN, INT16_MAX), np.int16)


BATCH_MATMUL = OpSpec(
    name="batch_matmul",
    attrs=BatchMatmulAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={
        Form.INT8: IntegerForm(prepare_s8, ref_s8),
        Form.INT16X8: IntegerForm(prepare_s16, ref_s16),
    },
    macs=macs,
)
