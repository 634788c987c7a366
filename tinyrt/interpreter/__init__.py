"""Model file -> plan -> run."""

from tinyrt.interpreter.interpreter import BACKENDS, DEFAULT_BACKEND, Interpreter
from tinyrt.interpreter.model import Model, load

__all__ = ["BACKENDS", "DEFAULT_BACKEND", "Interpreter", "Model", "load"]
