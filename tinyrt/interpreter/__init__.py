"""Model file -> plan -> run."""

from tinyrt.interpreter.backends import (
    AUTO,
    BACKENDS,
    CUDA,
    DEFAULT_BACKEND,
    FALLBACK,
    GPU_BACKENDS,
)
from tinyrt.interpreter.interpreter import Interpreter
from tinyrt.interpreter.model import Model, load

__all__ = [
    "AUTO",
    "BACKENDS",
    "CUDA",
    "DEFAULT_BACKEND",
    "FALLBACK",
    "GPU_BACKENDS",
    "Interpreter",
    "Model",
    "load",
]
