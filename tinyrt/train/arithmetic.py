"""Arithmetic that training needs and the op table does not have, on arrays of any float dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ops.function import linear_pair
from tinyrt.ops.shapes import REPEAT, broadcast, sum_to
from tinyrt.ops.spec import NoAttrs
from tinyrt.train.function import Array, Function, Gradient


def _div(attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    broadcast(a.shape, b.shape)
    return a / b


def _div_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``d(a / b) = da / b - (a / b) db / b``, summed over what broadcasting repeated."""
    del attrs
    a, b = inputs
    da = grad / b
    return sum_to(da, a.shape), lambda: sum_to(-da * output, b.shape)


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


@dataclass(frozen=True, slots=True)
class SumAttrs:
    """Dimensions to sum over (None: all), and whether they stay, with size 1."""

    axes: tuple[int, ...] | None = None
    keep_dims: bool = False


def _sum(attrs: SumAttrs, x: Array) -> Array:
    return np.asarray(x.sum(axis=attrs.axes, keepdims=attrs.keep_dims))


def _sum_vjp(
    attrs: SumAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient]:
    """Every element of the input moves its sum by as much as itself."""
    del output
    shape = inputs[0].shape
    summed = range(len(shape)) if attrs.axes is None else [a % len(shape) for a in attrs.axes]
    kept = tuple(1 if i in summed else d for i, d in enumerate(shape))
    return (REPEAT(shape, grad.reshape(kept)),)


def _matmul(attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not multiply",
            expected="(..., m, k) and (..., k, n)",
        )
    broadcast(a.shape[:-2], b.shape[:-2])
    return a @ b


def _matmul_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """``dA = G B^T`` and ``dB = A^T G``, summed over the batches that broadcasting repeated."""
    del attrs, output
    a, b = inputs
    return (
        lambda: sum_to(grad @ _swap_last(b), a.shape),
        lambda: sum_to(_swap_last(a) @ grad, b.shape),
    )


def _swap_last(x: Array) -> Array:
    return x.transpose((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


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


DIV = Function("div", _div, _div_vjp)
POWER = Function("power", _power, _power_vjp)
SUM = Function("sum", _sum, _sum_vjp)
MATMUL = Function("matmul", _matmul, _matmul_vjp)
SELECT, _ = linear_pair("select", _select, _place)
