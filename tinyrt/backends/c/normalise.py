"""Ops that normalise rows along the last dimension: softmax and l2_normalization."""

from __future__ import annotations

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Target, call
from tinyrt.errors import UnsupportedError
from tinyrt.fixedpoint import INT16_MAX
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops import prepared
from tinyrt.ops.l2_normalization import L2NormalizationS8
from tinyrt.ops.log_softmax import LogSoftmaxS8, require_summable
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.softmax import SUM_INTEGER_BITS, SoftmaxAttrs, SoftmaxS8, SoftmaxS16

TABLE_ENTRIES = 256
"""Entries of a softmax's table of exponentials."""

PAIRS_SHIFTS = range(-15, 14)
"""Exponents for differences of int16 that fit 31 bits when scaled."""


def _rows(x: Value) -> tuple[int, int]:
    """The number of rows, and the elements of each."""
    length = x.shape[-1]
    return x.size // length, length


def softmax_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_softmax_s8``, or of ``tinyrt_softmax_table_s8``.

    A table of exponentials pays where the kernel reads every entry at least once on average. It
    also serves input scales that are finer than Q5.26, and outputs in int16.

    Raises:
        UnsupportedError: a row is too long for the sum's integer bits.

    """
    del target
    x = node.input(0)
    p = prepared(node, SoftmaxS8)
    rows, length = _rows(x)
    _require_shorter(x, 1 << SUM_INTEGER_BITS)
    fields: Fields = {"rows": rows, "c": length}
    widen = p.dtype is DType.INT16
    kernel = "tinyrt_softmax_s8"
    if x.size >= TABLE_ENTRIES or p.shift < 0 or widen:
        kernel = "tinyrt_softmax_table_s8"
        fields["exponentials"] = Data("exponentials", p.exponentials(), "int32_t")
    else:
        fields |= {"x_mult": p.mult, "x_shift": p.shift, "diff_min": p.diff_min}
    params = Params(f"{kernel}_params", fields)
    return (call(f"{kernel}_s16" if widen else kernel, params, x, node.output),)


def softmax_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_softmax_s16``, or that of int8 where only the output is wider.

    With DSP instructions it is ``tinyrt_softmax_pairs_s16`` for all but very coarse inputs.

    Raises:
        UnsupportedError: a row is too long for its int32 sum.

    """
    x = node.input(0)
    if x.dtype is DType.INT8:
        return softmax_s8_calls(node, target)
    p = prepared(node, SoftmaxS16)
    rows, length = _rows(x)
    _require_shorter(x, INT16_MAX + 1)
    fields: Fields = {
        "rows": rows,
        "c": length,
        "x_mult": p.mult,
        "x_shift": p.shift,
        "exponentials": Data("exponentials", p.exponentials, "int16_t"),
        "reciprocals": Data("reciprocals", p.reciprocals, "int16_t"),
    }
    params = Params("tinyrt_softmax_s16_params", fields)
    pairs = target.isa is InstructionSet.DSP and p.shift in PAIRS_SHIFTS
    return (
        call("tinyrt_softmax_pairs_s16" if pairs else "tinyrt_softmax_s16", params, x, node.output),
    )


def _require_shorter(x: Value, limit: int) -> None:
    """Raise ``UnsupportedError`` unless rows have fewer elements than that."""
    length = x.shape[-1]
    if length >= limit:
        raise UnsupportedError(
            f"softmax over {length} elements overflows its int32 sum",
            tensor=x.describe(),
            expected=f"fewer than {limit}",
        )


def softmax_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_softmax_f32``."""
    del target
    x = node.input(0)
    return (
        call(
            "tinyrt_softmax_f32", *_rows(x), float(node.attrs_as(SoftmaxAttrs).beta), x, node.output
        ),
    )


def log_softmax_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_log_softmax_s8``.

    Raises:
        UnsupportedError: a row is too long for the sum's integer bits.

    """
    del target
    x = node.input(0)
    p = prepared(node, LogSoftmaxS8)
    require_summable(x)
    rows, length = _rows(x)
    fields: Fields = {
        "rows": rows,
        "c": length,
        "exponentials": Data("exponentials", p.exponentials(), "int32_t"),
        "differences": Data("differences", p.differences(), "int32_t"),
        "back_mult": p.back_mult,
        "back_shift": p.back_shift,
        "diff_min": p.diff_min,
    }
    params = Params("tinyrt_log_softmax_s8_params", fields)
    return (call("tinyrt_log_softmax_s8", params, x, node.output),)


def log_softmax_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_log_softmax_f32``."""
    del target
    x = node.input(0)
    return (call("tinyrt_log_softmax_f32", *_rows(x), x, node.output),)


def l2_normalization_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_l2_normalization_s8``."""
    del target
    x = node.input(0)
    p = prepared(node, L2NormalizationS8)
    numbers = *_rows(x), p.x_zp, p.early_bits
    return (call("tinyrt_l2_normalization_s8", *numbers, x, node.output),)


def l2_normalization_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_l2_normalization_f32``."""
    del target
    x = node.input(0)
    return (call("tinyrt_l2_normalization_f32", *_rows(x), x, node.output),)


KERNELS: Choosers = {
    "l2_normalization": {
        Form.INT8: always(l2_normalization_s8_calls),
        Form.FLOAT: always(l2_normalization_f32_calls),
    },
    "log_softmax": {
        Form.INT8: always(log_softmax_s8_calls),
        Form.FLOAT: always(log_softmax_f32_calls),
    },
    "softmax": {
        Form.INT8: always(softmax_s8_calls),
        Form.INT16X8: always(softmax_s16_calls),
        Form.FLOAT: always(softmax_f32_calls),
    },
}
