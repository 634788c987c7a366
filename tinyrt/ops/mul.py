"""mul: element-wise product, broadcasting, with fused activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.fixedpoint import multiply_by_quantized_multiplier
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.shared.activation import act_range, activate, activation_grad
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import infer_arithmetic, sum_to
from tinyrt.ops.shared.spec import Array, OpSpec, Quant, both_forms, qparams, require_alike
from tinyrt.ops.shared.traits import Traits


@dataclass(frozen=True, slots=True)
class MulAttrs:
    """TFLite's MulOptions."""

    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class MulS8:
    """Precomputed constants of the kernel on int8 or int16.

    Attributes:
        a_zp: the first input's zero point.
        b_zp: the second input's zero point.
        mult: mantissa of ``a_scale * b_scale / y_scale``.
        shift: its exponent.
        y_zp: the output's zero point.
        act_min: least output.
        act_max: greatest output.

    """

    a_zp: int
    b_zp: int
    mult: int
    shift: int
    y_zp: int
    act_min: int
    act_max: int


def infer(attrs: MulAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> their broadcast shape."""
    return infer_arithmetic(inputs, attrs.activation)


def ref_f32(attrs: MulAttrs, a: Array, b: Array) -> Array:
    """``activation(a * b)``."""
    return activate(a * b, attrs.activation)


def vjp(
    attrs: MulAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of both inputs."""
    a, b = inputs
    grad = activation_grad(output, grad, attrs.activation)
    return lambda: sum_to(grad * b, a.shape), lambda: sum_to(grad * a, b.shape)


def prepare(node: BoundNode) -> MulS8:
    """Multiplier and clamp of one node."""
    a, b, y = node.input(0), node.input(1), node.output
    require_alike(a, b, y)
    (a_scale, a_zp), (b_scale, b_zp), (y_scale, y_zp) = qparams(a), qparams(b), qparams(y)
    mult, shift = multiplier(float(a_scale) * float(b_scale) / float(y_scale))
    return MulS8(a_zp, b_zp, mult, shift, y_zp, *act_range(node.attrs_as(MulAttrs).activation, y))


def ref_integer(p: MulS8, a: Array, b: Array) -> Array:
    """``clamp(requant((a - a_zp) * (b - b_zp)) + y_zp)``."""
    product = (a.astype(np.int64) - p.a_zp) * (b.astype(np.int64) - p.b_zp)
    scaled = multiply_by_quantized_multiplier(product, p.mult, p.shift)
    return np.asarray(np.clip(scaled + p.y_zp, p.act_min, p.act_max), a.dtype)


MUL = OpSpec(
    name="mul",
    attrs=MulAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms=both_forms(prepare, ref_integer),
    traits=Traits(elementwise=True, channelwise=True, fuses=True),
)
