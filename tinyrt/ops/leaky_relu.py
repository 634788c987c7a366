"""leaky_relu: x where it is positive, ``alpha * x`` elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.emit import emit_lut
from tinyrt.ops.function import constant
from tinyrt.ops.lut import LutS8, infer_unary, input_values, lut_s8, rescale
from tinyrt.ops.requant import multiplier
from tinyrt.ops.spec import Array, OpSpec, Quant, qparams, require_s8
from tinyrt.ops.sweep import elementwise


@dataclass(frozen=True, slots=True)
class LeakyReluAttrs:
    """TFLite's LeakyReluOptions: the slope of the negative side, a float32."""

    alpha: float = 0.2


def infer(attrs: LeakyReluAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 of any shape -> the same."""
    if not np.isfinite(attrs.alpha):
        raise ShapeError(f"leaky_relu with alpha {attrs.alpha}", expected="a number")
    return infer_unary(attrs, inputs)


def _slopes(attrs: LeakyReluAttrs, x: Array) -> Array:
    return np.asarray(np.where(x > 0, 1, attrs.alpha), x.dtype)


def ref_f32(attrs: LeakyReluAttrs, x: Array) -> Array:
    """``x if x > 0 else alpha * x``."""
    return np.asarray(x * _slopes(attrs, x))


def vjp(
    attrs: LeakyReluAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array | None, ...]:
    """Gradient of x: times the slope of its side."""
    del output
    return (grad * _slopes(attrs, constant(inputs[0])),)


def prepare_s8(node: BoundNode) -> LutS8:
    """``requant(x - x_zp) + y_zp`` for every int8 value, with a multiplier for each side."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    alpha = np.float32(node.attrs.alpha)
    if alpha < 0:
        raise VerifyError(
            f"alpha is {alpha}", expected="0 or more in int8", hint="keep this op in float"
        )
    ratio = float(x_scale) / float(y_scale)
    negative = float(np.float32(x_scale * alpha)) / float(y_scale)
    centred = input_values() - x_zp
    outputs = np.where(
        centred >= 0,
        rescale(centred, *multiplier(ratio)),
        rescale(centred, *multiplier(negative)),
    )
    return LutS8.of(outputs + y_zp)


LEAKY_RELU = OpSpec(
    name="leaky_relu",
    attrs=LeakyReluAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.OWN_RANGE,
    sweep=elementwise,
    ref_f32=ref_f32,
    vjp=vjp,
    prepare_s8=prepare_s8,
    ref_s8=lut_s8,
    emit_c=emit_lut,
)
