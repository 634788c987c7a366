"""Model file -> plan -> run."""

from tinyrt.interpreter.interpreter import AUTO, BACKENDS, DEFAULT_BACKEND, Interpreter
from tinyrt.interpreter.model import Model, load
from tinyrt.interpreter.tensors import MAX_MEMORY

__all__ = ["AUTO", "BACKENDS", "DEFAULT_BACKEND", "MAX_MEMORY", "Interpreter", "Model", "load"]
