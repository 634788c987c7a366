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
from tinyrt.interpreter.tensors import MAX_MEMORY

__all__ = [
    "AUTO",
    "BACKENDS",
    "CUDA",
    "DEFAULT_BACKEND",
    "FALLBACK",
    "GPU_BACKENDS",
    "MAX_MEMORY",
    "Interpreter",
    "Model",
    "load",
]
