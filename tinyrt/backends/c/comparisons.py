"""Comparisons, truth values, and ops that choose an input: select_v2, minimum and maximum."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.floats import zip_f32
from tinyrt.backends.c.kernel import Calls, Data, Field, Fields, Params, Target, call
from tinyrt.backends.c.tables import lut_calls
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.memory.sweep import elementwise
from tinyrt.ops import OPS, prepared
from tinyrt.ops.comparison import ACCEPTED, Compared
from tinyrt.ops.shared.lut import LutS8, input_values
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import broadcast_fields, merge_axes, repeating_strides

TABLE_PAYS = 128
"""Outputs from which a table of 1 KB is worth its flash: it takes a quarter of the instructions of
rescaling both inputs, an eighth on cores without long multiplication."""

AND, OR, NOR = 0b1000, 0b1110, 0b0001
"""Functions of two truth values: bit ``2 * a + b`` is the value."""


def compare_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_compare_f32``, or of that for an integer type."""
    del target
    fields = _order_fields(node, ACCEPTED[node.op])
    kernel = f"tinyrt_compare_{node.input(0).dtype.short}"
    return (call(kernel, Params("tinyrt_compare_params", fields), *node.inputs, node.output),)


def compare_quantized_calls(node: BoundNode, target: Target) -> Calls:
    """The call of a comparison of quantised values.

    The call looks up a table where one input is a constant number, and compares stored values where
    that is exact. Otherwise it is ``tinyrt_compare_table_s8`` or ``tinyrt_compare_rescaled_s8``, or
    the latter's variant on int16.
    """
    p = prepared(node, Compared)
    lookup = _table(node, p)
    if lookup is not None:
        x, table = lookup
        return lut_calls(table, x, node.output)
    if p.stored:
        return compare_calls(node, target)
    x = node.input(0)
    if node.output.size >= TABLE_PAYS and x.dtype is DType.INT8 and not target.small:
        return _intervals_calls(node, p)
    fields: Fields = {"order": _order_fields(node, ACCEPTED[node.op])}
    for i, name in enumerate("ab"):
        fields |= {f"{name}_zp": p.zps[i], f"{name}_mult": p.mults[i], f"{name}_shift": p.shifts[i]}
    params = Params("tinyrt_compare_rescaled_params", fields)
    return (call(f"tinyrt_compare_rescaled_{x.dtype.short}", params, *node.inputs, node.output),)


def _order_fields(node: BoundNode, accepted: int) -> Fields:
    """``tinyrt_compare_params``."""
    return {**broadcast_fields(node), "accepted": accepted}


def _table(node: BoundNode, p: Compared) -> tuple[Value, LutS8] | None:
    """The variable input and the table of its answers, where the other input is one number."""
    values = input_values().astype(np.int8)
    for i in (0, 1):
        x, number = node.input(i), node.input(1 - i)
        if number.data is None or number.size > 1 or x.dtype is not DType.INT8:
            continue
        pair = (values, number.data.reshape(1))
        answers = OPS[node.op].form(node).ref(p, *(pair if i == 0 else pair[::-1]))
        return x, LutS8.of(answers.astype(np.int64))
    return None


def _intervals_calls(node: BoundNode, p: Compared) -> Calls:
    """The call of ``tinyrt_compare_table_s8``.

    Rescaling is monotonic. So for each ``b``, the values ``a`` that are less, equal and greater
    form consecutive intervals. Each comparison accepts one of these intervals, or all but one.
    """
    a, b = (p.rescaled(i, input_values()) for i in (0, 1))
    ends = [np.zeros(256, int), np.searchsorted(a, b), np.searchsorted(a, b, "right")]
    ends.append(np.full(256, 256))
    orders = [i for i in range(3) if ACCEPTED[node.op] >> i & 1]
    inside = orders in ([0], [1], [2], [0, 1], [1, 2])
    if not inside:
        orders = [i for i in range(3) if i not in orders]
    first, behind = ends[orders[0]], ends[orders[-1] + 1]
    entries = (first | (behind - first) << 16).astype(np.uint32)
    table = Data("intervals", np.roll(entries, -128), "uint32_t")
    params = Params("tinyrt_compare_params", _order_fields(node, int(inside)))
    return (call("tinyrt_compare_table_s8", params, table, *node.inputs, node.output),)


def logical_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_logical``."""
    del target
    table = AND if node.op == "logical_and" else OR
    params = Params("tinyrt_logical_params", {**broadcast_fields(node), "table": table})
    return (call("tinyrt_logical", params, *node.inputs, node.output),)


def logical_not_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_logical`` with the one input as both."""
    del target
    x, y = node.input(0), node.output
    fields: Fields = {"rank": 1, "dims": [y.size], "a_strides": [1], "b_strides": [1], "table": NOR}
    return (call("tinyrt_logical", Params("tinyrt_logical_params", fields), x, x, y),)


def select_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_select_s8``, or of ``tinyrt_select`` for wider elements."""
    del target
    y = node.output
    inputs = [node.input(i) for i in range(3)]
    dims, steps = merge_axes(y.shape, *(repeating_strides(v.shape, y.shape) for v in inputs))
    fields: dict[str, Field] = {"rank": len(dims), "dims": dims}
    for name, value, step in zip(("condition", "a", "b"), inputs, steps, strict=True):
        fields[f"{name}_strides"] = [s * value.dtype.itemsize for s in step]
    params = Params("tinyrt_select_params", fields | {"bytes": y.dtype.itemsize})
    kernel = "tinyrt_select_s8" if y.dtype is DType.INT8 else "tinyrt_select"
    return (call(kernel, params, *inputs, y),)


def extremum_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_minimum_s8`` or ``tinyrt_maximum_s8``, or their like on int16."""
    del target
    shape = Params("tinyrt_broadcast", broadcast_fields(node))
    kernel = f"tinyrt_{node.op}_{node.output.dtype.short}"
    return (call(kernel, shape, *node.inputs, node.output),)


COMPARISON = {
    Form.INT8: always(compare_quantized_calls, elementwise),
    Form.INT16X8: always(compare_quantized_calls, elementwise),
    Form.FLOAT: always(compare_calls, elementwise),
}

EXTREMUM = {
    Form.INT8: always(extremum_calls, elementwise),
    Form.INT16X8: always(extremum_calls, elementwise),
}

KERNELS: Choosers = {
    **dict.fromkeys(ACCEPTED, COMPARISON),
    "logical_and": {Form.FLOAT: always(logical_calls)},
    "logical_or": {Form.FLOAT: always(logical_calls)},
    "logical_not": {Form.FLOAT: always(logical_not_calls)},
    "minimum": {
        **EXTREMUM,
        Form.FLOAT: always(zip_f32("tinyrt_minf", "tinyrt_min_whole"), elementwise),
    },
    "maximum": {
        **EXTREMUM,
        Form.FLOAT: always(zip_f32("tinyrt_maxf", "tinyrt_max_whole"), elementwise),
    },
    "select_v2": {
        Form.INT8: always(select_calls, elementwise),
        Form.INT16X8: always(select_calls),
        Form.FLOAT: always(select_calls, elementwise),
    },
}
