"""signal_window: frames of samples, multiplied with the weights of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import size_of
from tinyrt.ops.shared.signal import SIGNAL, require_within, tensor
from tinyrt.ops.shared.spec import OpSpec, Quant


@dataclass(frozen=True, slots=True)
class SignalWindowAttrs:
    """TFLM's options of SignalWindow.

    Attributes:
        shift: fraction bits of the weights.

    """

    shift: int = 0


def infer(attrs: SignalWindowAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """int16 (..., n), weights int16 (w,) that fit in a whole number of times -> int16 (..., n)."""
    require_within(attrs.shift, 0, 31, "shift")
    x = tensor(inputs, 0, "input", DType.INT16)
    weights = tensor(inputs, 1, "weights", DType.INT16, 1)
    if not x.shape or size_of(x.shape) % weights.shape[0]:
        raise ShapeError(
            f"input {x}, weights {weights}", expected="as many samples as weights, or a multiple"
        )
    return (x,)


def ref(
    attrs: SignalWindowAttrs, x: NDArray[np.int16], weights: NDArray[np.int16]
) -> NDArray[np.int16]:
    """``x * weights >> shift``, saturated."""
    products = x.reshape(-1, len(weights)).astype(np.int32) * weights >> attrs.shift
    limits = np.iinfo(np.int16)
    limited = np.clip(products, limits.min, limits.max)
    return np.asarray(limited.astype(np.int16).reshape(x.shape))


SIGNAL_WINDOW = OpSpec(
    name="signal_window",
    attrs=SignalWindowAttrs,
    arity=(2, 2),
    infer=infer,
    quant=Quant.PLAIN,
    ref_f32=ref,
    traits=SIGNAL,
)
