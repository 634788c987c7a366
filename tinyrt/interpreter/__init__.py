"""Model file -> plan -> run."""

from tinyrt.interpreter.interpreter import (
    AUTO,
    BACKENDS,
    CUDA,
    DEFAULT_BACKEND,
    FALLBACK,
    GPU_BACKENDS,
    Interpreter,
)
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
