"""equal, not_equal, less, less_equal, greater, greater_equal: of two tensors, broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError, VerifyError
from tinyrt.fixedpoint import multiply_by_quantized_multiplier, quantize_multiplier
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.emit import broadcast_fields, emit_lut
from tinyrt.ops.lut import LutS8
from tinyrt.ops.shapes import infer_binary
from tinyrt.ops.spec import (
    Array,
    CWriter,
    IntegerForm,
    NoAttrs,
    OpSpec,
    Quant,
    limits_of,
    no_rows,
    qparams,
    require_alike,
)
from tinyrt.ops.sweep import elementwise

COMPARABLE = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)

LEFT_SHIFT = 8
"""Bits by which centred inputs are raised before they are rescaled: to steps of 1/256."""

TABLE_PAYS = 128
"""Outputs from which on a table of 1 KB is worth its flash: it takes a quarter of the instructions
of rescaling both inputs, an eighth on cores without long multiplication."""

ACCEPTED = {
    "equal": 0b0010,
    "not_equal": 0b1101,
    "less": 0b0001,
    "less_equal": 0b0011,
    "greater": 0b0100,
    "greater_equal": 0b0110,
}
"""Comparison -> which orders make it true: less, equal, greater, neither, from bit 0 on."""

BY_STORED_VALUE = ("less", "less_equal", "greater", "greater_equal")
"""Comparisons that LiteRT makes of int16 values as they are stored, whatever their scales."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What the integer kernels know beforehand.

    Attributes:
        zps: both inputs' zero points.
        mults: mantissas of both scales.
        shifts: their exponents.
        stored: whether stored values compare as rescaled ones do: both inputs have the same
            parameters, and no two of their values fall together when they are rescaled.

    """

    zps: tuple[int, int]
    mults: tuple[int, int]
    shifts: tuple[int, int]
    stored: bool

    def rescaled(self, i: int, x: Array) -> NDArray[np.int64]:
        """``scale * (x - zp)`` of input ``i`` in steps of 1/256, rounded twice as TFLite does."""
        raised = (x.astype(np.int64) - self.zps[i]) << LEFT_SHIFT
        return multiply_by_quantized_multiplier(raised, self.mults[i], self.shifts[i])


def infer(attrs: NoAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """Two inputs of one dtype -> truth values of their broadcast shape."""
    del attrs
    (y,) = infer_binary(inputs)
    if y.dtype not in COMPARABLE:
        allowed = ", ".join(dtype.value for dtype in COMPARABLE)
        raise ShapeError(f"inputs are {y.dtype.short}", expected=allowed)
    return (TensorType(DType.BOOL, y.shape),)


def prepare(node: BoundNode) -> Compared:
    """Each input's scale is a multiplier of its own, below 1: TFLite has no other."""
    a, b = node.input(0), node.input(1)
    require_alike(a, b)
    (a_scale, a_zp), (b_scale, b_zp) = qparams(a), qparams(b)
    (a_mult, a_shift), (b_mult, b_shift) = _multiplier(a), _multiplier(b)
    found = Compared((a_zp, b_zp), (a_mult, b_mult), (a_shift, b_shift), False)
    if (a_scale, a_zp) != (b_scale, b_zp):
        return found
    low, high = limits_of(a.dtype)
    rising = bool(np.all(np.diff(found.rescaled(0, np.arange(low, high + 1))) > 0))
    return Compared(found.zps, found.mults, found.shifts, rising)


def _multiplier(x: Value) -> tuple[int, int]:
    scale = float(qparams(x)[0])
    if not scale < 1:
        raise VerifyError(
            f"scale {scale:.6g}",
            tensor=x.describe(),
            expected="below 1: TFLite's comparisons have no greater multiplier",
            hint="divide both inputs by one power of two first",
        )
    return quantize_multiplier(scale)


def prepare_stored(node: BoundNode) -> Compared:
    """int16 values are compared as they are stored, so both inputs share their parameters."""
    a, b = node.input(0), node.input(1)
    require_alike(a, b)
    if qparams(a) != qparams(b):
        raise VerifyError(
            f"scales {qparams(a)[0]} and {qparams(b)[0]}",
            tensor=b.describe(),
            expected=f"those of {a.describe()}: {node.op} compares int16 values as they are stored",
            hint="quantise both inputs alike",
        )
    return Compared((0, 0), (0, 0), (0, 0), True)


def _ref_f32(function: Any, attrs: NoAttrs, a: Array, b: Array) -> Array:
    del attrs
    return np.asarray(function(a, b))


