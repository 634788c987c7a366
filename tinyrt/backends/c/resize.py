"""resize_bilinear; resize_nearest_neighbor only moves pixels, see ``moves``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Target, call
from tinyrt.ir import BoundNode
from tinyrt.memory.indices import Steps, Table
from tinyrt.memory.sweep import Sweep, in_order
from tinyrt.ops import prepared
from tinyrt.ops.resize import BilinearLegacyS8, BilinearS8, ResizeAttrs, fixed_shares, shares
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import strides_of

Between = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Along one dimension, for every output: the two inputs that it lies between."""


def bilinear_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_resize_bilinear_s8``, or of the one that computes as on uint8."""
    del target
    if node.attrs_as(ResizeAttrs).legacy:
        return _legacy_calls(node, prepared(node, BilinearLegacyS8))
    p = prepared(node, BilinearS8)
    rows, columns = (p.rows.first, p.rows.second), (p.columns.first, p.columns.second)
    fields = _between_fields(node, rows, columns) | {
        "row_share": Data("row_share", p.rows.second_share, "int16_t"),
        "column_share": Data("column_share", p.columns.second_share, "int16_t"),
    }
    params = Params("tinyrt_resize_bilinear_s8_params", fields)
    return (call("tinyrt_resize_bilinear_s8", params, node.input(0), node.output),)


def _legacy_calls(node: BoundNode, p: BilinearLegacyS8) -> Calls:
    rows, columns = ((axis.first, axis.second) for axis in (p.rows, p.columns))
    fields = _between_fields(node, rows, columns) | {
        "row_share": Data("row_share", p.rows.share, "float"),
        "column_share": Data("column_share", p.columns.share, "float"),
    }
    params = Params("tinyrt_resize_bilinear_f32_params", fields)
    return (call("tinyrt_resize_legacy_s8", params, node.input(0), node.output),)


def bilinear_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_resize_bilinear_f32``."""
    del target
    x, attrs = node.input(0), node.attrs_as(ResizeAttrs)
    rows, columns = (shares(attrs, n, m) for n, m in zip(x.shape[1:3], attrs.size, strict=True))
    fields = _between_fields(node, rows[:2], columns[:2]) | {
        "row_share": Data("row_share", rows[2], "float"),
        "column_share": Data("column_share", columns[2], "float"),
    }
    params = Params("tinyrt_resize_bilinear_f32_params", fields)
    return (call("tinyrt_resize_bilinear_f32", params, x, node.output),)


def _between_fields(node: BoundNode, rows: Between, columns: Between) -> Fields:
    """The first fields of the kernels' parameters."""
    n, h, w, channels = node.input(0).shape
    fields: Fields = {"n": n, "x_size": h * w * channels, "c": channels}
    for name, places, size in (("rows", rows, w * channels), ("columns", columns, channels)):
        first, second = (
            Data(f"{name}_{which}", at * size, "int32_t")
            for which, at in zip(("first", "second"), places, strict=True)
        )
        fields[name] = {"size": len(places[0]), "first": first, "second": second}
    return fields


def bilinear_sweep(node: BoundNode) -> Sweep:
    """From front to back, each output from the rows and columns that it lies between."""
    x, attrs = node.input(0), node.attrs_as(ResizeAttrs)
    images, *sides, channels = map(Steps, x.shape, strides_of(x.shape))
    places: list[Steps | Table] = [images]
    for side, size in zip(sides, attrs.size, strict=True):
        axis, floats = fixed_shares(attrs, side.count, size), shares(attrs, side.count, size)
        between = axis.first, axis.second, floats[0], floats[1]
        places.append(Table.of(*(at * side.step for at in between)))
    return in_order(node, [[*places, channels]])


KERNELS: Choosers = {
    "resize_bilinear": {
        Form.INT8: always(bilinear_s8_calls, bilinear_sweep),
        Form.FLOAT: always(bilinear_f32_calls, bilinear_sweep),
    },
}
