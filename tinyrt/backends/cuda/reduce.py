"""How ops whose outputs depend on many inputs are written for a GPU."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tinyrt.backends.cuda.dense import window_ints
from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter, Ints, index_of
from tinyrt.ir import BoundNode
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cumsum import CumsumS8
from tinyrt.ops.l2_normalization import L2NormalizationS8
from tinyrt.ops.log_softmax import LogSoftmaxS8, require_summable
from tinyrt.ops.mean import MeanS8, axes_of
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reduce_prod import ReduceProdInteger
from tinyrt.ops.resize import BilinearLegacyS8, BilinearS8
from tinyrt.ops.shared.pool import Pool2dS8
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.shared.spec import Array, limits_of
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.softmax import SoftmaxS8, SoftmaxS16
from tinyrt.ops.topk_v2 import TopkV2Attrs


def _types(node: BoundNode) -> dict[str, str]:
    return {"X": C_TYPES[node.input(0).dtype], "Y": C_TYPES[node.output.dtype]}


def emit_pool(most: bool, node: BoundNode, p: Pool2dS8, w: DeviceWriter) -> None:
    """Write a maximum or a mean under a sliding window."""
    x, y = node.input(0), node.output
    ints = {**window_ints(p.window, x, y), "MAX": most, "ACT_MIN": p.act_min, "ACT_MAX": p.act_max}
    ints["LEGACY"] = p.legacy
    w.op("pool", "reduce", y.size, ints=ints, tensors={"x": x, "y": y}, types=_types(node))


emit_max_pool2d = partial(emit_pool, True)
emit_average_pool2d = partial(emit_pool, False)


def _reduction(node: BoundNode, axes: tuple[int, ...]) -> tuple[dict[str, str], int]:
    """Offset of an output's first element, offsets of the others from it, and their number."""
    shape = node.input(0).shape
    strides = strides_of(shape)
    outer = [i for i in range(len(shape)) if i not in axes]
    begin = index_of([shape[i] for i in outer], [strides[i] for i in outer])
    step = index_of([shape[i] for i in axes], [strides[i] for i in axes])
    functions = {"int at(int i)": f"(void)i, {begin}", "int step(int i)": f"(void)i, {step}"}
    return functions, math.prod(shape[i] for i in axes)


def _fold(kernel: str, node: BoundNode, axes: tuple[int, ...], ints: Ints, w: DeviceWriter) -> None:
    """The call of a kernel that makes one output of all elements along the axes."""
    x, y = node.input(0), node.output
    functions, count = _reduction(node, axes)
    w.op(
        kernel,
        "reduce",
        y.size,
        ints={"SIZE": y.size, "COUNT": count, **ints},
        tensors={"x": x, "y": y},
        types=_types(node),
        functions=functions,
    )


def emit_sum(node: BoundNode, p: MeanS8, w: DeviceWriter) -> None:
    """Write a sum or a mean, which differ in their multipliers."""
    low, high = limits_of(node.output.dtype)
    scaling: Ints = {"X_ZP": p.x_zp, "Y_ZP": p.y_zp, "MULT": p.mult, "SHIFT": p.shift}
    _fold("sum", node, p.axes, {**scaling, "ACT_MIN": low, "ACT_MAX": high}, w)


def emit_extremum(most: bool, node: BoundNode, p: ReduceAttrs, w: DeviceWriter) -> None:
    """Write a maximum or a minimum along axes."""
    _fold("extremum", node, axes_of(p, node.input(0).shape), {"MAX": most}, w)


def emit_product(node: BoundNode, p: ReduceProdInteger, w: DeviceWriter) -> None:
    """The product along axes, rescaled from factor to factor."""
    low, high = limits_of(node.output.dtype)
    scaling: Ints = {"X_ZP": p.x_zp, "Y_ZP": p.y_zp, "MULT": p.mult, "RIGHT": p.right}
    _fold("product", node, p.axes, {**scaling, "ACT_MIN": low, "ACT_MAX": high}, w)


def _lines(node: BoundNode, axis: int) -> dict[str, int]:
    """The input as lines along an axis: how many before it, how long, how far apart."""
    shape = node.input(0).shape
    at = axis_of(axis, len(shape))
    before, behind = math.prod(shape[:at]), math.prod(shape[at + 1 :])
    return {"OUTER": before, "DEPTH": shape[at], "INNER": behind}


def emit_place(most: bool, node: BoundNode, p: ArgAttrs, w: DeviceWriter) -> None:
    """Write the index of the maximum or minimum along an axis."""
    x, y = node.input(0), node.output
    ints: Ints = {**_lines(node, p.axis), "MAX": most}
    w.op("place", "reduce", y.size, ints=ints, tensors={"x": x, "y": y}, types=_types(node))


