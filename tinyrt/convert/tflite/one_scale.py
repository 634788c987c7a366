"""Ops that move or pick integers between tensors of several scales: the integers stay.

TFLM and LiteRT copy the integers, whatever scales the tensors have. Here such ops keep to one
scale; what has another one gets it without a change of its integers (``quantize`` with ``kept``).
On int8, TFLM computes LOGISTIC, TANH and L2_NORMALIZATION for the scale that the format prescribes,
whatever the output has: likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinyrt.convert.tflite.declared import TAKEN_OVER
from tinyrt.convert.tflite.parts import Parts
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import Form

STORED = (DType.INT8, DType.INT16, DType.UINT8)
"""Element types with scales."""

COPIED = frozenset((
    *("BATCH_TO_SPACE_ND", "BROADCAST_TO", "DEPTH_TO_SPACE", "DYNAMIC_UPDATE_SLICE"),
    *("EMBEDDING_LOOKUP", "EXPAND_DIMS", "FILL", "GATHER", "GATHER_ND", "MAXIMUM", "MINIMUM"),
    *("MIRROR_PAD", "PACK", "PAD", "PADV2", "RESHAPE", "REVERSE_SEQUENCE", "REVERSE_V2", "SELECT"),
    *("SELECT_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SQUEEZE", "STRIDED_SLICE"),
    *("TILE", "TRANSPOSE"),
))  # fmt: skip
"""Ops of one output, which gives all tensors their scale: paddings are its zeros."""

CUT = frozenset(("SPLIT", "SPLIT_V", "UNPACK"))
"""Ops of several outputs, which take their scale from the input."""

PRESCRIBED = {"L2_NORMALIZATION": "l2_normalization", "LOGISTIC": "logistic", "TANH": "tanh"}
"""Ops whose int8 output has a prescribed scale -> the op in the graph."""


def on_one_scale(
    parts: Parts, builtin: str, inputs: Sequence[Value | None], outputs: Sequence[Value]
) -> tuple[list[Value | None], list[Value]]:
    """Inputs and outputs as the op takes them: of one scale, or of the one that it prescribes."""
    if not outputs:
        return list(inputs), list(outputs)
    if builtin in COPIED or (builtin == "CONCATENATION" and outputs[0].dtype is DType.INT16):
        q = outputs[0].q
        return [x and _kept(parts, x, outputs[0], q) for x in inputs], list(outputs)
    if builtin in CUT:
        source = next((x for x in inputs if x is not None and x.dtype in STORED), None)
        q = None if source is None else source.q
        return list(inputs), [_before(parts, y, q) for y in outputs]
    if builtin in PRESCRIBED and outputs[0].dtype is DType.INT8:
        scale, zero_point = OPS[PRESCRIBED[builtin]].forms[Form.INT8].fixed_output or (0.0, 0)
        q = QParams((scale,), zero_point)
        return list(inputs), [_before(parts, outputs[0], q)]
    return list(inputs), list(outputs)


def give_scale(parts: Parts, x: Value, y: Value) -> None:
    """Append what gives the integers of ``x`` the scale of ``y``."""
    parts.add("quantize", [parts.values[x.name]], y, QuantizeAttrs(y.dtype, kept=True))


def _differs(value: Value, q: QParams | None) -> bool:
    """Whether integers of that scale would stand for other numbers."""
    if value.dtype not in STORED or value.q is None or q is None:
        return False
    return (value.q.scales, value.q.zero_point) != (q.scales, q.zero_point)


def _kept(parts: Parts, x: Value, y: Value, q: QParams | None) -> Value:
    if x.dtype is not y.dtype or not _differs(x, q):
        return x
    alike = parts.new(x.name + TAKEN_OVER, replace(y, data=None), x.shape)
    if x.data is not None:
        return parts.set(alike, x.data)
    give_scale(parts, x, alike)
    return parts.values[alike.name]


def _before(parts: Parts, y: Value, q: QParams | None) -> Value:
    """The op's result, where the output has another scale."""
    return parts.new(f"{y.name}/own", replace(y, q=q)) if _differs(y, q) else y
