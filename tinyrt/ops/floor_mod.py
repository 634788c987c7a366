"""floor_mod: element-wise remainder with the divisor's sign, broadcasting, in float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath.function import Gradient, constant
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import infer_binary, sum_to
from tinyrt.ops.shared.spec import Array, NoAttrs, OpSpec, Quant
from tinyrt.ops.shared.traits import TABLE_BY_A_NUMBER, Traits

TAKEN = (DType.FLOAT32, DType.INT32, DType.INT64)


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype, float32 or places and sizes -> their broadcast shape."""
    del attrs
    (y,) = infer_binary(inputs)
    if y.dtype not in TAKEN:
        raise ShapeError(f"inputs are {y.dtype.short}", expected=", ".join(d.short for d in TAKEN))
    return (y,)


def ref_f32(attrs: NoAttrs, a: Array, b: Array) -> Array:
    """``a - floor(a / b) * b``, without rounding; where b is 0, NaN, or 0 of integers.

    A remainder of zero has the dividend's sign, as in TFLM.
    """
    del attrs
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.fmod(a, b)
    return np.asarray(np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest))


def vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradients of dividend and divisor: 1 and ``-floor(a / b)``."""
    del attrs, output
    a, b = inputs
    whole = np.floor(constant(a) / constant(b))
    return lambda: sum_to(grad, a.shape), lambda: sum_to(grad * -whole, b.shape)


FLOOR_MOD = OpSpec(
    name="floor_mod",
    attrs=NoAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.BY_TABLE,
    ref_f32=ref_f32,
    vjp=vjp,
    traits=Traits(
        elementwise=True,
        not_in_integers=TABLE_BY_A_NUMBER,
    ),
)
