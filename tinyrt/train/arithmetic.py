"""What tensors do beyond the op table: powers with a constant exponent, and indexing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.ops.function import linear_pair
from tinyrt.train.function import Array, Function, Gradient


@dataclass(frozen=True, slots=True)
class PowerAttrs:
    """A constant exponent."""

    exponent: float


def _power(attrs: PowerAttrs, x: Array) -> Array:
    return x**attrs.exponent


def _power_vjp(
    attrs: PowerAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    del output
    if attrs.exponent == 0:
        return (None,)
    return (grad * attrs.exponent * inputs[0] ** (attrs.exponent - 1),)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What ``x[index]`` selects of an array of that shape."""

    index: Any
    shape: tuple[int, ...]


def _select(selection: Selection, x: Array) -> Array:
    return np.asarray(x[selection.index])


def _place(selection: Selection, grad: Array) -> Array:
    """Zeros but for the selected elements; one that is selected twice gets the sum."""
    placed = np.zeros(selection.shape, grad.dtype)
    parts = selection.index if isinstance(selection.index, tuple) else (selection.index,)
    if all(isinstance(i, int | slice | type(None) | type(...)) for i in parts):
        placed[selection.index] = grad
    else:
        np.add.at(placed, selection.index, grad)
    return placed


POWER = Function("power", _power, _power_vjp)
SELECT, _ = linear_pair("select", _select, _place)
