"""Arithmetic that training needs and the op table does not have, on arrays of any float dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import ShapeError
from tinyrt.ops.shapes import broadcast, sum_to
from tinyrt.ops.spec import Array, NoAttrs
from tinyrt.train.function import Function


def _div(attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    broadcast(a.shape, b.shape)
    return a / b


def _div_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    """``d(a / b) = da / b - (a / b) db / b``, summed over what broadcasting repeated."""
    del attrs
    a, b = inputs
    da = grad / b
    return sum_to(da, a.shape), sum_to(-da * output, b.shape)


@dataclass(frozen=True, slots=True)
class PowerAttrs:
    """A constant exponent."""

    exponent: float


def _power(attrs: PowerAttrs, x: Array) -> Array:
    return x**attrs.exponent


def _power_vjp(
    attrs: PowerAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    del output
    return (grad * attrs.exponent * inputs[0] ** (attrs.exponent - 1),)


def _exp(attrs: NoAttrs, x: Array) -> Array:
    del attrs
    return np.exp(x)


def _exp_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    del attrs, inputs
    return (grad * output,)


def _log(attrs: NoAttrs, x: Array) -> Array:
    del attrs
    return np.log(x)


def _log_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    del attrs, output
    return (grad / inputs[0],)


@dataclass(frozen=True, slots=True)
class SumAttrs:
    """Dimensions to sum over (None: all), and whether they stay, with size 1."""

    axes: tuple[int, ...] | None = None
    keep_dims: bool = False


def _sum(attrs: SumAttrs, x: Array) -> Array:
    return np.asarray(x.sum(axis=attrs.axes, keepdims=attrs.keep_dims))


def _sum_vjp(
    attrs: SumAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    """Every element of the input moves its sum by as much as itself."""
    del output
    (x,) = inputs
    if attrs.axes is not None and not attrs.keep_dims:
        grad = np.expand_dims(grad, tuple(a % x.ndim for a in attrs.axes))
    return (np.broadcast_to(grad, x.shape),)


def _matmul(attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not multiply",
            expected="(m, k) and (k, n)",
        )
    return a @ b


def _matmul_vjp(
    attrs: NoAttrs, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Array, ...]:
    del attrs, output
    a, b = inputs
    return grad @ b.T, a.T @ grad


DIV = Function("div", _div, _div_vjp)
POWER = Function("power", _power, _power_vjp)
EXP = Function("exp", _exp, _exp_vjp)
LOG = Function("log", _log, _log_vjp)
SUM = Function("sum", _sum, _sum_vjp)
MATMUL = Function("matmul", _matmul, _matmul_vjp)
