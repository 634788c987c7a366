"""Model file -> plan -> run."""

from tinyrt.interpreter.interpreter import AUTO, BACKENDS, DEFAULT_BACKEND, Interpreter
from tinyrt.interpreter.model import Model, load

__all__ = ["AUTO", "BACKENDS", "DEFAULT_BACKEND", "Interpreter", "Model", "load"]
