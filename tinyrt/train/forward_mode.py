"""Forward mode: derivatives that go along with the values, op by op.

Every op on the tape gets the tangents of its operands, and gives its result's. Nothing waits for a
pass back: what is linear is computed once more with tangents in place of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import GradientError, ShapeError
from tinyrt.ops import OPS
from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.core.function import Array, Function
from tinyrt.train.core.modes import enable_grad, listening
from tinyrt.train.core.tensor import Tensor
from tinyrt.train.products import inner_product

TOGETHER = ("T*",)
TERMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sum", "mean", "cumsum", "average_pool2d", "concatenation"), TOGETHER),
    **dict.fromkeys(("pad", "mirror_pad", "reshape", "transpose", "slice", "slice_at"), TOGETHER),
    **dict.fromkeys(("tile", "broadcast_to", "depth_to_space", "space_to_depth"), TOGETHER),
    **dict.fromkeys(("resize_bilinear", "resize_nearest_neighbor"), TOGETHER),
    **dict.fromkeys(("gather", "gather_nd", "embedding"), TOGETHER),
    **dict.fromkeys(("conv2d", "depthwise_conv2d", "transpose_conv"), ("T=T", "=T0")),
    "fully_connected": ("T=T", "=T0"),
    "batch_matmul": ("T=", "=T"),
    "batch_norm": ("T=TT=", "=T0=="),
}
"""Op -> terms of its derivative, each the op itself, with every operand's tangent in its place (T),
the operand as it is (=), or zeros (0): T* for the tangents of all. Whatever no term has the tangent
of is not linear."""

SYMMETRIC = frozenset({"softmax"})
"""Ops whose matrix of derivatives is symmetric, as is that of what goes element by element."""


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
        GradientError: the output depends on none of the inputs, or a tensor on the way was edited
            in place.

    """
    leaves, along = [Tensor(x.data, requires_grad=True) for x in inputs], Tangents()
    for leaf, tangent in zip(leaves, tangents, strict=True):
        along.start(leaf, tangent)
    with enable_grad(), listening(along.listen):
        output = function(*leaves)
    derivative = along.of(output)
    if derivative is None:
        raise GradientError("the output depends on none of the inputs", expected="on one of them")
    return output.detach(), Tensor(derivative)


class Tangents:
    """Listens to what is computed, and knows each result's derivative along the tangents.

    Attributes:
        known: id of a tensor -> the tensor, how often it had been edited, its derivative.

    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Tensor, int, Array]] = {}

    def start(self, x: Tensor, tangent: ArrayLike) -> None:
        """Set the derivative of an input.

        Raises:
            ShapeError: it does not have the input's shape.

        """
        v = np.asarray(tangent, x.data.dtype)
        if v.shape != x.shape:
            raise ShapeError(f"a vector has shape {v.shape}", expected=f"its input's: {x.shape}")
        self.known[id(x)] = (x, x.edits, v)

    def of(self, x: Tensor) -> Array | None:
        """The derivative of a tensor; None where it depends on no input.

        Raises:
            GradientError: the tensor has been edited in place since.

        """
        if id(x) not in self.known:
            return None
        _, edits, tangent = self.known[id(x)]
        if x.edits != edits:
            raise GradientError(
                "a tensor was edited in place, so its derivative is not known any more",
                tensor=f"shape {x.shape}",
                hint="edit a copy",
            )
        return tangent

    def listen(
        self, function: Function, attrs: Any, operands: tuple[Tensor, ...], output: Tensor
    ) -> None:
        """Take note of a result; what has no tape has no derivative."""
        tangents = [self.of(x) for x in operands] if output.step is not None else []
        if any(v is not None for v in tangents):
            tangent = _along(function, attrs, operands, output, tangents)
            self.known[id(output)] = (output, output.edits, tangent)


def _along(
    function: Function,
    attrs: Any,
    operands: Sequence[Tensor],
    output: Tensor,
    tangents: Sequence[Array | None],
) -> Array:
    """The derivative of one op's result along its operands' tangents."""
    arrays = [x.data for x in operands]
    name = function.name if function.name in OPS else ""
    if name in SYMMETRIC or (name and OPS[name].traits.elementwise):
        return _by_symmetry(function, attrs, arrays, output.data, tangents)
    terms = _terms(name, attrs, tangents)
    if terms:
        return _by_terms(function, attrs, arrays, tangents, terms)
    return _by_transposing(function, attrs, operands, output, tangents)


def _terms(name: str, attrs: Any, tangents: Sequence[Array | None]) -> tuple[str, ...]:
    """Terms of the op that have tangents; none where these are not all there is."""
    if getattr(attrs, "activation", "NONE") != "NONE":
        return ()
    count = len(tangents)
    terms = [("T" * count if term == "T*" else term[:count]) for term in TERMS.get(name, ())]
    given = {i for i, v in enumerate(tangents) if v is not None}
    takes = [given & {i for i, how in enumerate(term) if how == "T"} for term in terms]
    if set().union(*takes) != given:
        return ()
    return tuple(term for term, taken in zip(terms, takes, strict=True) if taken)


def _by_terms(
    function: Function,
    attrs: Any,
    arrays: Sequence[Array],
    tangents: Sequence[Array | None],
    terms: Sequence[str],
) -> Array:
    """The sum of the op's terms."""
    if function.name == "pad":
        attrs = replace(attrs, value=0.0)
    parts = []
    for term in terms:
        operands = [
            x if how == "=" else v if how == "T" and v is not None else _nothing(x)
            for how, x, v in zip(term, arrays, tangents, strict=True)
        ]
        parts.append(function.forward(attrs, *operands))
    return sum(parts[1:], start=parts[0])


def _nothing(x: Array) -> Array:
    """Zeros in place of numbers; places and truth values stay."""
    return np.zeros_like(x) if x.dtype.kind == "f" else x


def _by_symmetry(
    function: Function,
    attrs: Any,
    arrays: Sequence[Array],
    output: Array,
    tangents: Sequence[Array | None],
) -> Array:
    """A symmetric matrix times the tangents: the product from the left is that from the right."""
    whole = [np.broadcast_to(x, output.shape) for x in arrays]
    total = np.zeros_like(output)
    for i, v in enumerate(tangents):
        if v is not None:
            part = function.vjp(attrs, whole, output, np.broadcast_to(v, output.shape))[i]
            total += 0 if part is None else part() if callable(part) else part
    return total


def _by_transposing(
    function: Function,
    attrs: Any,
    operands: Sequence[Tensor],
    output: Tensor,
    tangents: Sequence[Array | None],
) -> Array:
    """By what the op's gradient is in the gradient that comes in: ``u -> u^T J`` is linear in u."""
    u = Tensor(np.zeros_like(output.data), requires_grad=True)
    leaves: list[Any] = [
        Tensor(x.data, dtype=x.data.dtype, requires_grad=v is not None)
        for x, v in zip(operands, tangents, strict=True)
    ]
    whole: Any = Tensor(output.data)
    incoming: Any = u
    with enable_grad():
        parts = function.vjp(attrs, leaves, whole, incoming)
        reached = [
            (part() if callable(part) else part, v)
            for part, v in zip(parts, tangents, strict=True)
            if part is not None and v is not None
        ]
        if not reached:
            return np.zeros_like(output.data)
        (along,) = partial_derivatives(inner_product(*zip(*reached, strict=True)), [u])
    return np.zeros_like(output.data) if along is None else along.data
