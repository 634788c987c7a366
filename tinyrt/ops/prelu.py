"""prelu: x where it is positive, ``alpha * x`` elsewhere, with slopes that broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, multiply_by_quantized_multiplier
from tinyrt.floatmath.function import constant
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import check_computable, infer_binary, operand, sum_to
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    qparams,
    require_s8,
)
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class PreluS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        x_zp: the input's zero point.
        alpha_zp: the slopes' zero point.
        pos_mult: mantissa of ``x_scale / y_scale``.
        pos_shift: its exponent.
        neg_mult: mantissa of ``x_scale * alpha_scale / y_scale``.
        neg_shift: its exponent.
        y_zp: the output's zero point.

    """

    x_zp: int
    alpha_zp: int
    pos_mult: int
    pos_shift: int
    neg_mult: int
    neg_shift: int
    y_zp: int


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """The input, and slopes that broadcast to its shape -> that shape."""
    del attrs
    x = operand(inputs, 0, "input")
    check_computable(x, "prelu")
    (y,) = infer_binary(inputs)
    if y != x:
        raise ShapeError(f"slopes {inputs[1]} for {x}", expected="slopes that broadcast to it")
    return (y,)


def ref_f32(attrs: NoAttrs, x: Array, alpha: Array) -> Array:
    """``x if x >= 0 else alpha * x``."""
    del attrs
    return np.asarray(np.where(x >= 0, x, x * alpha))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradients of x and the slopes."""
    del attrs, output
    x, alpha = inputs
    positive = constant(x) >= 0
    falling = grad * ~positive
    return grad * positive + falling * alpha, sum_to(falling * x, alpha.shape)


def prepare_s8(node: BoundNode) -> PreluS8:
    """A multiplier for each side, from scales in float64; in float32 if slopes were uint8."""
    x, alpha, y = node.input(0), node.input(1), node.output
    require_s8(x, alpha, y)
    (x_scale, x_zp), (a_scale, a_zp), (y_scale, y_zp) = qparams(x), qparams(alpha), qparams(y)
    in_f32 = alpha.q is not None and alpha.q.product_f32
    scales = np.array([x_scale, a_scale, y_scale], np.float32 if in_f32 else np.float64)
    with np.errstate(over="ignore"):
        above, below = scales[0] / scales[2], scales[0] * scales[1] / scales[2]
    return PreluS8(x_zp, a_zp, *multiplier(float(above)), *multiplier(float(below)), y_zp)


def ref_s8(p: PreluS8, x: NDArray[np.int8], alpha: NDArray[np.int8]) -> NDArray[np.int8]:
    """``clamp(requant(x - x_zp) + y_zp)``, times ``alpha - alpha_zp`` on the negative side."""
    centred = x.astype(np.int64) - p.x_zp
    scaled = np.where(
        centred >= 0,
        multiply_by_quantized_multiplier(centred, p.pos_mult, p.pos_shift),
        multiply_by_quantized_multiplier(
            centred * (alpha.astype(np.int64) - p.alpha_zp), p.neg_mult, p.neg_shift
        ),
    )
    return np.asarray(np.clip(scaled + p.y_zp, INT8_MIN, INT8_MAX), np.int8)


PRELU = OpSpec(
    name="prelu",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8)},
    traits=Traits(elementwise=True, channelwise=True),
)
