"""Ops that the graph has in float only, and files on integers: read between a dequantize and back.

Only such ops as give the very answers of their integer kernels so: those that choose by order,
among values of one scale.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.convert.tflite_codec import Operands
from tinyrt.convert.tflite_parts import Parts
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.quantize import Affine, QuantizeAttrs, dequantize_array

BY_ORDER = frozenset(
    (
        *("SELECT", "SELECT_V2"),
        *("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"),
    )
)
"""Builtin names of these ops."""


def is_floated(builtin: str, inputs: Operands) -> bool:
    """Whether the op is one of these, on quantised values."""
    return builtin in BY_ORDER and any(v is not None and v.q is not None for v in inputs)


def floated_inputs(parts: Parts, inputs: Operands, outputs: Sequence[Value]) -> list[Value | None]:
    """The inputs, those that are quantised as real values.

    Raises:
        UnsupportedError: scales or zero points differ.

    """
    quantised = [v for v in (*inputs, *outputs) if v is not None and v.q is not None]
    first = quantised[0]
    for value in quantised:
        if value.q != first.q or value.dtype is not first.dtype:
            raise UnsupportedError(
                "the op compares or chooses among tensors of different scales",
                tensor=value.describe(),
                expected=f"the dtype, scale and zero point of {first.describe()}",
                hint="quantise these tensors alike",
            )
    return [None if v is None else _real(parts, v, v.q) for v in inputs]


def _real(parts: Parts, value: Value, q: QParams | None) -> Value:
    if q is None:
        return value
    wish = f"{value.name}/real"
    if value.data is not None:
        return parts.constant(wish, dequantize_array(Affine(q.scale, q.zero_point), value.data))
    real = parts.new(wish, Value(wish, DType.FLOAT32, value.shape))
    return parts.add("dequantize", [value], real)


def floated_outputs(parts: Parts, outputs: Sequence[Value]) -> list[Value]:
    """Where the op writes to: real values in place of those that are quantised."""
    return [
        y if y.q is None else parts.new(f"{y.name}/real", Value(y.name, DType.FLOAT32, y.shape))
        for y in outputs
    ]


def quantise_outputs(parts: Parts, real: Sequence[Value], outputs: Sequence[Value]) -> None:
    """The real values, quantised to the outputs."""
    for source, target in zip(real, outputs, strict=True):
        if source is not target:
            parts.add("quantize", [source], target, QuantizeAttrs(target.dtype))
