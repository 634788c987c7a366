"""Derivatives as values: gradients of any order.

``grad`` gives the gradient instead of gathering it on leaves; with ``create_graph`` the result is
itself on the tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from tinyrt.errors import GradientError
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
