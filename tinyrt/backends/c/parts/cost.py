"""What calls of kernels cost: instructions, estimated from the calls themselves.

Packed kernels have formulas (``tinyrt.backends.c.blocks.cost``), vector kernels that of the whole
op. For the others there are so many instructions to a multiplication and to an element, more rather
than fewer. ``tinyrt emulate --slices`` counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Any

from tinyrt.backends.c.blocks.cost import (
    COSTS,
    FOUR,
    LOOK_UP,
    TilePairs,
    dense_cost,
    depthwise_list_cost,
    slide_cost,
    window_cost,
    winograd_cost,
)
from tinyrt.backends.c.blocks.four_cost import (
    Fours,
    WindowGroups,
    dense_four_cost,
    window_four_cost,
)
from tinyrt.backends.c.blocks.row_cost import (
    LSTM_COSTS,
    dense_row_cost,
    plain_depthwise_cost,
    plain_groups_cost,
    svdf_cost,
    wide_conv_cost,
)
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Data, Kernel, Number, Place
from tinyrt.backends.c.mve import cost as mve
from tinyrt.backends.c.mve.cost import element_cost
from tinyrt.backends.c.mve.packing import QUAD
from tinyrt.backends.c.mve.zeros import counts_of_quads
from tinyrt.backends.c.parts import strips
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.parts.more_cost import summed, with_more
from tinyrt.backends.c.parts.pace import AS_SAID, Pace
from tinyrt.backends.c.parts.windows import groups_of, run_of_groups, size
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import BoundNode, DType
from tinyrt.ops import OPS

SET_UP = 120
"""Instructions of any call, its caller's among them."""

NIBBLES = 1.35
"""Instructions of a kernel over weights of four bits, to one over bytes."""

LOOPS, SPARSE = {InstructionSet.DSP: 0.22, InstructionSet.SCALAR: 0.1}, 1.0
"""Share of a layer's cost that is no product, and that of products for each of its weights."""

RARE = 1.2
"""Instructions of depthwise kernels for any scale, or several filters, to those of others."""

PER_MAC, PER_ELEMENT = 8, 40
"""Instructions of general kernels on integers."""

GROUP_MAC = 2.2
"""Instructions of kernels for groups of channels, per multiplication."""

SOFTMAX, SOFTMAX_ROW = 260, 300
"""Instructions of softmax on int8 for each element, and for each row."""

FLOAT_MAC, FLOAT_ELEMENT = 12, 250
"""The same of kernels on floats, with a unit for floats."""

WITHOUT_UNIT = 12
"""How many times as many where floats are computed in software."""

FLAT = {
    **{"reshape": 4, "mean_columns_s8": 3, "mean_s8": 10, "linear_sum_rows_s8": 12},
    **{"maximum_s8": 14, "minimum_s8": 14, "times_s8": 20, "concatenation": 4, "pad": 5},
    **{"add_s16": 38, "sub_s16": 38},
}
"""Instructions of kernels per element of the largest tensor."""

RUN, RUN_BYTE = 18, 2.8
"""Instructions of ``tinyrt_move`` for each run of bytes, and for each of its bytes."""

POOLS = {
    **{"average_pool2d_s16": (20, 4, 3.1), "max_pool2d_s16": (16, 4, 5.2)},
    **{"average_short": (24, 0, 3.0), "average": (50, 6, 4.6), "max_pool2d": (14, 0, 5.2)},
}
"""Kind of pool -> instructions of an output, of a row of its window, and of a tap.

The first that a kernel's name begins with. Those of int16 are of four channels at a time.
"""

LEFT_CHANNEL = 2.5
"""Instructions of a channel that is left of four at a time, to those of one of the four."""

VECTORS = {f"tinyrt_{name}_s8" for name in ("lut", "times", "add", "sub", "maximum", "minimum")}
"""Element-wise kernels on vectors."""

VECTOR_SUM = 2.1
"""Instructions of a sum of two tensors on vectors, per element."""

SIGMOIDS = ("tinyrt_logistic_short_s16", "tinyrt_tanh_short_s16")
SIGMOID = {InstructionSet.DSP: 14.2, InstructionSet.SCALAR: 26.2, InstructionSet.MVE: 3.1}
"""Functions of int16, and instructions of an element."""

