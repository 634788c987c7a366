"""What holds within a ``with`` block for every ``apply``: whether, and for whom, it records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from tinyrt.train.core.function import Array, Function

if TYPE_CHECKING:
    from tinyrt.train.core.tape import Step
    from tinyrt.train.core.tensor import Tensor

Value = TypeVar("Value")
Listener = Callable[[Function, Any, tuple["Tensor", ...], "Tensor"], None]
Watch = Callable[["Step", "Tensor", Any, "Tensor", Any], None]

GRAD_ENABLED: ContextVar[bool] = ContextVar("grad_enabled", default=True)
LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
TRACED: ContextVar[bool] = ContextVar("traced", default=False)
WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
PRESET_OUTPUT: ContextVar[Array | None] = ContextVar("preset_output", default=None)


@contextmanager
def _setting(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def no_grad() -> AbstractContextManager[None]:
    """Compute without a tape: results do not require gradients, and operands are not kept."""
    return _setting(GRAD_ENABLED, False)


def enable_grad() -> AbstractContextManager[None]:
    """Compute with a tape again, inside of ``no_grad``."""
    return _setting(GRAD_ENABLED, True)


def preset_output(value: Array) -> AbstractContextManager[None]:
    """The one ``apply`` within a ``with`` block returns ``value`` and computes nothing."""
    return _setting(PRESET_OUTPUT, value)


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Tell ``listener`` of every ``apply``: function, attributes, operands, result."""
    return _setting(LISTENER, listener)


def watching(watch: Watch) -> AbstractContextManager[None]:
    """Tell ``watch`` of every gradient: step, result, what arrived there, operand, its part."""
    return _setting(WATCH, watch)


@contextmanager
def tracing(listener: Listener) -> Iterator[None]:
    """``listening``, while ``is_traced``."""
    with listening(listener), _setting(TRACED, True):
        yield


def is_traced() -> bool:
    """Whether a graph comes of this: a module may choose among ops that compute the same."""
    return TRACED.get()
