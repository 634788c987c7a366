"""Forms of ops that the graph has no single op for: they are read as several.

A fused activation of integers is a minimum and a maximum. A padding whose value is computed is a
part of a tensor that holds nothing else. Slopes of PRELU that are larger than the input are met by
an input that is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyrt.convert.tflite.codec import Operands, activation_of, constant_ints, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.ir import DType, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.repeat import BroadcastToAttrs
from tinyrt.ops.shared.activation import clamp_of
from tinyrt.ops.shared.shapes import broadcast

WriteOut = Callable[[Parts, Any, Operands, Sequence[Value]], bool]
"""Appends the ops; false where one op is enough, or where its own errors say what is wrong."""

PLAIN = (DType.INT32, DType.INT64)
"""Integers that stand for themselves."""


def _clamped(op: str, attrs: object) -> WriteOut:
    def write_out(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> bool:
        pair, y, activation = _pair(inputs, outputs), outputs[0], activation_of(options)
        if pair is None or y.dtype not in PLAIN or activation == "NONE":
            return False
        shape = broadcast(pair[0].shape, pair[1].shape)
        limits = {"maximum": clamp_of(activation)[0], "minimum": clamp_of(activation)[1]}
        steps = [(kind, limit) for kind, limit in limits.items() if math.isfinite(limit)]
        made = parts.add(op, pair, parts.new(f"{y.name}/{op}", y, shape), attrs)
        for i, (kind, limit) in enumerate(steps):
            bound = _number(parts, f"{y.name}/limit", y, limit)
            is_last = i == len(steps) - 1
            result = y if is_last else parts.new(f"{y.name}/{kind}", y, shape)
            made = parts.add(kind, [made, bound], result)
        return True

    return write_out


def _pair(inputs: Operands, outputs: Sequence[Value]) -> tuple[Value, Value] | None:
    """Both inputs of an op with one output; None of others."""
    if len(inputs) != 2 or len(outputs) != 1 or inputs[0] is None or inputs[1] is None:
        return None
    return inputs[0], inputs[1]


def _number(parts: Parts, name: str, like: Value, number: float) -> Value:
    """A constant without dimensions."""
    value = parts.new(name, like, ())
    return parts.set(value, np.array(number, value.dtype.numpy))


def _padded_by_computed(
    parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]
) -> bool:
    del options
    x, fill = operand(inputs, 0), inputs[2] if len(inputs) > 2 else None
    pads = constant_ints(inputs, 1, "paddings")
    if fill is None or fill.is_constant or fill.size != 1 or len(outputs) != 1:
        return False
    if len(pads) != 2 * len(x.shape) or min(pads, default=0) < 0:
        return False
    y, before, after = outputs[0], pads[::2], pads[1::2]
    shape = tuple(map(sum, zip(before, x.shape, after, strict=True)))
    one = parts.reshape(fill, parts.new(f"{y.name}/fill", fill, (1,) * len(shape)))
    whole = parts.new(f"{y.name}/border", y, shape)
    border = parts.add("broadcast_to", [one], whole, BroadcastToAttrs(shape))
    begin = parts.new(f"{y.name}/begin", Value("", DType.INT32, (len(shape),)))
    begin = parts.set(begin, np.array(before, np.int32))
    parts.add("dynamic_update_slice", [border, x, begin], y)
    return True


def _sloped(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> bool:
    del options
    pair = _pair(inputs, outputs)
    if pair is None:
        return False
    (x, slopes), y = pair, outputs[0]
    shape = broadcast(x.shape, slopes.shape)
    if shape == x.shape:
        return False
    wide = parts.new(f"{y.name}/repeated", x, shape)
    repeated = parts.add("broadcast_to", [x], wide, BroadcastToAttrs(shape))
    parts.add("prelu", [repeated, slopes], y)
    return True


WRITTEN_OUT: dict[str, WriteOut] = {
    "ADD": _clamped("add", AddAttrs()),
    "DIV": _clamped("div", DivAttrs()),
    "MUL": _clamped("mul", MulAttrs()),
    "PADV2": _padded_by_computed,
    "PRELU": _sloped,
    "SUB": _clamped("sub", AddAttrs()),
}
"""Builtin op name -> how its rarer forms are read."""
