"""tinyrt: from a trained model to a microcontroller program, checked bit for bit.

The names below are imported when they are first used: ``import tinyrt`` itself costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinyrt.api import (
        Cascade,
        check,
        convert_model,
        cost,
        evaluate,
        inspect_model,
        quantize_model,
        run_emulated,
        train_int8_model,
        validate,
    )
    from tinyrt.errors import TinyrtError
    from tinyrt.export import ExportOptions, export_c
    from tinyrt.interpreter import Interpreter, Model, load
    from tinyrt.report import write_report
    from tinyrt.search import search_networks

__version__ = "0.1.0"

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    # Caches of graphs and kernels are filled by several threads, each step of them under this lock.
    raise ImportError(
        "tinyrt does not run without Python's global lock: set PYTHON_GIL=1 in the environment, "
        "or take a Python that is not free-threaded"
    )

_HOMES = {
    "Cascade": "tinyrt.api",
    "ExportOptions": "tinyrt.export",
    "Interpreter": "tinyrt.interpreter",
    "Model": "tinyrt.interpreter",
    "TinyrtError": "tinyrt.errors",
    "check": "tinyrt.api",
    "convert_model": "tinyrt.api",
    "cost": "tinyrt.api",
    "evaluate": "tinyrt.api",
    "export_c": "tinyrt.export",
    "inspect_model": "tinyrt.api",
    "load": "tinyrt.interpreter",
    "quantize_model": "tinyrt.api",
    "run_emulated": "tinyrt.api",
    "search_networks": "tinyrt.search",
    "train_int8_model": "tinyrt.api",
    "validate": "tinyrt.api",
    "write_report": "tinyrt.report",
}

__all__ = [
    "Cascade",
    "ExportOptions",
    "Interpreter",
    "Model",
    "TinyrtError",
    "check",
    "convert_model",
    "cost",
    "evaluate",
    "export_c",
    "inspect_model",
    "load",
    "quantize_model",
    "run_emulated",
    "search_networks",
    "train_int8_model",
    "validate",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tinyrt' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
