"""batch_matmul: products of matrices that are both computed, in float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.function import Function, Gradient
from tinyrt.ops.shapes import broadcast, operand, sum_to
from tinyrt.ops.spec import Array, OpSpec, Quant


@dataclass(frozen=True, slots=True)
class BatchMatmulAttrs:
    """TFLite's BatchMatMulOptions: which operands are transposed."""

    adj_x: bool = False
    adj_y: bool = False


def infer(attrs: BatchMatmulAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(..., m, k) and (..., k, n) -> (..., m, n); leading dimensions broadcast."""
    a, b = operand(inputs, 0, "the first input"), operand(inputs, 1, "the second input")
    if min(len(a.shape), len(b.shape)) < 2 or {a.dtype, b.dtype} != {DType.FLOAT32}:
        raise ShapeError(f"inputs are {a} and {b}", expected="float32, two dimensions or more")
    m, k = a.shape[-2:][::-1] if attrs.adj_x else a.shape[-2:]
    rows, n = b.shape[-2:][::-1] if attrs.adj_y else b.shape[-2:]
    if k != rows:
        raise ShapeError(f"{a} and {b} do not multiply", expected="(..., m, k) and (..., k, n)")
    return (TensorType(a.dtype, (*broadcast(a.shape[:-2], b.shape[:-2]), m, n)),)


def ref_f32(attrs: BatchMatmulAttrs, a: Array, b: Array) -> Array:
    """``a @ b`` for each matrix."""
    left = a.swapaxes(-1, -2) if attrs.adj_x else a
    right = b.swapaxes(-1, -2) if attrs.adj_y else b
    return np.asarray(left @ right)


def vjp(
    attrs: BatchMatmulAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``dA = G B^T`` and ``dB = A^T G``, with operands exchanged where one is transposed."""
    del output
    a, b = inputs
    x, y = attrs.adj_x, attrs.adj_y

    def of_a() -> Array:
        product = _product(b, grad, y, True) if x else _product(grad, b, False, not y)
        return sum_to(product, tuple(a.shape))

    def of_b() -> Array:
        product = _product(grad, a, True, x) if y else _product(a, grad, not x, False)
        return sum_to(product, tuple(b.shape))

    return of_a, of_b


def _product(a: Array, b: Array, adj_x: bool, adj_y: bool) -> Array:
    result: Array = _MATMUL(BatchMatmulAttrs(adj_x, adj_y), a, b)
    return result


_MATMUL = Function("batch_matmul", ref_f32, vjp)


def macs(node: BoundNode) -> int:
    """Elements of the output times the length of a row."""
    k = node.input(0).shape[-2 if node.attrs.adj_x else -1]
    return node.output.size * k


BATCH_MATMUL = OpSpec(
    name="batch_matmul",
    attrs=BatchMatmulAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    vjp=vjp,
    macs=macs,
)
