"""Tensors that remember how they were computed, and reverse-mode differentiation over them.

Every computation goes through ``apply``: it computes the value with NumPy and, where a gradient
is wanted, leaves a ``Step`` on the result: which function, of which tensors. Steps link results
to operands, so together they are the tape. ``Tensor.backward`` plays it in reverse: it starts from
the gradient of the result and asks each step's vector-Jacobian product for those of its operands,
adding up what reaches a tensor over several paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import GradientError, ShapeError, error_context
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.spec import Array, NoAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train import arithmetic
from tinyrt.train.function import Function, table_function

Listener = Callable[[Function, Any, tuple["Tensor", ...], "Tensor"], None]

_grad_enabled: ContextVar[bool] = ContextVar("grad_enabled", default=True)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@dataclass(slots=True, eq=False)
class Step:
    """One entry of the tape: how a tensor was computed.

    Attributes:
        function: what was applied.
        attrs: its attributes.
        inputs: its operands; emptied when the tape is freed.
        freed: whether a backward pass has used the step up.

    """

    function: Function
    attrs: Any
    inputs: tuple[Tensor, ...]
    freed: bool = False

    def free(self) -> None:
        """Let go of the operands, so that their memory is returned."""
        self.inputs, self.freed = (), True


class Tensor:
    """A float array that can be differentiated with respect to.

    Attributes:
        data: the elements, float32 unless given as a float64 array; given arrays are not copied.
        requires_grad: whether ``backward`` reaches this tensor.
        grad: the gradient gathered so far, same shape and dtype; only leaves have one, that is
            tensors that were not computed from others.

    """

    __slots__ = ("_step", "data", "grad", "requires_grad")
    # Makes NumPy leave ``array * tensor`` to the tensor.
    __array_ufunc__ = None

    def __init__(self, data: ArrayLike, *, requires_grad: bool = False) -> None:
        array = np.asarray(data)
        keeps_dtype = isinstance(data, np.ndarray | np.generic) and array.dtype.kind == "f"
        self.data: Array = array if keeps_dtype else array.astype(np.float32)
        self.requires_grad = requires_grad
        self.grad: Array | None = None
        self._step: Step | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.data.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.data.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Float dtype of the elements."""
        return self.data.dtype

    def item(self) -> float:
        """The value of a tensor of one element."""
        return float(self.data.item())

    def detach(self) -> Tensor:
        """The same elements (shared, not copied) without their history."""
        return Tensor(self.data)

    def __repr__(self) -> str:
        origin = f", from {self._step.function.name}" if self._step else ""
        return f"Tensor({np.array2string(self.data, precision=4)}, {self.dtype}{origin})"

    def backward(self, grad: ArrayLike | None = None, *, retain_graph: bool = False) -> None:
        """Add to every leaf's ``grad`` the derivative of this tensor with respect to the leaf.

        Args:
            grad: what the derivative is multiplied with from the left, in this tensor's shape;
                1 for a tensor of one element.
            retain_graph: keep the tape, to go backward from this or a related tensor once more.

        Raises:
            GradientError: nothing here requires a gradient, ``grad`` is missing, or the tape was
                freed by an earlier pass.
            ShapeError: ``grad`` does not have this tensor's shape.

        """
        pending = {id(self): self._seed(grad)}
        for tensor in _outputs_first(self):
            arrived, step = pending.pop(id(tensor)), tensor._step
            if step is None:
                tensor.grad = arrived.copy() if tensor.grad is None else tensor.grad + arrived
                continue
            for operand, part in _operand_grads(step, tensor.data, arrived):
                known = pending.get(id(operand))
                pending[id(operand)] = part if known is None else known + part
            if not retain_graph:
                step.free()

    def _seed(self, grad: ArrayLike | None) -> Array:
        if not self.requires_grad:
            raise GradientError(
                "backward from a tensor that depends on nothing that requires a gradient",
                tensor=f"shape {self.shape}",
                hint="set requires_grad=True on the leaves, and compute outside of no_grad()",
            )
        if grad is None:
            if self.data.size != 1:
                raise GradientError(
                    f"backward from a tensor of {self.data.size} elements needs their gradient",
                    tensor=f"shape {self.shape}",
                    hint="reduce to one number first, as with .mean(), or pass backward(grad)",
                )
            return np.ones_like(self.data)
        seed = np.asarray(grad, self.dtype)
        if seed.shape != self.shape:
            raise ShapeError(
                f"the gradient has shape {seed.shape}", expected=f"the tensor's: {self.shape}"
            )
        return seed

    def __add__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("add", AddAttrs(), self, self._operand(other))

    def __mul__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("mul", MulAttrs(), self, self._operand(other))

    def __sub__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("sub", AddAttrs(), self, self._operand(other))

    def __rsub__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._operand(other) - self

    def __truediv__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply(arithmetic.DIV, NoAttrs(), self, self._operand(other))

    def __rtruediv__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._operand(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Tensor:
        return self * -1

    def __pow__(self, exponent: float) -> Tensor:
        return apply(arithmetic.POWER, arithmetic.PowerAttrs(exponent), self)

    def __matmul__(self, other: Tensor) -> Tensor:
        return apply(arithmetic.MATMUL, NoAttrs(), self, other)

    def _operand(self, other: Tensor | ArrayLike) -> Tensor:
        return other if isinstance(other, Tensor) else Tensor(np.asarray(other, self.dtype))

    def exp(self) -> Tensor:
        """``e`` to the power of each element."""
        return apply(arithmetic.EXP, NoAttrs(), self)

    def log(self) -> Tensor:
        """Natural logarithm of each element."""
        return apply(arithmetic.LOG, NoAttrs(), self)

    def sum(self, *axes: int, keep_dims: bool = False) -> Tensor:
        """Sum over these dimensions, over all if none is given."""
        return apply(arithmetic.SUM, arithmetic.SumAttrs(axes or None, keep_dims), self)

    def mean(self, *axes: int, keep_dims: bool = False) -> Tensor:
        """Mean over these dimensions, over all if none is given."""
        every = axes or tuple(range(self.ndim))
        return apply("mean", MeanAttrs(every, keep_dims), self)

    def reshape(self, *shape: int) -> Tensor:
        """The same elements in another shape; one size may be -1, for what remains."""
        return apply("reshape", ReshapeAttrs(shape), self)

    def transpose(self, *order: int) -> Tensor:
        """Dimensions in another order."""
        return apply("transpose", TransposeAttrs(order), self)


def apply(function: str | Function, attrs: Any, *inputs: Tensor | None) -> Tensor:
    """Apply an op of the table, or a training-only function, and put the step on the tape.

    Args:
        function: the op's name in ``OPS``, or a ``Function``.
        attrs: its attribute record.
        inputs: its operands; optional ones at the end may be None.

    Raises:
        ShapeError: the operands' shapes do not fit the function or each other.
        UnsupportedError: there is no such op, or it has no gradient.

    """
    if isinstance(function, str):
        function = table_function(function)
    operands = tuple(t for t in inputs if t is not None)
    with error_context(op=f"{function.name} in training"):
        output = Tensor(np.asarray(function.forward(attrs, *(t.data for t in operands))))
    if _grad_enabled.get() and any(t.requires_grad for t in operands):
        output.requires_grad = True
        output._step = Step(function, attrs, operands)
    listener = _listener.get()
    if listener is not None:
        listener(function, attrs, operands, output)
    return output


@contextmanager
def no_grad() -> Iterator[None]:
    """Compute without a tape: results do not require gradients, and operands are not kept."""
    token = _grad_enabled.set(False)
    try:
        yield
    finally:
        _grad_enabled.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every ``apply``: function, attributes, operands, result."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _outputs_first(root: Tensor) -> list[Tensor]:
    """Tensors between ``root`` and its leaves, each before the operands it was computed from.

    Raises:
        GradientError: a part of the tape was freed.

    """
    finished: list[Tensor] = []
    seen = {id(root)}
    stack: list[tuple[Tensor, Iterator[Tensor]]] = [(root, _operands(root))]
    while stack:
        tensor, operands = stack[-1]
        for operand in operands:
            if operand.requires_grad and id(operand) not in seen:
                seen.add(id(operand))
                stack.append((operand, _operands(operand)))
                break
        else:
            finished.append(tensor)
            stack.pop()
    return finished[::-1]


def _operands(tensor: Tensor) -> Iterator[Tensor]:
    step = tensor._step
    if step is not None and step.freed:
        raise GradientError(
            "a second backward pass over a tape that the first one has freed",
            op=step.function.name,
            tensor=f"shape {tensor.shape}",
            hint="compute the result again, or pass retain_graph=True to the first pass",
        )
    return iter(step.inputs if step else ())


def _operand_grads(step: Step, output: Array, grad: Array) -> Iterator[tuple[Tensor, Array]]:
    """The step's operands that want a gradient, each with what this step adds to it."""
    parts = step.function.vjp(step.attrs, [t.data for t in step.inputs], output, grad)
    for operand, part in zip(step.inputs, parts, strict=True):
        if not operand.requires_grad:
            continue
        if callable(part):
            part = part()
        if part is None:
            continue
        if np.shape(part) != operand.shape:
            raise ShapeError(
                f"the gradient has shape {np.shape(part)}",
                op=step.function.name,
                expected=f"the operand's: {operand.shape}",
            )
        yield operand, np.asarray(part)
