"""equal, not_equal, less, less_equal, greater, greater_equal: of two tensors, broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import multiply_by_quantized_multiplier, quantize_multiplier
from tinyrt.floatmath.function import no_gradient
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.shapes import infer_binary
from tinyrt.ops.shared.spec import (
    Array,
    Form,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    limits_of,
    no_rows,
    qparams,
    require_alike,
)
from tinyrt.ops.shared.traits import Traits

COMPARABLE = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)

LEFT_SHIFT = 8
"""Left shift of centred inputs in bits, before they are rescaled: to steps of 1/256."""

ACCEPTED = {
    "equal": 0b0010,
    "not_equal": 0b1101,
    "less": 0b0001,
    "less_equal": 0b0011,
    "greater": 0b0100,
    "greater_equal": 0b0110,
}
"""Comparison -> the orders that make it true; bits 0 to 3: less, equal, greater, unordered."""

BY_STORED_VALUE = ("less", "less_equal", "greater", "greater_equal")
"""Comparisons for which LiteRT compares raw int16 values and ignores their scales."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Precomputed constants of the integer kernels.

    Attributes:
        zps: both inputs' zero points.
        mults: mantissas of both scales.
        shifts: their exponents.
        stored: whether comparing raw values gives the same as comparing rescaled values. It does
            if both inputs have the same parameters and rescaling keeps different values apart.

    """

    zps: tuple[int, int]
    mults: tuple[int, int]
    shifts: tuple[int, int]
    stored: bool

    def rescaled(self, i: int, x: Array) -> NDArray[np.int64]:
        """``scale * (x - zp)`` of input ``i`` in steps of 1/256, rounded twice as TFLite does."""
        raised = (x.astype(np.int64) - self.zps[i]) << LEFT_SHIFT
        return multiply_by_quantized_multiplier(raised, self.mults[i], self.shifts[i])


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> truth values of their broadcast shape."""
    del attrs
    (y,) = infer_binary(inputs)
    if y.dtype not in COMPARABLE:
        allowed = ", ".join(dtype.value for dtype in COMPARABLE)
        raise ShapeError(f"inputs are {y.dtype.short}", expected=allowed)
    return (TensorType(DType.BOOL, y.shape),)


def prepare(node: BoundNode) -> Compared:
    """A multiplier for each input's scale; it must be below 1, as in TFLite."""
    a, b = node.input(0), node.input(1)
    require_alike(a, b)
    (a_scale, a_zp), (b_scale, b_zp) = qparams(a), qparams(b)
    (a_mult, a_shift), (b_mult, b_shift) = _multiplier(a), _multiplier(b)
    record = Compared((a_zp, b_zp), (a_mult, b_mult), (a_shift, b_shift), False)
    if (a_scale, a_zp) != (b_scale, b_zp):
        return record
    low, high = limits_of(a.dtype)
    rising = bool(np.all(np.diff(record.rescaled(0, np.arange(low, high + 1))) > 0))
    return Compared(record.zps, record.mults, record.shifts, rising)


def _multiplier(x: Value) -> tuple[int, int]:
    scale = float(qparams(x)[0])
    if not scale < 1:
        raise VerifyError(
            f"scale {scale:.6g}",
            tensor=x.describe(),
            expected="below 1: TFLite's comparisons have no greater multiplier",
            hint="divide both inputs by one power of two first",
        )
    return quantize_multiplier(scale)


def prepare_stored(node: BoundNode) -> Compared:
    """Checks that both inputs share their parameters: raw int16 values are compared."""
    a, b = node.input(0), node.input(1)
    require_alike(a, b)
    if qparams(a) != qparams(b):
        raise VerifyError(
            f"scales {qparams(a)[0]} and {qparams(b)[0]}",
            tensor=b.describe(),
            expected=f"those of {a.describe()}: {node.op} compares int16 values as they are stored",
            hint="quantise both inputs alike",
        )
    return Compared((0, 0), (0, 0), (0, 0), True)


def _ref_f32(function: Any, attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    return np.asarray(function(a, b))


def ref(function: Any, p: Compared, a: Array, b: Array) -> Array:
    """The comparison of rescaled values."""
    if p.stored:
        return np.asarray(function(a, b))
    return np.asarray(function(p.rescaled(0, a), p.rescaled(1, b)))


def _spec(name: str) -> OpSpec[NoAttrs]:
    function: Callable[..., Any] = getattr(np, name)
    prepare_s16 = prepare_stored if name in BY_STORED_VALUE else prepare
    return OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(2, 2),
        infer=infer,
        quant=Quant.INPUTS_ONLY,
        vjp=no_gradient,
        ref_f32=partial(_ref_f32, function),
        forms={
            Form.INT8: IntegerForm(prepare, partial(ref, function)),
            Form.INT16X8: IntegerForm(prepare_s16, partial(ref, function)),
        },
        rows=no_rows,
        traits=Traits(elementwise=True, truth=True),
    )


EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = map(_spec, ACCEPTED)
