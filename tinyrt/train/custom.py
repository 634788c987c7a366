"""Functions with a derivative of one's own, of any order.

``backward`` is written once. Ordinarily it gets arrays. Where the gradient is itself to be
differentiated (``create_graph``), it gets tensors instead, which record what it computes. Arrays
that ``forward`` left on the context become the tensors that they belong to. One that ``forward``
computed belongs to none: its value serves, but a derivative that leads through it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyrt.errors import GradientError
from tinyrt.train.core.function import Array, Function, Gradient
from tinyrt.train.core.tensor import Tensor, apply

BOTH_HAVE = (
    "arithmetic, @, indices, sum, mean, reshape, transpose and tinyrt.train.apply; "
    "find masks (x > 0) in forward, and write gradient * mask for an edit"
)
"""What a ``backward`` that can be differentiated is made of."""


class Context:
    """What a ``CustomFunction`` carries from its forward to its backward computation.

    Further attributes may be set on it freely.
    """

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()

    def save_for_backward(self, *arrays: Array) -> None:
        """Keep arrays for ``backward``; operands and the result are recognised as themselves."""
        self._saved = arrays

    @property
    def saved(self) -> tuple[Any, ...]:
        """What was saved: arrays, or tensors in their place if the gradient is recorded."""
        return self._saved


class CustomFunction:
    """Base of functions with a derivative of one's own; apply with ``MyFunction.apply(x, ...)``.

    Subclasses define both computations. ``forward`` gets arrays. ``backward`` gets the gradient
    of the result and gives one per operand, or None. It gets arrays, too; under ``create_graph``
    tensors: where it uses only operators and methods that both have, it can be differentiated.
    Truth values and whole numbers on the context stay arrays: they have no derivative.
    """

    @staticmethod
    def forward(context: Context, *operands: Array) -> Array:
        """The result for arrays, in any shape."""
        raise NotImplementedError("a custom function defines forward")

    @staticmethod
    def backward(context: Context, grad: Any) -> Any:
        """The gradient of each operand, in its shape: a tuple, or one alone."""
        raise NotImplementedError("a custom function defines backward")

    @classmethod
    def apply(cls, *operands: Tensor) -> Tensor:
        """The result for tensors, recorded on the tape.

        Raises:
            GradientError: on the way back, ``backward`` gives another number of gradients than
                there are operands; or its gradient is to be differentiated, and it does what
                tensors cannot, or uses what ``forward`` computed besides the result.

        """
        return apply(Function(cls.__name__, _forward, _vjp), _Call(cls), *operands)


class _Call:
    """One application: the class, the context, and what ``forward`` was given and gave."""

    def __init__(self, function: type[CustomFunction]) -> None:
        self.function, self.context = function, Context()
        self.arrays: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """What messages call the function."""
        return self.function.__name__

    def with_tensors(self, inputs: Sequence[Tensor], output: Tensor) -> Context:
        """The context with tensors in place of arrays of real numbers."""
        known = {id(a): t for a, t in zip(self.arrays, (output, *inputs), strict=True)}
        twin = Context()
        for attribute, value in vars(self.context).items():
            setattr(twin, attribute, _stand_in(self.name, value, known, inputs))
        return twin


def _forward(call: _Call, *arrays: Array) -> Array:
    views = [a.view() for a in arrays]  # which tell operands with the same elements apart
    result = call.function.forward(call.context, *views)
    call.arrays = (result, *views)
    return result


def _vjp(call: _Call, inputs: Sequence[Any], output: Any, grad: Any) -> tuple[Gradient, ...]:
    recorded = isinstance(output, Tensor)
    context = call.with_tensors(inputs, output) if recorded else call.context
    edits = grad.edits if isinstance(grad, Tensor) else 0
    try:
        given = call.function.backward(context, grad)
    except (AttributeError, TypeError, GradientError) as error:
        if not recorded:
            raise
        why = getattr(error, "problem", error)
        raise _cannot(call.name, f"its backward fails on tensors: {why}") from error
    if isinstance(grad, Tensor) and grad.edits != edits:
        raise _cannot(call.name, "its backward overwrites the gradient that it is given")
    parts = given if isinstance(given, tuple) else (given,)
    if len(parts) != len(inputs):
        what = f"'{call.name}' gave {len(parts)} gradients"
        raise GradientError(what, expected=f"{len(inputs)}, one (or None) for each operand")
    for i, part in enumerate(parts):
        if recorded and part is not None and not isinstance(part, Tensor):
            kind = type(part).__name__
            raise _cannot(call.name, f"its gradient {i} is of type {kind}, which records nothing")
    return parts


def _stand_in(name: str, value: Any, known: Mapping[int, Tensor], inputs: Sequence[Tensor]) -> Any:
    """The tensor of an array; of what ``forward`` computed, one that refuses to be derived."""
    if isinstance(value, tuple | list):
        alike = [_stand_in(name, v, known, inputs) for v in value]
        return alike if isinstance(value, list) else tuple(alike)
    if isinstance(value, dict):
        return {k: _stand_in(name, v, known, inputs) for k, v in value.items()}
    if id(value) in known:
        return known[id(value)]
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind != "f":
        return value

    def refuse(*_: Any) -> tuple[Gradient, ...]:
        what = f"its backward uses an array of shape {value.shape} that forward computed"
        hint = "save operands, the result and Python numbers alone; compute the rest in backward"
        raise _cannot(name, what, hint)

    return apply(Function(name, lambda *_: np.asarray(value), refuse), None, *inputs)


def _cannot(name: str, why: str, hint: str = "") -> GradientError:
    return GradientError(
        f"the gradient of '{name}' cannot be differentiated: {why}",
        op=name,
        expected="a backward that computes with tensors as with arrays",
        hint=hint or f"write it with {BOTH_HAVE}",
    )
