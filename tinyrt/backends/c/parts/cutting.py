"""Which calls can be made in parts, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Number
from tinyrt.backends.c.parts import channels, elements, rows, strips, vectors
from tinyrt.backends.c.parts.edit import Cut, params_of
from tinyrt.backends.c.rvv.strips import MOST_PIXELS

MARGIN = 0.84
"""Share of a limit that a part may take by its estimate: formulas are off by some per cent."""

ALONE = 0.2
"""Share of a limit from which on what only the first part does is a part of its own."""

LISTED, LINE, LINE_BYTE = 800, 300, 5
"""Instructions of a list of taps, and of a line that is copied: in all, and for a byte."""

ALL = 1 << 30
"""Stands for all points of a line."""

SIZED = frozenset(
    f"tinyrt_{name}"
    for name in (
        *("linear_sum_s8", "sum_s8", "logistic_s16", "tanh_s16"),
        *("logistic_short_s16", "tanh_short_s16", "quantize_f32_s8"),
        *("dequantize_s8_f32", "rescale_s16", "rescale_s16_s8", "rescale_s8_s16"),
        *("rescale_s16_s32", "rescale_s8_s32", "rescale_s32_s16", "rescale_s32_s8"),
    )
)
NUMBERED = frozenset(
    f"tinyrt_{name}"
    for name in (
        *("lut_s8", "clamp_s8", "clamp_f32", "map_f32", "reshape", "rsqrt_s16"),
        *("quantize_f32_s16", "dequantize_s16_f32"),
    )
)
SHAPED = frozenset(
    f"tinyrt_{name}"
    for name in (
        *("add_s8", "sub_s8", "add_s16", "sub_s16", "mul_s8", "mul_s16", "times_s8", "div_s8"),
        *("squared_difference_s8", "squared_difference_s16", "prelu_s8", "maximum_s8"),
        *("maximum_s16", "minimum_s8", "minimum_s16", "zip_f32"),
    )
)
WINDOWED = frozenset(
    f"tinyrt_{name}"
    for name in (
        *(
            "conv2d_s16",
            "conv2d_raised_s16",
            "conv2d_block_s16",
            "conv2d_f32",
            "depthwise_conv2d_s16",
            "depthwise_conv2d_f32",
            "depthwise_quads_f32",
            "depthwise_spread_f32",
            "depthwise_turns_f32",
            "depthwise_few_f32",
            "conv2d_plain_f32",
            "conv2d_plain_s16",
            "depthwise_quads_s16",
            "depthwise_raised_s16",
        ),
        *("group_block_s8", "group_block_long_s8", "pool2d_f32"),
    )
)
POOLED = frozenset(
    f"tinyrt_{name}"
    for name in (
        *("average_pool2d_s8", "average_pool2d_s16", "average_columns_s8", "average_legacy_s8"),
        *("average_short_s8", "average_few_s8", "max_pool2d_s8", "max_pool2d_s16"),
    )
)
"""Kernels by what their parts are; other int8 kernels stand in ``_cut_of_layer``."""


def cut_of(call: Call, isa: InstructionSet, overlaps: bool) -> Cut | None:
    """How a call can be made in parts; None where it cannot.

    Parts compute what the kernel computes in one step of its order, or several steps. Where the
    output lies on no input, they may be smaller than its steps.

    Args:
        call: of a kernel.
        isa: the instruction set that it is chosen for.
        overlaps: whether its output lies on one of its inputs.

    """
    name = call.function
    if name in SIZED:
        return elements.by_field(call)
    if name in NUMBERED:
        return elements.by_number(call)
    if name in SHAPED:
        return elements.by_shape(call)
    if name == "tinyrt_move":
        return elements.by_runs(call)
    if name in WINDOWED:
        return None if overlaps else rows.lines(call, 1)
    if name in POOLED and not overlaps:
        return rows.lines(call, 1) or channels.pool_channels(call)
    return _cut_of_layer(call, isa, overlaps)


def _cut_of_layer(call: Call, isa: InstructionSet, overlaps: bool) -> Cut | None:
    """As ``cut_of`` for the int8 kernels of convolutions and dense layers."""
    name, _, bits = call.function.removeprefix("tinyrt_").rpartition("_")
    if bits not in ("s8", "s4"):
        return None
    if name == "dense_strips":
        return strips.rows_of(call) or strips.channels_of(call)
    if name in ("conv2d_strips", "depthwise_strips"):
        single = params_of(call)["y"]["h"] == 1
        return None if overlaps and single else rows.lines(call, MOST_PIXELS)
    name = name.removesuffix("_relu").removesuffix("_any").removesuffix("_raised")
    if name.startswith("window_block"):
        return rows.pairs(call) or rows.lines(call) or channels.window_channels(call)
    if name.startswith("window_pixels"):
        return rows.pixels(call)
    if name == "window_four":
        return rows.fours(call) or channels.four_channels(call)
    if name == "window_four_pixels":
        return rows.pixels_of_fours(call) or channels.four_channels(call)
    if name == "dense_four":
        return rows.matrix_fours(call) or channels.four_channels(call)
    if name == "winograd":
        return rows.tiles(call) or channels.tile_channels(call, isa)
    if name in ("dense", "dense_sparse"):
        p = params_of(call)
        pairs = rows.matrix_rows(call, rows.AT_ONCE, p["c_in"], p["block"]["c_out"])
        return pairs or channels.dense_channels(call)
    if name in ("dense_row", "dense_row_part", "dense_row_long", "dense_row_sparse"):
        eights = isa is InstructionSet.SCALAR and bits == "s8"
        step = channels.EIGHT if eights else channels.QUAD
        return channels.row_channels(call, step, keeps=name == "dense_row_part")
    if name in ("depthwise3x3", "depthwise3x3_signed", "depthwise3x3_wide"):
        return channels.sliding_channels(call)
    if name in ("depthwise_block", "depthwise_block_fine"):
        return channels.listed_channels(call) or _lines_of_four(call, overlaps)
    if name in ("depthwise_part", "depthwise_part_fine", "depthwise_block_spread"):
        return _lines_of_four(call, overlaps)
    if name in ("conv2d", "conv2d_sparse"):
        return rows.vector_lines(call)
    if name == "conv2d_plain":
        return None if overlaps else rows.lines(call, 1)
    if name == "depthwise_planes":
        return vectors.planes(call)
    if name == "depthwise_conv2d":
        return vectors.planes(call) or (None if overlaps else rows.lines(call, ALL))
    if name == "depthwise_conv2d_plain":
        return None if overlaps else rows.lines(call, ALL)
    if name in ("fully_connected", "fully_connected_sparse"):
        product = params_of(call)["product"]
        pairs = rows.matrix_rows(call, rows.AT_ONCE, product["length"], product["c_out"])
        return pairs or (vectors.kept_channels(call) if name.endswith("sparse") else None)
    if name == "fully_connected_plain":
        p = params_of(call)
        return rows.matrix_rows(call, 1, p["c_in"], p["c_out"]) or channels.plain_channels(call)
    if name == "fully_connected_row":
        return vectors.row_of_channels(call)
    return None


def _lines_of_four(call: Call, overlaps: bool) -> Cut | None:
    """Lines of four channels or more.

    For every four, each part lists the taps and copies all lines under its first outputs.
    """
    cut = None if overlaps else rows.lines(call, ALL)
    if cut is None:
        return None
    p = params_of(call)
    first, end = [int(arg.value) for arg in call.args if isinstance(arg, Number)] or (
        0,
        p["y"]["c"],
    )
    reach = (p["window"]["kernel_h"] - 1) * p["window"]["dilation_h"] + 1
    each = LISTED + reach * (LINE + LINE_BYTE * p["line_bytes"])
    return replace(cut, fixed=(end - first) // channels.QUAD * each)


@dataclass(frozen=True, slots=True)
class Part:
    """A call that is made in one go.

    Attributes:
        call: of a kernel.
        instructions: how many, estimated.

    """

    call: Call
    instructions: float


def divided(
    call: Call,
    instructions: float,
    limit: float,
    cut_of_call: Callable[[Call], Cut | None],
    cost_of: Callable[[Call], float | None] = lambda part: None,
) -> Iterator[Part]:
    """A call in parts of at most ``limit`` instructions, as far as it can be cut.

    Args:
        call: of a kernel.
        instructions: of the whole call.
        limit: most instructions of a part.
        cut_of_call: says how a call can be cut.
        cost_of: what a part takes, where a formula says it better than its share of the call does.

    """
    cut = cut_of_call(call) if instructions > MARGIN * limit else None
    if cut is None:
        yield Part(call, instructions)
        return
    part_of, first = cut.part, cut.first * instructions
    if cut.after is not None and first > ALONE * limit:
        yield Part(cut.after(0, 0), cut.fixed + first)
        part_of, instructions, first = cut.after, instructions - first, 0.0
    unit = (instructions - first) / (cut.units - 1 + cut.last)
    most = max(1, int((MARGIN * limit - cut.fixed - first) / unit))
    size = ceil(cut.units / ceil(cut.units / min(most, cut.most or most)))
    for start in range(0, cut.units, size):
        stop = min(start + size, cut.units)
        units = stop - start - (1 - cut.last) * (stop == cut.units)
        cost = cut.fixed + units * unit + first * (start == 0)
        part = part_of(start, stop)
        known = cost_of(part)
        yield from divided(part, cost if known is None else known, limit, cut_of_call, cost_of)
