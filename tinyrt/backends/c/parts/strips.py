"""Layers by strips of channels on RISC-V's vectors: how they are cut, and what they cost.

The formulas count the instructions of ``tinyrt_strip.h`` for registers of 128 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from tinyrt.backends.c.kernel import Call
from tinyrt.backends.c.parts.edit import Cut, edited, ends_of, moved, moved_data, params_of
from tinyrt.backends.c.parts.rows import matrix_rows
from tinyrt.backends.c.rvv.strips import MOST_PIXELS, pixels_at_once

LANES = {1: 32, 2: 32, 4: 16}
"""Pixels at once -> channels of a strip."""

CALL, PIXEL = 48, 17
"""Instructions of a strip besides its taps: in all, and for each of its pixels."""

ROW = 9
"""Of a row of taps."""

COPY, COPIED_ROW = 30, 45
"""Of a window that is copied, and of each of its rows."""

WINDOW, PAIR = 40, 17
"""Of a depthwise convolution: a pixel, and two taps of a strip."""


def rows_of(call: Call) -> Cut | None:
    """As many rows of a matrix as are computed at once."""
    strips = params_of(call)["strips"]
    return matrix_rows(
        call, pixels_at_once(strips["c_out"], MOST_PIXELS), strips["run"], strips["c_out"]
    )


def channels_of(call: Call) -> Cut | None:
    """Channels of a single row, a strip of them to a unit."""
    p = params_of(call)
    strips = p["strips"]
    units = ceil(strips["c_out"] / LANES[1])
    if p["rows"] > 1 or units == 1:
        return None

    def part(a: int, b: int) -> Call:
        start, stop = a * LANES[1], min(b * LANES[1], strips["c_out"])
        tables = {f"strips.{t}": moved_data(strips[t], start) for t in ("bias", "mult", "shift")}
        _, y = ends_of(call)
        args = {2: moved(call.args[2], start), y: moved(call.args[y], start)}
        return edited(call, {"strips.c_out": stop - start, **tables}, args)

    return Cut(units, part, last=(strips["c_out"] - (units - 1) * LANES[1]) / LANES[1])


def instructions_of(call: Call) -> float:
    """Instructions of a call."""
    p = params_of(call)
    if "y" not in p:
        return _of_pixels(p["strips"], p["rows"])
    rows: int = p["y"]["n"] * p["y"]["h"]
    pixels: int = rows * p["y"]["w"]
    copies: float = (pixels - _inside(p)) * (COPY + p["window"]["kernel_h"] * COPIED_ROW)
    if "depthwise" in call.function:
        strip: float = CALL + PIXEL + p["strips"]["rows"] / 2 * PAIR
        return copies + pixels * (WINDOW + _strips(p["strips"], 1) * strip)
    return copies + rows * (WINDOW + _of_pixels(p["strips"], p["y"]["w"]))


def _inside(p: Mapping[str, Any]) -> int:
    """Pixels whose windows lie in the image, and are read there: taps have no steps then."""
    if not p["in_place"]:
        return 0
    count: int = p["y"]["n"]
    for size, kernel, stride, before in (
        ("h", "kernel_h", "stride_h", "pad_top"),
        ("w", "kernel_w", "stride_w", "pad_left"),
    ):
        window = p["window"]
        starts = (i * window[stride] - window[before] for i in range(p["y"][size]))
        count *= sum(start >= 0 and start + window[kernel] <= p["x"][size] for start in starts)
    return count


def _strips(strips: Mapping[str, Any], pixels: int) -> int:
    channels: int = strips["c_out"]
    return ceil(channels / LANES[pixels])


def _of_pixels(strips: Mapping[str, Any], count: int) -> float:
    """Instructions of neighbouring pixels."""
    total, left = 0.0, count
    while left:
        pixels = pixels_at_once(strips["c_out"], left)
        turns = left // pixels
        taps = strips["run"] * (13 + 11 * pixels) / 4 + ROW + pixels
        strip = CALL + PIXEL * pixels + strips["rows"] * taps
        total += turns * _strips(strips, pixels) * strip
        left -= turns * pixels
    return total
