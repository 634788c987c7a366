"""Tensors that remember how they were computed.

Every computation goes through ``apply``: it computes the value with NumPy and, where a gradient
is wanted, leaves a ``Step`` of the tape on the result. A tensor has an array's operators and many
of its methods, with the same arguments: one piece of code serves both (``floatmath.function``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tinyrt.errors import GradientError, ShapeError, error_context
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train.core import arithmetic
from tinyrt.train.core.function import Array, Function, table_function
from tinyrt.train.core.modes import GRAD_ENABLED, LISTENER, PRESET_OUTPUT
from tinyrt.train.core.modes import enable_grad as enable_grad
from tinyrt.train.core.modes import listening as listening
from tinyrt.train.core.modes import no_grad as no_grad
from tinyrt.train.core.modes import preset_output as preset_output
from tinyrt.train.core.tape import Step, reverse

Axes = int | tuple[int, ...] | None


class Tensor:
    """A float array that can be differentiated with respect to.

    With a ``dtype``, it may hold truth values or places, which ops take and which have no gradient.

    ``data`` may be assigned, and elements set by ``t[index] = ...``; both count as an edit, which
    a later backward pass refuses if it needs the old value. Writing into the array itself
    (``t.data[0] = 1``) is not noticed.

    Attributes:
        requires_grad: whether ``backward`` reaches this tensor.
        grad: the gradient gathered so far, same shape and dtype; leaves have one, that is tensors
            that were not computed from others, and tensors told to ``retain_grad``.
        step: how the tensor was computed; None for a leaf.
        hooks: called with each gradient that arrives, see ``register_hook``.

    Raises:
        ShapeError: an element changes its value in an integer dtype or bool.
        GradientError: such a tensor is to have a gradient.

    """

    __slots__ = ("_data", "_edits", "_retains", "grad", "hooks", "requires_grad", "step")
    # Makes NumPy leave ``array * tensor`` to the tensor.
    __array_ufunc__ = None

    def __init__(
        self, data: ArrayLike, *, requires_grad: bool = False, dtype: DTypeLike | None = None
    ) -> None:
        array = np.asarray(data, dtype)
        keeps_dtype = isinstance(data, np.ndarray | np.generic) and array.dtype.kind == "f"
        if dtype is not None and array.dtype.kind != "f":
            if np.any(array != np.asarray(data)):
                what = f"not all elements are {array.dtype}"
                fits = "whole numbers within the dtype's range, 0 and 1 for bool"
                raise ShapeError(what, expected=fits)
            if requires_grad:
                raise GradientError(f"a tensor of {array.dtype} has no gradient", expected="floats")
        self._data: Array = array if dtype or keeps_dtype else array.astype(np.float32)
        # In a list, because views of the same elements share the count.
        self._edits = [0]
        self._retains = False
        self.requires_grad = requires_grad
        self.grad: Array | None = None
        self.step: Step | None = None
        self.hooks: tuple[Callable[[Any], Any], ...] = ()

    @property
    def data(self) -> Array:
        """The elements, float32 unless given as float64 or with a dtype; arrays are not copied."""
        return self._data

    @data.setter
    def data(self, value: Array) -> None:
        self._edits[0] += 1
        self._data = value

    @property
    def edits(self) -> int:
        """How often the elements have been edited in place."""
        return self._edits[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._data.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per dimension."""
        return self._data.strides

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._data.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self._data.dtype

    def item(self) -> float:
        """The value of a tensor of one element."""
        return float(self._data.item())

    def detach(self) -> Tensor:
        """The same elements (shared, not copied) without their history."""
        twin = Tensor(self._data, dtype=self.dtype)
        twin._edits = self._edits
        return twin

    def __repr__(self) -> str:
        origin = f", from {self.step.function.name}" if self.step else ""
        return f"Tensor({np.array2string(self._data, precision=4)}, {self.dtype}{origin})"

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor in ``grad``, though it was computed from others."""
        self._retains = True

    def register_hook(self, hook: Callable[[Any], Any]) -> Callable[[], None]:
        """Call ``hook`` with each whole gradient that arrives here, before it goes on.

        Args:
            hook: gets the gradient (an array; a tensor when a graph of the gradient is created);
                returns another to go on with, or None. It must not change what it gets.

        Returns:
            What to call to remove the hook.

        """
        self.hooks = (*self.hooks, hook)

        def remove() -> None:
            self.hooks = tuple(h for h in self.hooks if h is not hook)

        return remove

    def backward(self, grad: ArrayLike | None = None, *, retain_graph: bool = False) -> None:
        """Add to every leaf's ``grad`` the derivative of this tensor with respect to the leaf.

        For gradients of gradients, see ``tinyrt.train.grad``.

        Args:
            grad: what the derivative is multiplied with from the left, in this tensor's shape;
                1 for a tensor of one element.
            retain_graph: keep the tape, to go backward from this or a related tensor once more.

        Raises:
            GradientError: nothing here requires a gradient, ``grad`` is missing, the tape was
                freed by an earlier pass, or a value it needs was edited in place.
            ShapeError: ``grad`` does not have this tensor's shape.

        """
        for tensor, gradient in reverse(self, self.seed(grad), retain_graph=retain_graph):
            if tensor.step is None or tensor._retains:
                total = gradient if tensor.grad is None else tensor.grad + gradient
                tensor.grad = total.astype(tensor.dtype)  # a copy: the gradient may be shared

    def seed(self, grad: ArrayLike | None) -> Array:
        """Where a backward pass from this tensor starts; see ``backward`` for what it refuses."""
        if not self.requires_grad:
            raise GradientError(
                "backward from a tensor that depends on nothing that requires a gradient",
                tensor=f"shape {self.shape}",
                hint="set requires_grad=True on the leaves, and compute outside of no_grad()",
            )
        if grad is None:
            if self._data.size != 1:
                raise GradientError(
                    f"backward from a tensor of {self._data.size} elements needs their gradient",
                    tensor=f"shape {self.shape}",
                    hint="reduce to one number first, as with .mean(), or pass backward(grad)",
                )
            return np.ones_like(self._data)
        seed = np.asarray(grad, self.dtype)
        if seed.shape != self.shape:
            raise ShapeError(
                f"the gradient has shape {seed.shape}", expected=f"the tensor's: {self.shape}"
            )
        return seed

    def record(self, function: Function, attrs: Any, operands: tuple[Any, ...]) -> Tensor:
        """Apply a function whose operands are tensors and arrays; arrays count as constants."""
        return apply(function, attrs, *(self.operand(o) for o in operands))

    def __add__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("add", _ADD, self, self.operand(other))

    def __mul__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("mul", _MUL, self, self.operand(other))

    def __sub__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("sub", _ADD, self, self.operand(other))

    def __rsub__(self, other: Tensor | ArrayLike) -> Tensor:
        return self.operand(other) - self

    def __truediv__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("div", _DIV, self, self.operand(other))

    def __rtruediv__(self, other: Tensor | ArrayLike) -> Tensor:
        return self.operand(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Tensor:
        return self * -1

    def __pow__(self, exponent: float | Tensor) -> Tensor:
        if isinstance(exponent, Tensor):
            return apply("pow", _NONE, self, exponent)
        return apply(arithmetic.POWER, exponent, self)

    def __rpow__(self, base: float | Array) -> Tensor:
        return self.operand(base) ** self

    def _compared(self, compare: np.ufunc, other: Tensor | ArrayLike) -> Array:
        """An array of truth values, which have no gradient."""
        return np.asarray(compare(self._data, self.operand(other)._data))

    def __lt__(self, other: Tensor | ArrayLike) -> Array:
        return self._compared(np.less, other)

    def __le__(self, other: Tensor | ArrayLike) -> Array:
        return self._compared(np.less_equal, other)

    def __gt__(self, other: Tensor | ArrayLike) -> Array:
        return self._compared(np.greater, other)

    def __ge__(self, other: Tensor | ArrayLike) -> Array:
        return self._compared(np.greater_equal, other)

    def __eq__(self, other: Any) -> Any:
        """Element by element, but for what is no number or array, as None."""
        return self._compared(np.equal, other) if arithmetic.is_numbers(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return ~(self == other) if arithmetic.is_numbers(other) else NotImplemented

    __hash__ = object.__hash__  # by identity

    def __matmul__(self, other: Tensor | ArrayLike) -> Tensor:
        return apply("batch_matmul", _MATMUL, self, self.operand(other))

    def __rmatmul__(self, other: Tensor | ArrayLike) -> Tensor:
        return self.operand(other) @ self

    def operand(self, other: Tensor | ArrayLike) -> Tensor:
        """A number or array as a tensor of this one's dtype; a tensor as it is."""
        dtype = self.dtype if self.dtype.kind == "f" else np.float32
        return other if isinstance(other, Tensor) else Tensor(np.asarray(other, dtype))

    def __getitem__(self, index: Any) -> Tensor:
        """The selected elements: a view for slices, a copy for arrays of indices, as in NumPy."""
        try:
            return apply(arithmetic.SELECT, arithmetic.Selection(index, self.shape), self)
        except IndexError as error:
            raise ShapeError(
                f"index {index!r} does not fit shape {self.shape}: {error}",
                expected="integers, slices or integer arrays within the dimensions",
            ) from error

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self._data)))

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        """Overwrite elements of a leaf; the tape does not record it.

        Raises:
            GradientError: the tensor was computed, so its gradient would be wrong.

        """
        if self.step is not None:
            raise GradientError(
                "an in-place edit of a tensor that was computed from others",
                op=self.step.function.name,
                tensor=f"shape {self.shape}",
                hint="edit a leaf, or the detached tensor's copy",
            )
        self._edits[0] += 1
        self._data[index] = value

    def exp(self) -> Tensor:
        """``e`` to the power of each element."""
        return apply("exp", _NONE, self)

    def log(self) -> Tensor:
        """Natural logarithm of each element."""
        return apply("log", _NONE, self)

    def abs(self) -> Tensor:
        """Magnitude of each element."""
        return apply("abs", _NONE, self)

    def sqrt(self) -> Tensor:
        """Square root of each element."""
        return apply("sqrt", _NONE, self)

    def relu(self) -> Tensor:
        """``max(x, 0)`` of each element."""
        return apply("relu", _NONE, self)

    def clip(self, low: ArrayLike | Tensor | None, high: ArrayLike | Tensor | None) -> Tensor:
        """Each element, but at least ``low`` and at most ``high``; None is no bound."""
        above = self if low is None else apply("maximum", _NONE, self, self.operand(low))
        return above if high is None else apply("minimum", _NONE, above, self.operand(high))

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Greatest element over these dimensions; equal ones share the gradient."""
        return apply("reduce_max", ReduceAttrs(arithmetic.axes(axis, self.ndim), keepdims), self)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Least element over these dimensions; equal ones share the gradient."""
        return apply("reduce_min", ReduceAttrs(arithmetic.axes(axis, self.ndim), keepdims), self)

    def argmax(self, axis: int | None = None) -> Array:
        """The place of the greatest element, the first of equal ones; places have no gradient."""
        return np.asarray(self._data.argmax(axis))

    def sum(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Sum over these dimensions, over all for None."""
        return apply("sum", ReduceAttrs(arithmetic.axes(axis, self.ndim), keepdims), self)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Mean over these dimensions, over all for None."""
        return apply("mean", MeanAttrs(arithmetic.axes(axis, self.ndim), keepdims), self)

    def var(self, axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Tensor:
        """Mean square of the deviation over these dimensions, as ``functional.var``."""
        return arithmetic.variance(self, axis, ddof, keepdims)

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape (integers or one tuple); -1 is what remains."""
        return apply("reshape", ReshapeAttrs(arithmetic.integers(shape)), self)

    def transpose(self, *order: Any) -> Tensor:
        """Dimensions in another order (integers or one tuple)."""
        return apply("transpose", TransposeAttrs(arithmetic.integers(order)), self)


_NONE, _ADD, _MUL, _DIV, _MATMUL = NoAttrs(), AddAttrs(), MulAttrs(), DivAttrs(), BatchMatmulAttrs()


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
    value = PRESET_OUTPUT.get()
    if value is None:
        try:
            value = np.asarray(function.forward(attrs, *[t._data for t in operands]))
        except Exception:
            with error_context(op=f"{function.name} in training"):
                raise
    output = Tensor(value, dtype=value.dtype)
    base = output._data.base
    if base is not None and (base is operands[0]._data or base is operands[0]._data.base):
        output._edits = operands[0]._edits  # a view: an edit of one is one of the other
    is_float = output._data.dtype.kind == "f"
    if is_float and GRAD_ENABLED.get() and any(t.requires_grad for t in operands):
        output.requires_grad = True
        edits = (*[t._edits[0] for t in operands], output._edits[0])
        output.step = Step(function, attrs, operands, edits)
    listener = LISTENER.get()
    if listener is not None:
        listener(function, attrs, operands, output)
    return output
