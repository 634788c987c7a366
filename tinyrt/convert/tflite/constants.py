"""TFLite ops that make constants: FILL, DENSIFY, RANGE and their like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyrt.budget import current
from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Shape, Value
from tinyrt.ops.repeat import BroadcastToAttrs
from tinyrt.ops.shared.shapes import broadcast


def _filled(parts: Parts, y: Value, shape: Shape, number: Any) -> None:
    """Make the output a constant of one number, if memory allows."""
    y = parts.state_shape(y, shape)
    current().hold(y.size * y.dtype.itemsize, f"the constant {y.describe()}")
    parts.set(y, np.full(y.shape, number, y.dtype.numpy))


def fill(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """A number in every place of a shape: a constant, or a broadcast of what is computed."""
    del options
    shape, number, y = constant_ints(inputs, 0, "the shape"), operand(inputs, 1), only(outputs)
    if min(shape, default=1) < 1 or number.size != 1 or (number.dtype, number.q) != (y.dtype, y.q):
        raise ModelFormatError(
            f"FILL of {list(shape)} with {number.describe()}",
            tensor=y.describe(),
            expected="sizes of at least 1, and one number of the output's type",
        )
    if number.data is not None:
        _filled(parts, y, shape, number.data.item())
        return
    alone = parts.reshape(number, parts.new(f"{y.name}/number", number, ()))
    parts.add("broadcast_to", [alone], y, BroadcastToAttrs(shape))


def zeros_like(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Integers of 0, whatever their zero point, as in TFLM."""
    del options
    _filled(parts, only(outputs), operand(inputs, 0).shape, 0)


def broadcast_args(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """The shape that two shapes broadcast to."""
    del options
    shape = broadcast(*(constant_ints(inputs, i, "the shape") for i in range(2)))
    parts.define(parts.state_shape(only(outputs), (len(shape),)), shape)


def densify(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """What is stored without its zeros, with them: as such constants are read."""
    del options
    x, y = operand(inputs, 0), only(outputs)
    if x.data is None or (x.dtype, x.q) != (y.dtype, y.q):
        raise ModelFormatError(
            f"DENSIFY of {x.describe()}", tensor=y.describe(), expected="a constant of its type"
        )
    parts.set(parts.state_shape(y, x.shape), x.data)


def number_range(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Numbers from a first one up to a limit, each a step from the last: added up, as in LiteRT."""
    del options
    given, y = [operand(inputs, i) for i in range(3)], only(outputs)
    for value, what in zip(given, ("start", "limit", "step"), strict=True):
        if value.data is None:
            raise UnsupportedError(
                f"the {what} of RANGE is computed at run time",
                tensor=value.describe(),
                expected="a constant",
                hint="export the model with fixed shapes",
            )
        if value.size != 1 or value.dtype is not y.dtype:
            raise ModelFormatError(
                f"the {what} of RANGE is {value.describe()}", expected=f"one {y.dtype.value}"
            )
    start, limit, step = (value.data.item() for value in given if value.data is not None)
    count = math.ceil((limit - start) / step) if step else 0
    if count < 1:
        raise ModelFormatError(
            f"RANGE from {start} to {limit} in steps of {step} is empty",
            expected="at least one number",
        )
    y = parts.state_shape(y, (count,))
    current().hold(y.size * y.dtype.itemsize, f"the constant {y.describe()}")
    steps = np.full(count, step, y.dtype.numpy)
    steps[0] = start
    parts.set(y, np.add.accumulate(steps, out=steps))
