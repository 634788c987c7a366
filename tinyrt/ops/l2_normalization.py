"""l2_normalization: rows of length 1, along the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, inverse_root, multiply_by_quantized_multiplier
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    qparams,
    require_fixed,
    require_s8,
)

FIXED_OUTPUT = (1 / 128, 0)
OUTPUT_BITS = 7
MIN_NORM = 1e-6
"""Least divisor of a row."""
MAX_LENGTH = 33_000
"""Most elements of a row whose sum of squares fits an int32."""


@dataclass(frozen=True, slots=True)
class L2NormalizationAttrs:
    """TFLite's L2NormOptions without an activation.

    Attributes:
        legacy: whether outputs are rounded as LiteRT does on uint8. Files have no field for it, but
            an entry of their metadata.

    """

    legacy: bool = False


@dataclass(frozen=True, slots=True)
class L2NormalizationS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        x_zp: the input's zero point.
        early_bits: by how many of ``OUTPUT_BITS`` inputs go up before they are multiplied; by the
            others the multiplier does.

    """

    x_zp: int
    early_bits: int


def infer(
    attrs: L2NormalizationAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """(..., n), float32 or int8 -> the same."""
    del attrs
    x = operand(inputs, 0, "input")
    if x.dtype not in (DType.FLOAT32, DType.INT8) or not x.shape:
        raise ShapeError(f"input is {x}", expected="float32 or int8, of at least one dimension")
    return (x,)


def ref_f32(attrs: L2NormalizationAttrs, x: Array) -> Array:
    """``x / max(sqrt(sum(x**2)), 1e-6)``."""
    del attrs
    norm = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return np.asarray(x / np.maximum(norm, x.dtype.type(MIN_NORM)))


def vjp(
    attrs: L2NormalizationAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradient of x: the component of ``grad`` orthogonal to the output, divided by the norm."""
    del attrs
    norm = ((inputs[0] * inputs[0]).sum(-1, keepdims=True) + MIN_NORM**2) ** 0.5
    return ((grad - output * (grad * output).sum(-1, keepdims=True)) / norm,)


def prepare_s8(node: BoundNode) -> L2NormalizationS8:
    """The input's zero point; its scale does not matter."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    require_fixed(y, FIXED_OUTPUT)
    if x.shape[-1] > MAX_LENGTH:
        raise VerifyError(
            f"rows of {x.shape[-1]} elements",
            tensor=x.describe(),
            expected=f"at most {MAX_LENGTH}: their squares are summed in 32 bits",
        )
    legacy = node.attrs_as(L2NormalizationAttrs).legacy
    return L2NormalizationS8(qparams(x)[1], OUTPUT_BITS if legacy else 0)


def ref_s8(p: L2NormalizationS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """``(x - x_zp)`` times the fixed-point inverse root of their squares' sum."""
    rows = x.reshape(-1, x.shape[-1]).astype(np.int64) - p.x_zp
    roots = [inverse_root(int(n)) for n in (rows * rows).sum(axis=1)]
    mult, shift = np.array(roots, np.int64).T[:, :, None]
    late_bits = OUTPUT_BITS - p.early_bits
    y = multiply_by_quantized_multiplier(rows << p.early_bits, mult, shift + late_bits)
    return np.clip(y, INT8_MIN, INT8_MAX).astype(np.int8).reshape(x.shape)


L2_NORMALIZATION = OpSpec(
    name="l2_normalization",
    attrs=L2NormalizationAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.FIXED,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8, FIXED_OUTPUT)},
)
