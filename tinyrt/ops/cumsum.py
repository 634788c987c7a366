"""cumsum: running sums along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.fixedpoint import INT8_MAX, INT8_MIN, multiply_by_quantized_multiplier
from tinyrt.floatmath.function import Array, Gradient, linear_pair
from tinyrt.ir import BoundNode, TensorType
from tinyrt.ops.add import HALF, LEFT_SHIFT
from tinyrt.ops.shared.requant import multiplier
from tinyrt.ops.shared.shapes import axis_of, check_computable, operand
from tinyrt.ops.shared.spec import Form, IntegerForm, OpSpec, Quant, qparams, require_s8
from tinyrt.ops.shared.traits import Dims, Traits


@dataclass(frozen=True, slots=True)
class CumsumAttrs:
    """TFLite's CumsumOptions with its axis; negative ones count from the end."""

    axis: int
    exclusive: bool = False
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class CumsumS8:
    """Precomputed constants of the integer kernel.

    Attributes:
        attrs: the op's attributes.
        x_zp: the input's zero point.
        y_zp: the output's zero point.
        mult: mantissa that brings sums to the output's scale.
        shift: its exponent, at most 0.

    """

    attrs: CumsumAttrs
    x_zp: int
    y_zp: int
    mult: int
    shift: int


def infer(attrs: CumsumAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 -> the same."""
    x = operand(inputs, 0, "input")
    check_computable(x, "cumsum")
    axis_of(attrs.axis, len(x.shape))
    return (x,)


def ref_f32(attrs: CumsumAttrs, x: Array) -> Array:
    """The sum of each element and all elements before it; without the element if ``exclusive``."""
    axis = axis_of(attrs.axis, x.ndim)
    ordered = np.flip(x, axis) if attrs.reverse else x
    sums = np.cumsum(ordered, axis, dtype=x.dtype)
    if attrs.exclusive:
        first = np.zeros_like(np.take(sums, [0], axis))
        sums = np.concatenate([first, np.delete(sums, -1, axis)], axis)
    return np.ascontiguousarray(np.flip(sums, axis) if attrs.reverse else sums)


def _adjoint(attrs: CumsumAttrs, grad: Array) -> Array:
    return ref_f32(CumsumAttrs(attrs.axis, attrs.exclusive, not attrs.reverse), grad)


_CUMSUM, _BACK = linear_pair("cumsum", ref_f32, _adjoint)


def vjp(
    attrs: CumsumAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """Gradient of x: running sums in the opposite direction."""
    del inputs, output
    return (_BACK(attrs, grad),)


def prepare_s8(node: BoundNode) -> CumsumS8:
    """Multiplier from twice the input's scale, raised as in add, to the output's."""
    x, y = node.input(0), node.output
    require_s8(x, y)
    (x_scale, x_zp), (y_scale, y_zp) = qparams(x), qparams(y)
    real = 2 * float(x_scale) / (2.0**LEFT_SHIFT * float(y_scale))
    return CumsumS8(node.attrs_as(CumsumAttrs), x_zp, y_zp, *multiplier(real, most=1.0))


def ref_s8(p: CumsumS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """``clamp(requant(sum of rescale(x - x_zp)) + y_zp)``; sums start at ``rescale(-x_zp)``.

    TFLM starts its sums there too. If the zero point is not 0, this shifts all outputs.
    """
    mult, shift = HALF
    raised = (x.astype(np.int64) - p.x_zp) << LEFT_SHIFT
    start = multiply_by_quantized_multiplier(np.array(-p.x_zp << LEFT_SHIFT), mult, shift)
    sums = ref_f32(p.attrs, multiply_by_quantized_multiplier(raised, mult, shift)) + start
    # The accumulator has 32 bits.
    wrapped = sums.astype(np.int64).astype(np.int32).astype(np.int64)
    scaled = multiply_by_quantized_multiplier(wrapped, p.mult, p.shift)
    return np.asarray(np.clip(scaled + p.y_zp, INT8_MIN, INT8_MAX), np.int8)


CUMSUM = OpSpec(
    name="cumsum",
    attrs=CumsumAttrs,
    arity=(1, 1),
    infer=infer,
    quant=Quant.OWN_RANGE,
    ref_f32=ref_f32,
    vjp=vjp,
    forms={Form.INT8: IntegerForm(prepare_s8, ref_s8)},
    traits=Traits(dims={"axis": Dims.AXIS}),
)