def emit_topk(node: BoundNode, p: TopkV2Attrs, w: DeviceWriter) -> None:
    """One row per thread: the places of its largest elements."""
    x, y = node.input(0), node.output
    ints: Ints = {"ROWS": y.size // p.k, "DEPTH": x.shape[-1], "K": p.k}
    w.op("topk", "reduce", ints["ROWS"], ints=ints, tensors={"x": x, "y": y}, types=_types(node))


emit_arg_max = partial(emit_place, True)
emit_arg_min = partial(emit_place, False)
emit_reduce_max = partial(emit_extremum, True)
emit_reduce_min = partial(emit_extremum, False)


def emit_softmax(node: BoundNode, p: SoftmaxS8, w: DeviceWriter) -> None:
    """One row per thread, with a table of exponentials."""
    x, y = node.input(0), node.output
    size = x.shape[-1]
    rows = x.size // size
    blobs = {"exponentials": p.exponentials().astype(np.int32)}
    ints: Ints = {"ROWS": rows, "SIZE": size, "BITS": 8 * y.dtype.itemsize}
    tensors = {"x": x, "y": y}
    w.op("softmax", "reduce", rows, ints=ints, tensors=tensors, blobs=blobs, types=_types(node))


def emit_softmax_wide(node: BoundNode, p: SoftmaxS16 | SoftmaxS8, w: DeviceWriter) -> None:
    """Write softmax on int16: one row per thread, with two tables; of int8, with one."""
    if isinstance(p, SoftmaxS8):
        emit_softmax(node, p, w)
        return
    x, y = node.input(0), node.output
    size = x.shape[-1]
    rows = x.size // size
    ints: Ints = {"ROWS": rows, "SIZE": size, "MULT": p.mult, "SHIFT": p.shift}
    blobs = {"exponentials": p.exponentials, "reciprocals": p.reciprocals}
    w.op("softmax_wide", "reduce", rows, ints=ints, tensors={"x": x, "y": y}, blobs=blobs)


def emit_log_softmax(node: BoundNode, p: LogSoftmaxS8, w: DeviceWriter) -> None:
    """One row per thread, with tables of exponentials and differences."""
    x, y = node.input(0), node.output
    size = x.shape[-1]
    rows = x.size // size
    require_summable(x)
    ints: Ints = {
        "ROWS": rows, "SIZE": size, "DIFF_MIN": p.diff_min,
        "BACK_MULT": p.back_mult, "BACK_SHIFT": p.back_shift,
    }  # fmt: skip
    blobs = {
        "exponentials": p.exponentials().astype(np.int32),
        "differences": p.differences().astype(np.int32),
    }
    w.op("log_softmax", "reduce", rows, ints=ints, tensors={"x": x, "y": y}, blobs=blobs)


def emit_l2_normalization(node: BoundNode, p: L2NormalizationS8, w: DeviceWriter) -> None:
    """One row per thread."""
    x, y = node.input(0), node.output
    size = x.shape[-1]
    rows = x.size // size
    ints: Ints = {"ROWS": rows, "SIZE": size, "X_ZP": p.x_zp, "EARLY": p.early_bits}
    w.op("l2_normalization", "reduce", rows, ints=ints, tensors={"x": x, "y": y})


def emit_cumsum(node: BoundNode, p: CumsumS8, w: DeviceWriter) -> None:
    """One line per thread."""
    x, y = node.input(0), node.output
    lines = _lines(node, p.attrs.axis)
    ints: Ints = {
        **lines,
        "EXCLUSIVE": p.attrs.exclusive, "REVERSE": p.attrs.reverse,
        "X_ZP": p.x_zp, "Y_ZP": p.y_zp, "MULT": p.mult, "SHIFT": p.shift,
    }  # fmt: skip
    tensors = {"x": x, "y": y}
    work = lines["OUTER"] * lines["INNER"]
    w.op("running_sum", "reduce", work, ints=ints, tensors=tensors, types=_types(node))


def emit_resize_bilinear(
    node: BoundNode, p: BilinearS8 | BilinearLegacyS8, w: DeviceWriter
) -> None:
    """Weighted means of four pixels."""
    x, y = node.input(0), node.output
    ints: Ints = {
        "IMAGES": x.shape[0], "IH": x.shape[1], "IW": x.shape[2], "C": x.shape[3],
        "OH": y.shape[1], "OW": y.shape[2], "N": y.shape[3],
    }  # fmt: skip
    blobs: dict[str, Array]
    if isinstance(p, BilinearLegacyS8):
        kernel = "interpolate_legacy"
        places = [np.stack([axis.first, axis.second], axis=1) for axis in (p.rows, p.columns)]
        shares = np.concatenate([p.rows.share, p.columns.share])
        blobs = {"places": np.concatenate(places).astype(np.int32), "shares": shares}
    else:
        kernel = "interpolate"
        tables = [
            np.stack([axis.first, axis.second, axis.first_share, axis.second_share], axis=1)
            for axis in (p.rows, p.columns)
        ]
        blobs = {"shares": np.concatenate(tables).astype(np.int32)}
    tensors = {"x": x, "y": y}
    types = _types(node)
    w.op(kernel, "reduce", y.size, ints=ints, tensors=tensors, types=types, blobs=blobs)
