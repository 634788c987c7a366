"""What tensors do beyond the op table: constant powers, indexing, and variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.floatmath import elementary
from tinyrt.floatmath.function import linear_pair
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.train.core.function import Array, Function, Gradient

Operand = TypeVar("Operand")
POWERS_IN_TABLE = {e: (op, NoAttrs()) for e, op in ((2, "square"), (0.5, "sqrt"), (-0.5, "rsqrt"))}


def _power(exponent: float, x: Array) -> Array:
    return np.asarray(x * x) if exponent == 2 else elementary.power(x, exponent)


def _power_vjp(
    exponent: float, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    del output
    if exponent == 0:
        return (None,)
    return (grad * exponent * (inputs[0] if exponent == 2 else POWER(exponent - 1, inputs[0])),)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What ``x[index]`` selects of an array of that shape."""

    index: Any
    shape: tuple[int, ...]

    @property
    def parts(self) -> tuple[Any, ...]:
        """The index by dimensions."""
        return self.index if isinstance(self.index, tuple) else (self.index,)

    @property
    def is_view(self) -> bool:
        """Whether no element is selected twice, so that the selection is a view."""
        return all(
            isinstance(i, int | np.integer | slice | type(None) | type(...)) for i in self.parts
        )


def _select(selection: Selection, x: Array) -> Array:
    return np.asarray(x[selection.index])


def _place(selection: Selection, grad: Array) -> Array:
    """Zeros but for the selected elements; one that is selected twice gets the sum."""
    placed = np.zeros(selection.shape, grad.dtype)
    if selection.is_view:
        placed[selection.index] = grad
    else:
        np.add.at(placed, selection.index, grad)
    return placed


def _select_deployed(selection: Selection) -> tuple[str, SliceAttrs] | None:
    """A slice, where the index consists of whole numbers and slices."""
    parts, rank = selection.parts, len(selection.shape)
    if not selection.is_view or any(i is None for i in parts):
        return None
    at = parts.index(...) if ... in parts else len(parts)
    inner = (slice(None),) * (rank - len(parts[:at]) - len(parts[at + 1 :]))
    whole = (*parts[:at], *inner, *parts[at + 1 :])
    ranges = [
        range(d)[i] if isinstance(i, slice) else range(i % d, i % d + 1)
        for i, d in zip(whole, selection.shape, strict=True)
    ]
    dropped = tuple(axis for axis, i in enumerate(whole) if not isinstance(i, slice))
    begin, size, strides = zip(*((r.start, len(r), r.step) for r in ranges), strict=True)
    return "slice", SliceAttrs(begin, size, strides, dropped)


POWER = Function("power", _power, _power_vjp, deployed=POWERS_IN_TABLE.get)
SELECT = replace(linear_pair("select", _select, _place)[0], deployed=_select_deployed)


def integers(values: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers given one by one, or as one tuple."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def is_numbers(other: object) -> bool:
    """Whether a tensor is compared with it by its elements."""
    plain = isinstance(other, np.ndarray | np.generic | int | float | list | tuple)
    return plain or hasattr(other, "operand")


def axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """The dimensions that are meant, all of that many for None."""
    if axis is None:
        return tuple(range(rank))
    return (axis,) if isinstance(axis, int) else axis


def variance(x: Operand, axis: int | tuple[int, ...] | None, ddof: int, keepdims: bool) -> Operand:
    """Of a tensor, over these dimensions; the sum of squares by ``ddof`` less than the count.

    Raises:
        ShapeError: there are no more elements than ``ddof``.

    """
    of: Any = x
    centred = of - of.mean(axis, keepdims=True)
    total = (centred * centred).sum(axis, keepdims)
    count = of.data.size // total.data.size
    if count <= ddof:
        raise ShapeError(f"the variance of {count} elements", expected=f"more than {ddof}")
    spread: Operand = total * (1 / (count - ddof))
    return spread
