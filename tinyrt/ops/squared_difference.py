"""squared_difference: ``(a - b)**2``, element-wise, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.fixedpoint import multiply_by_quantized_multiplier
from tinyrt.ir import BoundNode, DType, TensorType
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import infer_arithmetic, sum_to
from tinyrt.ops.shared.spec import (
    Array,
    NoAttrs,
    OpSpec,
    Quant,
    both_forms,
    limits_of,
    qparams,
    require_alike,
)
from tinyrt.ops.shared.traits import Traits

LEFT_SHIFT = 7
"""Left shift of centred int8 inputs in bits; the squares still fit 32 bits. int16 has none."""


@dataclass(frozen=True, slots=True)
class SquaredDifferenceS8:
    """Precomputed constants of the integer kernels; fields as in ``AddS8``, for the square."""

    a_zp: int
    a_mult: int
    a_shift: int
    b_zp: int
    b_mult: int
    b_shift: int
    y_mult: int
    y_shift: int
    y_zp: int
    act_min: int
    act_max: int
    left_shift: int = LEFT_SHIFT


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape."""
    del attrs
    return infer_arithmetic(inputs)


def ref_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``(a - b)**2``."""
    del attrs
    return np.asarray((a - b) * (a - b))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of both inputs: ``2 (a - b)``, and its negative."""
    del attrs, output
    a, b = inputs
    da = grad * (a - b) * 2.0
    return sum_to(da, a.shape), sum_to(-da, b.shape)


def prepare(node: BoundNode) -> SquaredDifferenceS8:
    """Multipliers: both inputs are brought to twice the larger of their scales."""
    a, b, y = node.input(0), node.input(1), node.output
    require_alike(a, b, y)
    left_shift = LEFT_SHIFT if y.dtype is DType.INT8 else 0
    (a_scale, a_zp), (b_scale, b_zp), (y_scale, y_zp) = qparams(a), qparams(b), qparams(y)
    common = 2.0 * float(max(a_scale, b_scale))
    return SquaredDifferenceS8(
        a_zp,
        *multiplier(float(a_scale) / common, most=1.0),
        b_zp,
        *multiplier(float(b_scale) / common, most=1.0),
        *multiplier(common * common / (4.0**left_shift * float(y_scale)), most=1.0),
        y_zp,
        *limits_of(y.dtype),
        left_shift,
    )


def ref(p: SquaredDifferenceS8, a: Array, b: Array) -> Array:
    """``clamp(requant((rescale(a - a_zp) - rescale(b - b_zp))**2) + y_zp)``."""
    first, second = (
        multiply_by_quantized_multiplier((x.astype(np.int64) - zp) << p.left_shift, mult, shift)
        for x, zp, mult, shift in (
            (a, p.a_zp, p.a_mult, p.a_shift),
            (b, p.b_zp, p.b_mult, p.b_shift),
        )
    )
    square = (first - second) ** 2
    scaled = multiply_by_quantized_multiplier(square, p.y_mult, p.y_shift)
    return np.asarray(np.clip(scaled + p.y_zp, p.act_min, p.act_max), a.dtype)


SQUARED_DIFFERENCE = OpSpec(
    name="squared_difference",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref),
    traits=Traits(elementwise=True, channelwise=True),
)
