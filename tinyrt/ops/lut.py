"""One-input int8 ops as tables of 256 entries, computed before the first inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyrt.fixedpoint import (
    INT8_MAX,
    INT8_MIN,
    input_radius,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from tinyrt.ir import TensorType, Value
from tinyrt.ops.shapes import check_float_or_s8, operand
from tinyrt.ops.spec import qparams

INPUT_INTEGER_BITS = 4
"""Integer bits of the fixed-point argument of logistic and tanh."""


@dataclass(frozen=True, slots=True)
class LutS8:
    """What the integer kernel knows beforehand: its answer to every input.

    Attributes:
        table: int8[256]; entry ``i`` answers the input whose byte, read as unsigned, is ``i``.

    """

    table: NDArray[np.int8]

    @classmethod
    def of(cls, outputs: ArrayLike) -> LutS8:
        """The table of outputs given in the order of ``input_values``, saturated to int8."""
        saturated = np.clip(np.asarray(outputs), INT8_MIN, INT8_MAX).astype(np.int8)
        return cls(np.roll(saturated, INT8_MIN))

    def lookup(self, x: NDArray[np.int8]) -> NDArray[np.int8]:
        """The answers to ``x``, of the same shape."""
        return self.table[x.view(np.uint8)]


def lut_s8(p: LutS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """The integer specification of every op with a table."""
    return p.lookup(x)


def infer_unary(attrs: Any, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """float32 or int8 of any shape -> the same."""
    del attrs
    x = operand(inputs, 0, "input")
    check_float_or_s8(x, "the op")
    return (x,)


def input_values() -> NDArray[np.int64]:
    """Every int8 value, in ascending order."""
    return np.arange(INT8_MIN, INT8_MAX + 1, dtype=np.int64)


def rescale(x: NDArray[np.int64], mult: int, shift: int) -> NDArray[np.int64]:
    """``x * mult * 2**(shift - 31)``, rounded twice."""
    return multiply_by_quantized_multiplier(x, mult, shift)


def fixed_point_inputs(x: Value) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arguments of logistic and tanh for every int8 value, in ascending order.

    Returns:
        The arguments in Q4, raw int32, and -1, 0 or 1 where the argument lies below, inside or
        above the range that Q4 holds (an argument outside is given as 0).

    """
    scale, zp = qparams(x)
    mult, shift = quantize_multiplier(float(scale) * 2.0 ** (31 - INPUT_INTEGER_BITS))
    radius = input_radius(INPUT_INTEGER_BITS, shift)
    centred = input_values() - zp
    side = np.where(centred <= -radius, -1, np.where(centred >= radius, 1, 0))
    inside = np.where(side == 0, centred, 0)
    return rescale(inside, mult, shift), side
