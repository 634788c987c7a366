"""Derivatives as values: gradients of any order, products with Jacobians and Hessians.

``grad`` gives the gradient instead of gathering it on leaves; with ``create_graph`` the result is
itself on the tape. ``jvp`` needs no forward mode of its own: the vector-Jacobian product
``u -> u^T J`` is linear in u, and its own vector-Jacobian product with v is ``J v``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import GradientError, ShapeError
from tinyrt.train.core.tape import reverse
from tinyrt.train.core.tensor import Tensor, enable_grad


def grad(
    output: Tensor,
    inputs: Sequence[Tensor],
    grad_output: Tensor | ArrayLike | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[Tensor, ...]:
    """The derivative of ``output`` with respect to each input; no tensor's ``grad`` is touched.

    Args:
        output: what to differentiate.
        inputs: with respect to what; leaves or tensors computed on the way.
        grad_output: what the derivative is multiplied with from the left, in the output's shape; 1
            for an output of one element. A tensor may itself be differentiated with respect to.
        create_graph: record the computation of the result, so that it can be differentiated.
        retain_graph: keep the tape of ``output``; by default if ``create_graph``.

    Raises:
        GradientError: an input does not influence the output, or as ``Tensor.backward``.
        ShapeError: ``grad_output`` does not have the output's shape.

    """
    derivatives = partial_derivatives(
        output, inputs, grad_output, create_graph=create_graph, retain_graph=retain_graph
    )
    for i, (tensor, derivative) in enumerate(zip(inputs, derivatives, strict=True)):
        if derivative is None:
            raise GradientError(
                f"input {i} does not influence the output",
                tensor=f"shape {tensor.shape}, requires_grad={tensor.requires_grad}",
                hint="leave it out, or compute the output from it with requires_grad=True",
            )
    return tuple(d for d in derivatives if d is not None)


def partial_derivatives(
    output: Tensor,
    inputs: Sequence[Tensor],
    grad_output: Tensor | ArrayLike | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[Tensor | None]:
    """As ``grad``, but None for an input that does not influence the output."""
    if not output.requires_grad:
        return [None] * len(inputs)
    seed: Any = output.seed(grad_output.data if isinstance(grad_output, Tensor) else grad_output)
    if create_graph:
        seed = grad_output if isinstance(grad_output, Tensor) else Tensor(seed)
    retain = create_graph if retain_graph is None else retain_graph
    targets = {id(t) for t in inputs}
    derivatives: dict[int, Any] = {}
    with enable_grad():
        for tensor, gradient in reverse(
            output, seed, inputs, create_graph=create_graph, retain_graph=retain
        ):
            if id(tensor) in targets:
                derivatives[id(tensor)] = gradient if create_graph else Tensor(gradient)
    return [derivatives.get(id(t)) for t in inputs]


def jvp(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], tangents: Sequence[ArrayLike]
) -> tuple[Tensor, Tensor]:
    """The value of ``function(*inputs)`` and its derivative along the tangents, ``J v``.

    Args:
        function: of tensors, giving a tensor that depends on at least one of them.
        inputs: where to differentiate; only their values are used.
        tangents: one per input, in its shape.

    Raises:
        ShapeError: a tangent does not have its input's shape.
        GradientError: the output depends on none of the inputs.

    """
    leaves = [Tensor(x.data, requires_grad=True) for x in inputs]
    with enable_grad():
        output = function(*leaves)
        u = Tensor(np.zeros_like(output.data), requires_grad=True)
        products = partial_derivatives(output, leaves, u, create_graph=True)
        total = inner_product(products, tangents)
    (derivative,) = grad(total, [u])
    return output.detach(), derivative


def inner_product(tensors: Sequence[Tensor | None], vectors: Sequence[ArrayLike]) -> Tensor:
    """The sum of the elements' products over all pairs, where there is a tensor."""
    products = []
    for tensor, vector in zip(tensors, map(np.asarray, vectors), strict=True):
        if tensor is not None and tensor.shape != vector.shape:
            raise ShapeError(
                f"a vector has shape {vector.shape}", expected=f"its input's: {tensor.shape}"
            )
        if tensor is not None:
            products.append((tensor * vector).sum())
    if not products:
        raise GradientError("the output depends on none of the inputs", expected="on one of them")
    return sum(products[1:], start=products[0])


def hvp(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], vectors: Sequence[ArrayLike]
) -> tuple[Tensor, ...]:
    """Hessian-vector products ``H v`` of a function of one element, without forming H.

    They are the gradient of ``<gradient, v>``; an input that enters linearly only gets zeros.

    Args:
        function: of tensors, giving a tensor of one element.
        inputs: where to differentiate; only their values are used.
        vectors: one per input, in its shape.

    Raises:
        ShapeError: a vector does not have its input's shape.
        GradientError: the output does not depend on an input.

    """
    leaves = [Tensor(x.data, requires_grad=True) for x in inputs]
    with enable_grad():
        gradients = grad(function(*leaves), leaves, create_graph=True)
        total = inner_product(gradients, vectors)
    products = partial_derivatives(total, leaves)
    return tuple(
        Tensor(np.zeros_like(x.data)) if h is None else h
        for x, h in zip(leaves, products, strict=True)
    )
