"""Inputs of a .tflite file's ops that the graph needs otherwise than the file has them.

Places that are computed become int32. Joins leave out what has no elements. On uint8, CONCATENATION
brings its inputs to the output's scale; other ops that become joins, such as PACK and
REVERSE_SEQUENCE, do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Value
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.quantize import QuantizeAttrs

JOIN = "CONCATENATION"

PLACES = {"DYNAMIC_UPDATE_SLICE": 2, "GATHER": 1, "GATHER_ND": 1, "SLICE": 1}
"""Builtin op -> which of its inputs says where it reads or writes."""


def operands_of(
    parts: Parts, builtin: str, inputs: Sequence[Value | None], outputs: Sequence[Value]
) -> list[Value | None]:
    """The inputs as the graph needs them.

    Raises:
        UnsupportedError: an op other than a join reads a tensor without elements.

    """
    filled = [value for value in inputs if value is None or value.name not in parts.empty]
    if builtin == JOIN and outputs:
        return [None if x is None else _rescaled(parts, x, outputs[0]) for x in filled]
    empty = [value for value in inputs if value is not None and value.name in parts.empty]
    if empty:
        raise UnsupportedError(
            "the op reads a tensor without elements",
            tensor=empty[0].describe(),
            expected="at least one element, but for what CONCATENATION joins",
        )
    at = PLACES.get(builtin, len(filled))
    return [_as_int32(parts, x) if i == at else x for i, x in enumerate(filled)]


def _as_int32(parts: Parts, x: Value | None) -> Value | None:
    """Places in the integers that ops take."""
    if x is None or x.is_constant or x.dtype is not DType.INT64:
        return x
    name = f"{x.name}/int32"
    narrow = parts.new(name, Value(name, DType.INT32, x.shape))
    return parts.add("cast", [x], narrow, CastAttrs(DType.INT32))


def _rescaled(parts: Parts, x: Value, y: Value) -> Value:
    """The input of a join, on the output's scale where both are uint8."""
    on_bytes = x.dtype is y.dtype is DType.UINT8
    if not on_bytes or x.q is None or y.q is None or x.q == y.q:
        return x
    rescaled = parts.new(f"{x.name}/rescaled", y, x.shape)
    return parts.add("quantize", [x], rescaled, QuantizeAttrs(DType.UINT8, legacy=True))
