"""What the ops of TFLM's audio front end share: checks of tensors and of options.

These ops compute on plain integers: samples, energies and counts that stand for themselves, without
scale and zero point.
"""

from __future__ import annotations

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import Inputs, operand
from tinyrt.ops.shared.traits import Traits

INT32_MAX = 2**31 - 1
"""The greatest option: TFLM reads them all as int32."""

SIGNAL = Traits(
    plain_integers=True,
    takes="int",
    not_in_integers="it works on plain integers, whatever the model around it computes in",
)
"""Traits of most of these ops."""

SAMPLES = Traits(
    plain_integers=True,
    takes="f32 int",
    not_in_integers="it takes floats, or plain integers without scales",
)
"""Traits of those that take floats, too."""


def tensor(inputs: Inputs, i: int, name: str, dtype: DType, rank: int | None = None) -> TensorType:
    """Input ``i``, which has that element type and rank.

    Raises:
        ShapeError: it is absent, or of another type or rank.

    """
    x = operand(inputs, i, name, rank)
    if x.dtype is not dtype:
        raise ShapeError(f"{name} is {x}", expected=dtype.value)
    return x


def require_within(number: int, low: int, high: int, name: str) -> None:
    """Raise ``ShapeError`` unless an option lies between two limits, these included."""
    if not low <= number <= high:
        raise ShapeError(f"{name} is {number}", expected=f"{low} to {high}")


def require_states(
    inputs: Inputs, first: int, kept: tuple[TensorType, ...]
) -> tuple[TensorType, ...]:
    """The inputs from ``first`` on, which are what the op keeps from run to run.

    Raises:
        ShapeError: one has another type than it should have.

    """
    found = tuple(operand(inputs, first + i, "state") for i in range(len(kept)))
    for state, expected in zip(found, kept, strict=True):
        if state != expected:
            raise ShapeError(f"state is {state}", expected=str(expected))
    return found


def require_shape(x: TensorType, shape: tuple[int, ...], name: str) -> None:
    """Raise ``ShapeError`` unless a tensor has that shape."""
    if x.shape != shape:
        raise ShapeError(f"{name} is {x}", expected=f"the shape {list(shape)}")
