"""div: element-wise quotient, broadcasting, with fused activation, in float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.ir import TensorType
from tinyrt.ops.activation import activate, activation_grad
from tinyrt.ops.function import Gradient
from tinyrt.ops.shapes import infer_float_binary, sum_to
from tinyrt.ops.spec import Array, OpSpec, Quant


@dataclass(frozen=True, slots=True)
class DivAttrs:
    """TFLite's DivOptions."""

    activation: str = "NONE"


def infer(attrs: DivAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two float32 inputs -> their broadcast shape."""
    return infer_float_binary(inputs, attrs.activation)


def ref_f32(attrs: DivAttrs, a: Array, b: Array) -> Array:
    """``activation(a / b)``; infinite or NaN where b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return activate(np.asarray(a / b), attrs.activation)


def vjp(
    attrs: DivAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of both inputs: ``1 / b`` and ``-a / b**2``."""
    a, b = inputs
    da = activation_grad(output, grad, attrs.activation) / b
    return sum_to(da, a.shape), lambda: sum_to(-da * a / b, b.shape)


DIV = OpSpec(
    name="div",
    attrs=DivAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.FLOAT_ONLY,
    ref_f32=ref_f32,
    vjp=vjp,
)
