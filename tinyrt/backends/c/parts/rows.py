"""Convolutions, pools and dense layers in parts: rows of outputs, pixels of a row, pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tinyrt.backends.c.blocks.cost import FOUR, TILES
from tinyrt.backends.c.kernel import Call, Null, Number
from tinyrt.backends.c.parts.edit import Cut, edited, ends_of, moved, params_of

AT_ONCE = 2
"""Pixels that packed kernels compute together."""

ALONE = 1.5
"""Instructions of such a pixel alone, to those of one of two."""


def lines(call: Call, together: int = AT_ONCE) -> Cut | None:
    """Rows of outputs; of a single row, ``together`` pixels.

    The first parameter struct has ``x``, ``y`` and ``window``, and steps of lines and points where
    lines may be columns. Padding above is what the first rows have; below, the input ends.

    Returns:
        None for several images, and where there is nothing to divide.

    """
    p = params_of(call)
    y = p["y"]
    if y["n"] != 1:
        return None
    if y["h"] > 1:
        # An odd number of pixels leaves one over, which costs more than half of two.
        step = 2 if together == AT_ONCE and y["w"] % 2 and y["h"] > AT_ONCE else 1
        count = y["h"]
        return Cut(
            -(-count // step),
            lambda a, b: _lines(call, a * step, min(b * step, count)),
            last=share_of_last(count, step),
        )
    if y["w"] > together:
        count = y["w"]
        units = -(-count // together)
        return Cut(
            units,
            lambda a, b: _points(call, a * together, min(b * together, count)),
            last=share_of_last(count, together),
        )
    return None


def pairs(call: Call) -> Cut | None:
    """Pairs of pixels of two rows of ``tinyrt_window_block_s8``, where one pair lies in both rows.

    Returns:
        None for other numbers of rows, an even number of pixels to a row, and a single pair.

    """
    y = params_of(call)["y"]
    wide = y["w"]
    if (y["n"], y["h"]) != (1, AT_ONCE) or wide % AT_ONCE == 0 or wide == 1:
        return None

    def part(a: int, b: int) -> Call:
        first, end = a * AT_ONCE, b * AT_ONCE
        row = first // wide
        if (end - 1) // wide == row:
            return _points(_lines(call, row, row + 1), first - row * wide, end - row * wide)
        return _pixels_of_rows(call, first, end)

    return Cut(wide, part)


def _pixels_of_rows(call: Call, first: int, end: int) -> Call:
    """The call of ``tinyrt_window_pixels_s8``, or its like, for the pixels [first, end)."""
    params, *tensors, y = call.args
    function = call.function.replace("_window_block_", "_window_pixels_")
    moved_y = moved(y, first * params_of(call)["y"]["c"])
    return Call(function, (params, Number(first), Number(end - first), *tensors, moved_y))


def pixels(call: Call) -> Cut | None:
    """Pixels of two rows, one by one, of ``tinyrt_window_pixels_s8``."""
    params, first, count, *tensors, y = call.args
    assert isinstance(first, Number)
    assert isinstance(count, Number)
    fields = params_of(call)["y"]
    begin, wide = int(first.value), fields["w"]
    function = call.function.replace("_window_pixels_", "_window_block_")
    whole = Call(function, (params, *tensors, moved(y, -begin * fields["c"])))

    def part(a: int, b: int) -> Call:
        if b - a > 1:
            return _pixels_of_rows(whole, begin + a, begin + b)
        row, column = divmod(begin + a, wide)
        return _points(_lines(whole, row, row + 1), column, column + 1)

    return Cut(int(count.value), part)


def fours(call: Call) -> Cut | None:
    """Four pixels at a time of ``tinyrt_window_four_s8``, which may lie in several rows.

    Returns:
        None for several images, and for no more than four pixels.

    """
    y = params_of(call)["y"]
    wide, count = y["w"], y["h"] * y["w"]
    if y["n"] != 1 or count <= FOUR:
        return None
    if wide % FOUR == 0 or y["h"] == 1:
        cut = lines(call, FOUR)
        return cut and replace(cut, last=1)

    def part(a: int, b: int) -> Call:
        return _run_of_fours(call, a * FOUR, min(b * FOUR, count))

    return Cut(-(-count // FOUR), part)


def _run_of_fours(call: Call, first: int, end: int) -> Call:
    """The pixels [first, end): whole rows, or some of them."""
    wide = params_of(call)["y"]["w"]
    row, behind = first // wide, -(-end // wide)
    rows = _lines(call, row, behind)
    begin, stop = first - row * wide, end - row * wide
    if begin == 0 and stop == (behind - row) * wide:
        return rows
    params, *tensors, y = rows.args
    function = call.function.replace("_window_four_", "_window_four_pixels_")
    moved_y = moved(y, begin * params_of(call)["y"]["c"])
    return Call(function, (params, Number(begin), Number(stop - begin), *tensors, moved_y))


def pixels_of_fours(call: Call) -> Cut | None:
    """Four pixels at a time of ``tinyrt_window_four_pixels_s8``; None for no more than four."""
    params, first, count, *tensors, y = call.args
    assert isinstance(first, Number)
    assert isinstance(count, Number)
    begin, pixels = int(first.value), int(count.value)
    if pixels <= FOUR:
        return None
    function = call.function.replace("_window_four_pixels_", "_window_four_")
    moved_y = moved(y, -begin * params_of(call)["y"]["c"])
    whole = Call(function, (params, *tensors, moved_y))

    def part(a: int, b: int) -> Call:
        return _run_of_fours(whole, begin + a * FOUR, begin + min(b * FOUR, pixels))

    return Cut(-(-pixels // FOUR), part)


def tiles(call: Call) -> Cut | None:
    """Rows of pairs of tiles; pairs of a single row. None for several images, and for one pair."""
    p = params_of(call)
    y, (high, wide) = p["y"], TILES
    if y["n"] != 1:
        return None
    if y["h"] > high:
        return Cut(-(-y["h"] // high), lambda a, b: _lines(call, a * high, min(b * high, y["h"])))
    if y["w"] > wide:
        return Cut(
            -(-y["w"] // wide), lambda a, b: _points(call, a * wide, min(b * wide, y["w"]), wide)
        )
    return None


def share_of_last(count: int, step: int) -> float:
    """What the last of units of ``step`` costs, as a share of one: alone, more than its part."""
    rest = count % step
    return min(1.0, ALONE * rest / step) if rest else 1.0


def _steps(p: Mapping[str, Any]) -> tuple[int, int, int]:
    """Elements from one line of inputs, of outputs, and point of outputs to the next."""
    x, y = p["x"], p["y"]
    return (
        p.get("x_line_step", x["w"] * x["c"]),
        p.get("y_line_step", y["w"] * y["c"]),
        p.get("y_point_step", y["c"]),
    )


def _lines(call: Call, start: int, stop: int) -> Call:
    p = params_of(call)
    window = p["window"]
    x_step, y_step, _ = _steps(p)
    top = start * window["stride_h"] - window["pad_top"]
    first = max(top, 0)
    reach = (window["kernel_h"] - 1) * window["dilation_h"] + 1
    bottom = top + (stop - 1 - start) * window["stride_h"] + reach
    fields = {
        "x.h": min(p["x"]["h"], bottom) - first,
        "y.h": stop - start,
        "window.pad_top": first - top,
    }
    x, y = ends_of(call)
    args = {x: moved(call.args[x], first * x_step), y: moved(call.args[y], start * y_step)}
    return edited(call, fields, args)


def _points(call: Call, start: int, stop: int, together: int = 1) -> Call:
    """Points of a line: what is padded to the left is less by what lies before them.

    Where no window reaches over the line's ends, the input begins at the first one. Kernels that
    compute several points together read the windows of all of these, also of those behind the last.
    """
    p = params_of(call)
    window, (_, _, y_step) = p["window"], _steps(p)
    left = window["pad_left"] - start * window["stride_w"]
    reach = (window["kernel_w"] - 1) * window["dilation_w"] + 1
    x, y = ends_of(call)
    args = {y: moved(call.args[y], start * y_step)}
    read = -(-(stop - start) // together) * together
    if left <= 0 and (read - 1) * window["stride_w"] + reach - left <= p["x"]["w"]:
        args[x] = moved(call.args[x], -left * p.get("x_point_step", p["x"]["c"]))
        left = 0
    fields = {"y.w": stop - start, "window.pad_left": left}
    return edited(call, fields, args)


def vector_lines(call: Call) -> Cut | None:
    """Lines of a convolution on vectors, or the points of a line that it computes at once.

    Where windows are one element, without strides, pixels: as many as are copied at once, if any.
    """
    p = params_of(call)
    window, at_once = p["window"], p["at_once"]
    steps = window["stride_h"], window["stride_w"]
    pointwise = (window["kernel_h"], window["kernel_w"], *steps) == (1, 1, 1, 1)
    if not pointwise:
        return lines(call, at_once)
    if p["y"]["n"] != 1 or p["groups"] != 1:
        return None
    pixels = p["y"]["h"] * p["y"]["w"]
    step = AT_ONCE if any(isinstance(arg, Null) for arg in call.args) else at_once
    if pixels <= step:
        return None
    return Cut(
        -(-pixels // step),
        lambda a, b: _pixels(call, a * step, min(b * step, pixels)),
        last=share_of_last(pixels, step),
    )


def _pixels(call: Call, start: int, stop: int) -> Call:
    p = params_of(call)
    fields = {"x.h": 1, "x.w": stop - start, "y.h": 1, "y.w": stop - start}
    x, y = ends_of(call)
    args = {
        x: moved(call.args[x], start * p["x_point_step"]),
        y: moved(call.args[y], start * p["y_point_step"]),
    }
    return edited(call, fields, args)


def matrix_rows(call: Call, step: int, c_in: int, c_out: int) -> Cut | None:
    """Rows of a dense layer, ``step`` of them to a unit; None for no more than one unit."""
    rows = params_of(call)["rows"]
    if rows <= step:
        return None

    def part(a: int, b: int) -> Call:
        start, stop = a * step, min(b * step, rows)
        x, y = ends_of(call)
        args = {x: moved(call.args[x], start * c_in), y: moved(call.args[y], start * c_out)}
        return edited(call, {"rows": stop - start}, args)

    return Cut(-(-rows // step), part, last=share_of_last(rows, step))


def matrix_fours(call: Call) -> Cut | None:
    """Four rows at a time of ``tinyrt_dense_four_s8``, for which fewer cost as much."""
    p = params_of(call)
    cut = matrix_rows(call, FOUR, p["c_in"], p["block"]["c_out"])
    return cut and replace(cut, last=1)
