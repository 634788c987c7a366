"""Model file -> plan -> run."""

from tinyrt.interpreter.interpreter import BACKENDS, Interpreter
from tinyrt.interpreter.model import Model, load

__all__ = ["BACKENDS", "Interpreter", "Model", "load"]