VECTOR_POOLS = {
    **{"tinyrt_average_few_s8": (8, 78, 34, 7.6), "tinyrt_max_pool2d_s8": (16, 37, 30, 6.5)},
    **{"tinyrt_average_pool2d_s16": (8, 64, 46, 10.6), "tinyrt_max_pool2d_s16": (8, 60, 16, 7.6)},
}
"""Pool in vectors -> channels of a vector; instructions of a pixel, of such a vector, and of a tap
in it."""

RAISED_TAPS = 8
"""Taps that ``tinyrt_conv2d_raised_s16`` sums at once."""

WIDE = {"tinyrt_add_s16": (97, 33), "tinyrt_sub_s16": (97, 33), "tinyrt_mul_s16": (61, 21)}
"""Kernel on int16 in vectors -> instructions of a row, and of four of its outputs."""

SHORT_RUN = 8
"""Most bytes of a window's row that count as a short run."""


def instructions_of(
    call: Call, node: BoundNode, kernel: Kernel, isa: InstructionSet, *, pace: Pace = AS_SAID
) -> float:
    """Instructions of one of a node's calls.

    Args:
        call: of the node's kernel.
        node: the op.
        kernel: all of its calls.
        isa: the instruction set that it is chosen for.
        pace: of the core, to the formulas.

    """
    p = params_of(call)
    short = "window_block" in call.function and p["window"]["kernel_w"] * p["x"]["c"] <= SHORT_RUN
    return pace.factor(call, short) * _instructions(call, node, kernel, isa, pace.fours)


def _instructions(
    call: Call, node: BoundNode, kernel: Kernel, isa: InstructionSet, fours: Fours
) -> float:
    if "_strips_" in call.function:
        return SET_UP + strips.instructions_of(call)
    if call.function in SIGMOIDS and isa in SIGMOID:
        return SET_UP + SIGMOID[isa] * _elements(call)
    if isa is InstructionSet.MVE:
        whole = call is kernel.calls[0]
        if whole and kernel.cost is not None:
            return kernel.cost()
        if call.function.startswith("tinyrt_fully_connected_") and "product" in params_of(call):
            return _dense_on_vectors(call)
        if call.function in VECTOR_POOLS:
            return SET_UP + _pooled_in_vectors(call, *VECTOR_POOLS[call.function])
        if call.function == "tinyrt_conv2d_raised_s16":
            return SET_UP + _raised(params_of(call))
        if "_pool2d_s8" in call.function:
            return SET_UP + _pooled(call, 20, 0, 1.2)
        if call.function.startswith(("tinyrt_lstm_quads", "tinyrt_svdf_quads")):
            return _recurrent_on_vectors(call)
        if call.function == "tinyrt_linear_sum_s8":
            return SET_UP + VECTOR_SUM * _elements(call)
        if call.function in VECTORS:
            return 2 * element_cost(node)
        if call.function in WIDE:
            row, vector = WIDE[call.function]
            length: int = params_of(call)["shape"]["dims"][-1]
            return SET_UP + node.output.size // length * (row + vector * ceil(length / FOUR))
    elif isa in COSTS:
        known = _packed(call, isa, fours)
        if known is not None:
            return SET_UP + known
    return _general(call, node, isa)


