"""Functions and modules of the package, as test modules get them to tell what functions return."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

Listener: TypeAlias = Callable[[str, Callable[[], Any]], Any]
"""Takes a function's name and a call of it; calls, and returns what the call does."""

COMPILED = ("tinyrt.backends.numba", "tinyrt.floatmath")
"""Whose functions are called by what Numba compiles, which takes nothing in their place."""

SHARED = re.compile(r"tests\.(?!.*_plugin$).*")
"""Modules of tests but for those of pytest."""


class Called:
    """In the place of a function, and equal to it."""

    def __init__(self, function: FunctionType, listener: Listener) -> None:
        functools.update_wrapper(self, function)
        self.function, self.listener = function, listener
        self.name = f"{function.__module__}.{function.__qualname__}".removeprefix("tinyrt.")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.listener(self.name, lambda: self.function(*arguments, **options))

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, Called) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.function,)


class Watched(ModuleType):
    """In the place of a module; what is put into it goes into the module."""

    def __init__(self, module: ModuleType, listener: Listener) -> None:
        object.__setattr__(self, "_itself", (module, listener))

    def __getattribute__(self, name: str) -> Any:
        module, listener = object.__getattribute__(self, "_itself")
        value = getattr(module, name)
        return called(value, listener) if _is_listened_to(value) else value

    def __setattr__(self, name: str, value: Any) -> None:
        module, _ = object.__getattribute__(self, "_itself")
        setattr(module, name, value.function if isinstance(value, Called) else value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_itself")[0], name)


@functools.cache
def called(function: FunctionType, listener: Listener) -> Called:
    """The one that stands in the function's place everywhere."""
    return Called(function, listener)


def listen(modules: Iterable[ModuleType], listener: Listener) -> None:
    """Put the listener between the package and these modules, and all that tests share."""
    shared = {m for name, m in sys.modules.items() if SHARED.fullmatch(name)}
    for module in shared | set(modules):
        for key, value in list(vars(module).items()):
            if _is_listened_to(value):
                setattr(module, key, called(value, listener))
            elif type(value) is ModuleType and _is_ours(value.__name__):
                setattr(module, key, Watched(value, listener))


def _is_listened_to(value: object) -> bool:
    return isinstance(value, FunctionType) and _is_ours(value.__module__ or "")


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "tinyrt" and not module.startswith(COMPILED)


def _itself(function: FunctionType) -> FunctionType:
    """What another process gets: there nobody listens."""
    return function
