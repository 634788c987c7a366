"""One-input int8 ops as tables of 256 entries, computed before the first inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.errors import ShapeError
from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    input_radius,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from tinyrt.floatmath import elementary
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.shapes import check_computable, operand
from tinyrt.ops.shared.spec import (
    Array,
    AttrsT,
    Form,
    IntegerForm,
    OpSpec,
    Quant,
    Vjp,
    qparams,
    require_s8,
)
from tinyrt.ops.shared.traits import NO_TRAITS, Traits

INPUT_INTEGER_BITS = 4
"""Integer bits of the fixed-point argument of logistic and tanh."""


@dataclass(frozen=True, slots=True)
class LutS8:
    """Lookup table of an op with one int8 input.

    Attributes:
        table: int8[256]; entry ``i`` is the output for the input whose byte, as uint8, is ``i``.
        signed: whether the outputs are int8; otherwise the entries are bytes of uint8 outputs.

    """

    table: NDArray[np.int8]
    signed: bool = True

    @classmethod
    def of(cls, outputs: ArrayLike) -> LutS8:
        """The table of outputs given in the order of ``input_values``, saturated to int8."""
        saturated = np.clip(np.asarray(outputs), INT8_MIN, INT8_MAX).astype(np.int8)
        return cls(np.roll(saturated, INT8_MIN))

    def lookup(self, x: NDArray[Any]) -> NDArray[Any]:
        """The outputs for ``x``, in the shape of ``x``."""
        entries = self.table[x.view(np.uint8)]
        return entries if self.signed else entries.view(np.uint8)


def lut_s8(p: LutS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """The integer reference kernel of every op with a lookup table."""
    return p.lookup(x)


def infer_unary(attrs: Any, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 of any shape -> the same."""
    del attrs
    x = operand(inputs, 0, "input")
    check_computable(x, "the op")
    return (x,)


def infer_float(attrs: Any, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 of any shape -> the same."""
    del attrs
    x = operand(inputs, 0, "input")
    if x.dtype is not DType.FLOAT32:
        raise ShapeError(f"input is {x}", expected="float32: the op has no integer form")
    return (x,)


def input_values() -> NDArray[np.int64]:
    """Every int8 value, in ascending order."""
    return np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64)


def rescale(x: NDArray[np.int64], mult: ArrayLike, shift: ArrayLike) -> NDArray[np.int64]:
    """``x * mult * 2**(shift - 31)``, rounded twice."""
    return multiply_by_quantized_multiplier(x, mult, shift)


def fixed_point_inputs(x: Value) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arguments of logistic and tanh for every int8 value, in ascending order.

    Returns:
        The arguments as raw int32 in Q4, and for each argument -1, 0 or 1: it lies below, inside or
        above the range of Q4. An argument outside that range is 0 in the first array.

    """
    scale, zp = qparams(x)
    mult, shift = quantize_multiplier(float(scale) * 2.0 ** (31 - INPUT_INTEGER_BITS))
    radius = input_radius(INPUT_INTEGER_BITS, shift)
    centred = input_values() - zp
    side = np.where(centred <= -radius, -1, np.where(centred >= radius, 1, 0))
    inside = np.where(side == 0, centred, 0)
    return rescale(inside, mult, shift), side


def float_table(
    node: BoundNode, function: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> LutS8:
    """The lookup table of an op whose table TFLite computes in float32.

    ``round(function(scale * (x - zp)) * (1 / y_scale)) + y_zp``, each step rounded to float32,
    halves away from zero.
    """
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    real = x_scale * (input_values() - x_zp).astype(np.float32)
    with np.errstate(all="ignore"):
        steps = function(real).astype(np.float32) * (np.float32(1) / y_scale)
    steps = np.nan_to_num(steps.astype(np.float64), nan=0.0, posinf=1e6, neginf=-1e6)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    return LutS8.of(np.clip(rounded, -1e6, 1e6).astype(np.int64) + y_zp)


def exp_f32(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """``exp(x)`` rounded to the nearest float32, as C libraries do too, except in rare cases."""
    return np.asarray(elementary.exp(x), np.float32)


def table_op(
    name: str,
    attrs: type[AttrsT],
    *,
    ref_f32: Callable[[AttrsT, Array], Array],
    vjp: Vjp[AttrsT],
    prepare: Callable[[BoundNode], LutS8],
    wide: IntegerForm[Any] | None = None,
    traits: Traits = NO_TRAITS,
) -> OpSpec[AttrsT]:
    """The record of an op with one input, whose int8 form is the table from ``prepare``.

    ``wide`` is its form on int16, if it has one. The other fields are as in ``OpSpec``.
    """
    return OpSpec(
        name=name,
        attrs=attrs,
        arity=(1, 1),
        infer=infer_unary,
        quant=Quant.OWN_RANGE,
        ref_f32=ref_f32,
        vjp=vjp,
        forms={Form.INT8: IntegerForm(prepare, lut_s8)} | ({Form.INT16X8: wide} if wide else {}),
        traits=traits,
    )


def float_op(
    name: str,
    attrs: type[AttrsT],
    *,
    ref_f32: Callable[[AttrsT, Array], Array],
    vjp: Vjp[AttrsT],
    traits: Traits = NO_TRAITS,
) -> OpSpec[AttrsT]:
    """The record of a float op with one input; it is quantised only as a step of ``pointwise``."""
    return OpSpec(
        name=name,
        attrs=attrs,
        arity=(1, 1),
        infer=infer_float,
        quant=Quant.BY_TABLE,
        ref_f32=ref_f32,
        vjp=vjp,
        traits=traits,
    )