def _dense_on_vectors(call: Call) -> float:
    """Instructions of ``tinyrt_fully_connected_s8``, of one row, or of one of its like."""
    p = params_of(call)
    product = p["product"]
    sizes = product["length"], product["c_out"]
    if "_sparse_" in call.function:
        w = next(arg for arg in call.args if isinstance(arg, Data))
        counts = counts_of_quads(w.array[w.skip :])[: product["c_out"] // QUAD]
        return float(mve.CALL + mve.kept_cost(p["rows"], counts, product["rounding"]))
    if "rows" not in p:
        return float(mve.CALL + mve.row_cost(*sizes))
    return float(mve.CALL + mve.product_cost(p["rows"], *sizes, plain=product["rounding"] > 0))


def _recurrent_on_vectors(call: Call) -> float:
    """Instructions of an LSTM or SVDF, four units or filters at a time."""
    p = params_of(call)
    if "lstm" in call.function:
        return mve.lstm_cost(*_lstm_sizes(p), int(call.function.rpartition("_s")[2]))
    length, filters = p["rank"] * p["memory"], p["units"] * p["rank"]
    sizes = p["units"], length, filters, _feature_bytes(call)
    return int(p["batches"]) * mve.svdf_cost(p["c_in"], *sizes)


def _feature_bytes(call: Call) -> int:
    return 2 if call.function.endswith("_s16") else 1


def _lstm_sizes(p: Mapping[str, Any]) -> tuple[int, int, int]:
    """Steps of all samples, inputs, and units."""
    shape = p["shape"]
    return shape["samples"] * shape["steps"], shape["c_in"], shape["units"]


def _packed(call: Call, isa: InstructionSet, fours: Fours) -> float | None:
    """Instructions of a packed kernel; None for another one."""
    p, k = params_of(call), COSTS[isa]
    name = call.function.removeprefix("tinyrt_")
    more = NIBBLES if name.endswith("_s4") else 1
    relu = name.endswith(("_relu_s8", "_any_s8"))
    if "_more_" in name and not name.startswith("group"):
        return with_more(name, p, isa, relu, fours)
    if name.startswith("window_block"):
        window = p["window"]
        kernel = window["kernel_h"], window["kernel_w"]
        pixels = size(p["y"]) // p["y"]["c"]
        whole = window_cost(isa, pixels, kernel, p["x"]["c"], p["block"]["c_out"], relu)
        return more * _without_zeros(whole, call, isa, prod(kernel) * p["x"]["c"])
    if name.startswith("window_four"):
        window = p["window"]
        kernel = window["kernel_h"], window["kernel_w"]
        groups = _run_of_groups(call) if "_pixels_" in name else groups_of(p)
        return window_four_cost(groups, kernel, p["x"]["c"], p["block"]["c_out"], relu, fours)
    if name.startswith("dense_four"):
        return dense_four_cost(p["rows"], p["c_in"], p["block"]["c_out"], relu, fours)
    if name == "winograd_s8":
        x, y, window = p["x"], p["y"], p["window"]
        sizes = (x["h"], x["w"]), (y["h"], y["w"]), (window["pad_top"], window["pad_left"])
        return winograd_cost(isa, TilePairs.of(y["n"], *sizes), x["c"], p["block"]["c_out"])
    if name in ("dense_s8", "dense_s4", "dense_sparse_s8", "dense_relu_s8", "dense_any_s8"):
        whole = dense_cost(isa, p["rows"], p["c_in"], p["block"]["c_out"], relu)
        return more * _without_zeros(whole, call, isa, p["c_in"])
    if name.startswith("dense_row"):
        halves = "long" in name or "sparse" in name
        whole = dense_row_cost(isa, p["c_in"], p["block"]["c_out"], relu, halves)
        return more * _without_zeros(whole, call, isa, p["c_in"])
    if name in LSTM_COSTS:
        return LSTM_COSTS[name](isa, *_lstm_sizes(p))
    if name == "conv2d_block_s16":
        return _wide(isa, p)
    if name.startswith("svdf_block"):
        shape = p["units"] * p["rank"], _feature_bytes(call)
        each = svdf_cost(isa, p["c_in"], p["units"], p["rank"] * p["memory"], shape)
        return int(p["batches"]) * each
    if name.startswith("depthwise3x3"):
        out = p["across"]["y_count"], p["along"]["y_count"]
        relu = p["y_zp"] == INT8_MIN and p["across"]["x_step"] == p["across"]["y_step"]
        kinds = {"relu": relu, "signed": "signed" in name}
        each = more * slide_cost(isa, out, p["channels"], p["stride"], **kinds)
        return int(p["images"]) * each
    if name.startswith("depthwise_block"):
        window, y = p["window"], p["y"]
        kernel, stride = (window["kernel_h"], window["kernel_w"]), window["stride_h"]
        out, border = (y["h"], y["w"]), p["line_bytes"] > 0
        each = more * depthwise_list_cost(isa, out, kernel, y["c"], stride, border)
        rare = "fine" in name or "spread" in name
        return int(y["n"]) * each * (RARE if rare else 1)
    flat = {"linear_sum_s8": k.add, "sum_s8": 2 * k.add, "lut_s8": LOOK_UP, "clamp_s8": k.clamp}
    if name in flat:
        return flat[name] * _elements(call)
    pools = [costs for kind, costs in POOLS.items() if name.startswith(kind)]
    return _pooled(call, *pools[0]) if pools else None


def _wide(isa: InstructionSet, p: Mapping[str, Any]) -> float:
    """Instructions of int16 convolutions by pairs of weights, or tap by tap."""
    window, groups = p["window"], p["groups"]
    places = 0 if p["direct"] else window["kernel_h"] * window["kernel_w"]
    pixels = size(p["y"]) // p["y"]["c"] * groups
    return wide_conv_cost(isa, pixels, (places, p["taps"]), p["y"]["c"] // groups)


def _run_of_groups(call: Call) -> WindowGroups:
    """Those of some pixels of several rows."""
    _, count = (int(arg.value) for arg in call.args if isinstance(arg, Number))
    return run_of_groups(params_of(call), -(-count // FOUR))


def _pooled(call: Call, output: float, row: float, tap: float) -> float:
    """Instructions of a pool: of an output, of each of its window's rows, and of each tap."""
    p = params_of(call)
    rows, columns = p["window"]["kernel_h"], p["window"]["kernel_w"]
    outputs = float(size(p["y"]))
    if call.function.endswith("_s16"):
        channels: int = p["y"]["c"]
        outputs *= 1 + (LEFT_CHANNEL - 1) * (channels % FOUR) / channels
    return outputs * float(output + row * rows + tap * rows * columns)


def _pooled_in_vectors(call: Call, lanes: int, pixel: float, vector: float, tap: float) -> float:
    """Instructions of a pool on vectors: of a pixel, of each vector, and of each tap in one."""
    p = params_of(call)
    taps: int = p["window"]["kernel_h"] * p["window"]["kernel_w"]
    channels: int = p["y"]["c"]
    vectors = ceil(channels / lanes)
    return size(p["y"]) // channels * (pixel + vectors * (vector + tap * taps))


def _raised(p: Mapping[str, Any]) -> float:
    """Instructions of int16 convolutions on vectors: eight taps of four channels at a time."""
    window, groups = p["window"], p["groups"]
    places: int = window["kernel_h"] * window["kernel_w"]
    quads = ceil(p["y"]["c"] / groups / FOUR)
    column = 0 if p["direct"] else places * (34 + 0.6 * p["x"]["c"] / groups)
    pixels: int = size(p["y"]) // p["y"]["c"] * groups
    return float(pixels * (60 + quads * (47 + 10 * p["taps"] / RAISED_TAPS) + column))


def _without_zeros(whole: float, call: Call, isa: InstructionSet, taps: int) -> float:
    """What of a cost is left where blocks of zeros are not stored: loops, and a share of taps."""
    block = params_of(call)["block"]
    if "sparse" not in call.function:
        return whole
    share: float = block["w"].array.size / (block["init"].array.size // QUAD * taps)
    return whole * min(1.0, LOOPS[isa] + SPARSE * share)


def _elements(call: Call) -> int:
    return max(arg.value.size for arg in call.args if isinstance(arg, Place))


def _plain_wide(p: Mapping[str, Any], isa: InstructionSet) -> float:
    """Instructions of kernels on int16 without a form of their own for an instruction set."""
    channels, kernel = p["y"]["c"], (p["window"]["kernel_h"], p["window"]["kernel_w"])
    pixels = size(p["y"]) // channels
    if "groups" not in p:
        return plain_depthwise_cost(pixels, channels, kernel)
    groups, places = p["groups"], 0 if p["direct"] else prod(kernel)
    return plain_groups_cost(isa, pixels * groups, (places, p["taps"]), channels // groups)


def _general(call: Call, node: BoundNode, isa: InstructionSet) -> float:
    """Instructions of a kernel without a formula."""
    if call.function.startswith(("tinyrt_softmax_s", "tinyrt_softmax_p")):
        size, classes = node.output.size, node.output.shape[-1]
        return SOFTMAX_ROW * size / classes + SOFTMAX * size
    tensors = [v for v in (*node.inputs, *node.outputs) if v is not None and not v.is_constant]
    floats = any(v.dtype is DType.FLOAT32 for v in tensors)
    macs, elements = OPS[node.op].macs(node), max(v.size for v in tensors)
    if call.function == "tinyrt_move":
        p = params_of(call)
        runs: int = prod(p["dims"])
        return SET_UP + runs * (RUN + RUN_BYTE * float(p["run"]))
    flat = FLAT.get(call.function.removeprefix("tinyrt_"))
    if flat is not None:
        return SET_UP + flat * elements
    if call.function in ("tinyrt_depthwise_conv2d_s16", "tinyrt_conv2d_s16"):
        return SET_UP + _plain_wide(params_of(call), isa)
    if "tinyrt_group_" in call.function:
        return SET_UP + GROUP_MAC * macs + PER_ELEMENT * node.output.size + summed(params_of(call))
    if floats:
        each = FLOAT_MAC * macs + FLOAT_ELEMENT * elements
        return SET_UP + each * (WITHOUT_UNIT if isa is InstructionSet.SCALAR else 1)
    return SET_UP + PER_MAC * macs + PER_ELEMENT * elements
