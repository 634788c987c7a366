"""Products of vectors with Hessians, which are never formed: the gradient of ``<gradient, v>``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import DataError, GradientError, ShapeError
from tinyrt.train.core.autograd import grad, partial_derivatives
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, enable_grad


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
    return _derivatives(total, leaves)


def parameter_hvp(
    module: Module, loss: Callable[[], Tensor], vectors: Mapping[str, ArrayLike]
) -> dict[str, Tensor]:
    """Hessian-vector products ``H v`` of a loss in a module's parameters, by their paths.

    The Hessian is that of all parameters together: each product also holds what the vectors of the
    others bring. Parameters that the loss does not depend on get zeros, and so do those that
    require no gradient, which count as constants. No parameter's ``grad`` is touched.

    Args:
        module: whose parameters.
        loss: computes one element from them, as ``lambda: cross_entropy(module(x), y)``; called
            once, so that statistics of batches are followed once.
        vectors: one for each of ``module.named_parameters()``, in its shape.

    Raises:
        DataError: a vector is missing, or there is no such parameter.
        ShapeError: a vector does not have its parameter's shape.
        GradientError: the loss depends on no parameter, or has more than one element.

    """
    parameters = dict(module.named_parameters())
    missing, unknown = parameters.keys() - vectors.keys(), vectors.keys() - parameters.keys()
    if missing or unknown:
        raise DataError(
            "the vectors do not belong to this module's parameters: "
            f"missing {sorted(missing)}, unknown {sorted(unknown)}",
            expected=", ".join(parameters),
        )
    leaves = list(parameters.values())
    with enable_grad():
        gradients = partial_derivatives(loss(), leaves, create_graph=True)
        total = inner_product(gradients, [vectors[name] for name in parameters])
    return dict(zip(parameters, _derivatives(total, leaves), strict=True))


def _derivatives(total: Tensor, leaves: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The gradient of ``total``, with zeros where it does not depend on a leaf."""
    derivatives = partial_derivatives(total, leaves)
    return tuple(
        Tensor(np.zeros_like(x.data)) if d is None else d
        for x, d in zip(leaves, derivatives, strict=True)
    )


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
