"""Differentiable functions of arrays and tensors.

A vector-Jacobian product is written once and serves every order of differentiation. It uses only
operators, methods that arrays and tensors have under the same name (``reshape``, ``transpose``,
``sum``, slicing), and calls of a ``Function``. Given arrays, it computes at NumPy's speed. Given
tensors, it records each operation on the tape, so the gradient can be differentiated again.

A function that writes into an array cannot be differentiated in this way. Such functions come in
families that are closed under differentiation. A linear function and its adjoint are each other's
gradient (``linear_pair``). For a convolution y = x * w, ``<g, x * w>`` is linear in each of g, x
and w. Its derivatives in the three are y, dx and dw, each bilinear in the other two operands. The
gradients of any one of them are the other two again (``bilinear_triple``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Gradient = Array | Callable[[], Array] | None
Vjp = Callable[[Any, Sequence[Array], Array, Array], tuple[Gradient, ...]]


@dataclass(frozen=True, slots=True)
class Function:
    """A differentiable function with one output.

    Attributes:
        name: name in messages and traces.
        forward: ``(attrs, *arrays) -> array``; raises ``ShapeError`` if shapes do not fit.
        vjp: ``(attrs, inputs, output, grad) -> gradients``. With J the Jacobian of the output
            with respect to one input, the gradient of that input is ``grad^T J``, in the input's
            shape, or None if there is none. A gradient that is expensive to compute may be a
            callable, which is called only if the gradient is needed.
        deployed: ``attrs -> (op, its attributes)``: the op of the table that computes the same, so
            that a traced graph can hold it. None, or a function that returns None, if there is no
            such op.

    """

    name: str
    forward: Callable[..., Array]
    vjp: Vjp
    deployed: Callable[[Any], tuple[str, Any] | None] | None = None

    def __call__(self, attrs: Any, *operands: Any) -> Any:
        """The value for arrays; if an operand is a tensor, that tensor computes and records it."""
        for operand in operands:
            record = getattr(operand, "record", None)
            if record is not None:
                return record(self, attrs, operands)
        return self.forward(attrs, *operands)


def constant(operand: Any) -> Array:
    """The elements of an array or tensor, to be used as a constant: no gradient passes here."""
    elements: Array = operand if isinstance(operand, np.ndarray) else np.asarray(operand.data)
    return elements


def no_gradient(
    attrs: Any, inputs: Sequence[Array], output: Array, grad: Array
) -> tuple[Gradient, ...]:
    """The product of a function of discrete values: there is no gradient in any input."""
    del attrs, output, grad
    return (None,) * len(inputs)


def linear_pair(
    name: str, forward: Callable[[Any, Array], Array], adjoint: Callable[[Any, Array], Array]
) -> tuple[Function, Function]:
    """A function A that is linear in its operand, and its adjoint: ``<A x, u> = <x, A' u>``.

    Args:
        name: name of the function; the adjoint's name has ``_adjoint`` appended.
        forward: ``(attrs, x) -> A x``.
        adjoint: ``(attrs, u) -> A' u``, with the same attributes.

    """

    def vjp(attrs: Any, inputs: Sequence[Array], output: Array, grad: Array) -> tuple[Gradient]:
        del inputs, output
        return (backward(attrs, grad),)

    def adjoint_vjp(
        attrs: Any, inputs: Sequence[Array], output: Array, grad: Array
    ) -> tuple[Gradient]:
        del inputs, output
        return (function(attrs, grad),)

    function = Function(name, forward, vjp)
    backward = Function(f"{name}_adjoint", adjoint, adjoint_vjp)
    return function, backward


@dataclass(frozen=True, slots=True)
class BilinearTriple:
    """The partial derivatives of ``T(x, w, g) = <g, y(x, w)>``, linear in x, w and g.

    Attributes:
        y: ``(attrs, x, w)``, the derivative in g.
        dx: ``(attrs, g, w)``, the derivative in x.
        dw: ``(attrs, x, g)``, the derivative in w.

    """

    y: Function
    dx: Function
    dw: Function


def bilinear_triple(
    name: str,
    y: Callable[[Any, Array, Array], Array],
    dx: Callable[[Any, Array, Array], Array],
    dw: Callable[[Any, Array, Array], Array],
) -> BilinearTriple:
    """Three functions, each with the other two as gradients; operands as in ``BilinearTriple``."""

    def y_vjp(attrs: Any, inputs: Sequence[Array], output: Array, u: Array) -> tuple[Gradient, ...]:
        del output
        x, w = inputs
        return lambda: triple.dx(attrs, u, w), lambda: triple.dw(attrs, x, u)

    def dx_vjp(
        attrs: Any, inputs: Sequence[Array], output: Array, u: Array
    ) -> tuple[Gradient, ...]:
        del output
        g, w = inputs
        return lambda: triple.y(attrs, u, w), lambda: triple.dw(attrs, u, g)

    def dw_vjp(
        attrs: Any, inputs: Sequence[Array], output: Array, u: Array
    ) -> tuple[Gradient, ...]:
        del output
        x, g = inputs
        return lambda: triple.dx(attrs, g, u), lambda: triple.y(attrs, x, u)

    triple = BilinearTriple(
        Function(name, y, y_vjp),
        Function(f"{name}_dx", dx, dx_vjp),
        Function(f"{name}_dw", dw, dw_vjp),
    )
    return triple
