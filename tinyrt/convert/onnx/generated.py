"""ONNX ops that make constants: of a shape, of a range, of a diagonal."""

from __future__ import annotations

import numpy as np

from tinyrt.convert.onnx.call import Call
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.shapes import filled, steps
from tinyrt.convert.onnx.weights import DTYPES, KNOWN_TYPES, Array, element_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape, Value


def constant_of_shape(call: Call) -> Array:
    """One number everywhere."""
    value = call.node.get_tensor("value")
    fill = np.zeros(1, np.float32) if value is None else value
    return np.broadcast_to(fill.reshape(-1)[0], filled(call))


def numbers_in_range(call: Call) -> Array:
    """Numbers from a start to an end, by equal steps."""
    start, delta = (call.array(i).flat[0] for i in (0, 2))
    return np.asarray(start + np.arange(steps(call)[0]) * delta).astype(start.dtype)


def eye_shape(call: Call) -> Shape:
    """The matrix whose shape EyeLike takes.

    Raises:
        ModelFormatError: it has other dimensions than two.

    """
    shape = call.shape(0)
    if len(shape) != 2:
        raise ModelFormatError(f"EyeLike of {list(shape)}", expected="a matrix")
    return shape


def eye_like(call: Call) -> Array:
    """Ones on diagonal ``k`` of a matrix, zeros elsewhere.

    Raises:
        UnsupportedError: its elements have a type that no constant has.

    """
    rows, columns = eye_shape(call)
    return np.eye(rows, columns, call.node.get_int("k", 0), dtype=_element(call))


def _element(call: Call) -> np.dtype[np.generic]:
    """The element type that the node names, or else that of its operand."""
    if (to := call.node.get_int("dtype", 0)) and to not in DTYPES:
        raise UnsupportedError(
            f"a diagonal of {element_type(to)}",
            expected=KNOWN_TYPES,
            hint="export the model in float32",
        )
    operand = call.operand(0)
    value = operand.value if isinstance(operand, Quantized) else operand
    kind = value.dtype.numpy if isinstance(value, Value) else value.dtype
    return np.dtype(DTYPES[to] if to else kind)