def ref(function: Any, p: Compared, a: Array, b: Array) -> Array:
    """The comparison of rescaled values."""
    if p.stored:
        return np.asarray(function(a, b))
    return np.asarray(function(p.rescaled(0, a), p.rescaled(1, b)))


def _emit_f32(accepted: int, node: BoundNode, c: CWriter) -> None:
    """Write the call of ``tinyrt_compare_f32``, or of that for an integer type."""
    fields = {**broadcast_fields(node), "accepted": accepted}
    params = c.params("tinyrt_compare_params", fields)
    _call(f"tinyrt_compare_{node.input(0).dtype.short}", params, node, c)


def _emit_c(function: Any, accepted: int, node: BoundNode, p: Compared, c: CWriter) -> None:
    """Write the comparison as a table where one input is a number, else as a call of a kernel."""
    table = _table(function, node, p)
    if table is not None:
        emit_lut(*table, c)
        return
    if p.stored:
        _emit_f32(accepted, node, c)
        return
    if node.output.size >= TABLE_PAYS and node.input(0).dtype is DType.INT8 and not c.small:
        _emit_intervals(accepted, node, p, c)
        return
    fields: dict[str, object] = {"order": {**broadcast_fields(node), "accepted": accepted}}
    for i, name in enumerate("ab"):
        fields |= {f"{name}_zp": p.zps[i], f"{name}_mult": p.mults[i], f"{name}_shift": p.shifts[i]}
    params = c.params("tinyrt_compare_rescaled_params", fields)
    _call(f"tinyrt_compare_rescaled_{node.input(0).dtype.short}", params, node, c)


def _emit_intervals(accepted: int, node: BoundNode, p: Compared, c: CWriter) -> None:
    """Write the call of ``tinyrt_compare_table_s8``.

    Rescaled values never fall as stored ones rise. So for each ``b``, those ``a`` that are less,
    equal and greater follow each other, and each comparison accepts one interval of them, or all
    but one.
    """
    values = np.arange(-128, 128)
    a, b = p.rescaled(0, values), p.rescaled(1, values)
    ends = [np.zeros(256, int), np.searchsorted(a, b), np.searchsorted(a, b, "right")]
    ends.append(np.full(256, 256))
    orders = [i for i in range(3) if accepted >> i & 1]
    inside = orders in ([0], [1], [2], [0, 1], [1, 2])
    if not inside:
        orders = [i for i in range(3) if i not in orders]
    first, behind = ends[orders[0]], ends[orders[-1] + 1]
    entries = (first | (behind - first) << 16).astype(np.uint32)
    table = c.array("uint32_t", "intervals", np.roll(entries, -128))
    params = c.params("tinyrt_compare_params", {**broadcast_fields(node), "accepted": int(inside)})
    tensors = (node.input(0), node.input(1), node.output)
    c.call("tinyrt_compare_table_s8", params, table, *(c.pointer(v) for v in tensors))


def _call(kernel: str, params: str, node: BoundNode, c: CWriter) -> None:
    c.call(kernel, params, *(c.pointer(v) for v in (node.input(0), node.input(1), node.output)))


def _table(function: Any, node: BoundNode, p: Compared) -> tuple[BoundNode, LutS8] | None:
    """The node with one input only, and its answers; None where that input does not say all."""
    values = np.arange(-128, 128).astype(np.int8)
    for i in (0, 1):
        x, number = node.input(i), node.input(1 - i)
        if number.data is None or number.size > 1 or x.size != node.output.size:
            continue
        if x.dtype is not DType.INT8 or x.is_constant:
            continue
        pair = (values, number.data.reshape(1))
        answers = ref(function, p, *(pair if i == 0 else pair[::-1]))
        return _of_one(node, x), LutS8.of(answers.astype(np.int64))
    return None


def _of_one(node: BoundNode, x: Value) -> BoundNode:
    return BoundNode(node.index, node.node, (x,), node.outputs)


def _spec(name: str) -> OpSpec:
    function: Callable[..., Any] = getattr(np, name)
    emit_c = partial(_emit_c, function, ACCEPTED[name])
    prepare_s16 = prepare_stored if name in BY_STORED_VALUE else prepare
    return OpSpec(
        name=name,
        attrs=NoAttrs,
        arity=(2, 2),
        infer=infer,
        quant=Quant.INPUTS_ONLY,
        ref_f32=partial(_ref_f32, function),
        prepare_s8=prepare,
        ref_s8=partial(ref, function),
        sweep=elementwise,
        rows=no_rows,
        emit_c=emit_c,
        emit_f32=partial(_emit_f32, ACCEPTED[name]),
        int16x8=IntegerForm(prepare_s16, partial(ref, function), sweep=elementwise, emit_c=emit_c),
    )


EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = map(_spec, ACCEPTED)
