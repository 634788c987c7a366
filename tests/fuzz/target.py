"""What must hold for any bytes at all: a model runs, or a ``TinyrtError`` says why it does not."""

from __future__ import annotations

import numpy as np

from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter

MAX_MEMORY = 1 << 24


def open_and_run(data: bytes, backend: str = "numba") -> bool:
    """Whether the bytes are a model that ran once; everything but a ``TinyrtError`` comes through.

    Args:
        data: the bytes of a .tflite file, or of none.
        backend: the interpreter's backend.

    """
    # A broken float weight may well be a NaN.
    with np.errstate(all="ignore"):
        return _ran(data, backend)


def _ran(data: bytes, backend: str) -> bool:
    try:
        interpreter = Interpreter(model_content=data, backend=backend, max_memory=MAX_MEMORY)
        interpreter.allocate_tensors()
        for detail in (*interpreter.get_input_details(), *interpreter.get_output_details()):
            interpreter.get_tensor(detail["index"])
        interpreter.invoke()
    except TinyrtError:
        return False
    return True
