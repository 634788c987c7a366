"""The wrapper of every function of the Python interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from tinyrt.budget import limited
from tinyrt.errors import catch_all

Params = ParamSpec("Params")
Result = TypeVar("Result")

OWN = ("tinyrt", "numpy", "numba", "flatbuffers", "tflite", "onnx", "google")
"""Packages whose failures count as tinyrt's; the caller's callbacks keep their own errors."""


def entry(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Run the function under one budget, and have it fail with ``TinyrtError`` only.

    Its argument ``max_memory``, where it has one, is the budget's limit; a budget that the caller
    has opened goes on. Arguments that it does not have are a ``TypeError``, as of any function.
    """
    shape = signature(function)

    @wraps(function)
    def run(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        shape.bind(*args, **kwargs)
        memory: Any = kwargs.get("max_memory")
        with catch_all(only_from=OWN), limited(memory=memory):
            return function(*args, **kwargs)

    return run
