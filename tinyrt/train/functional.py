"""Functions of several tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import ShapeError
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.train.core.tensor import Axes, Tensor, apply


def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of the same shape but for ``axis``, one behind the other along it.

    Raises:
        ShapeError: there is none, or their shapes differ elsewhere.

    """
    if not tensors:
        raise ShapeError("there is nothing to put together", expected="one tensor or more")
    return apply("concatenation", ConcatenationAttrs(axis), *tensors)


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension ``axis``.

    Raises:
        ShapeError: there is none, or their shapes differ.

    """
    if len({t.shape for t in tensors}) != 1:
        shapes = ", ".join(str(t.shape) for t in tensors) or "of nothing"
        raise ShapeError(f"shapes {shapes} do not stack", expected="one shape")
    rank = tensors[0].ndim + 1
    if not -rank <= axis < rank:
        raise ShapeError(f"there is no axis {axis}", expected=f"{-rank} to {rank - 1}")
    at = axis % rank
    return cat([t.reshape((*t.shape[:at], 1, *t.shape[at:])) for t in tensors], at)


def maximum(a: Tensor, b: Tensor | ArrayLike) -> Tensor:
    """The greater of each two elements, which broadcast; of equals the gradient goes to ``a``."""
    return apply("maximum", NoAttrs(), a, a.operand(b))


def minimum(a: Tensor, b: Tensor | ArrayLike) -> Tensor:
    """The less of each two elements, which broadcast; of equals the gradient goes to ``a``."""
    return apply("minimum", NoAttrs(), a, a.operand(b))


def where(condition: Tensor | ArrayLike, a: Tensor | ArrayLike, b: Tensor | ArrayLike) -> Tensor:
    """``a`` where the condition is true, ``b`` elsewhere; all three broadcast.

    A condition that a traced graph is to compute is a tensor, from ``apply("less", ...)`` or
    ``apply("greater", ...)``; an array, as comparisons of tensors give, is one that never changes.

    Raises:
        ShapeError: the condition holds other values than true and false, or shapes do not fit.

    """
    mask = condition if isinstance(condition, Tensor) else Tensor(condition, dtype=np.bool_)
    dtype = next((x.dtype for x in (a, b) if isinstance(x, Tensor)), np.float32)
    a, b = (x if isinstance(x, Tensor) else Tensor(np.asarray(x, dtype)) for x in (a, b))
    return apply("select_v2", NoAttrs(), mask, a, b)


def var(x: Tensor, axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Mean square of the deviation over these dimensions, over all for None.

    With ``ddof=1`` the sum is divided by one less than the count, as PyTorch does by default.

    Raises:
        ShapeError: there are no more elements than ``ddof``.

    """
    return x.var(axis, ddof=ddof, keepdims=keepdims)
