"""Kernels with vectors in parts: eight output channels, with their weights and scales, or bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyrt.backends.c.kernel import Call, Data, Number
from tinyrt.backends.c.mve.zeros import starts_of_quads
from tinyrt.backends.c.parts.channels import EIGHT, QUAD, scales_from
from tinyrt.backends.c.parts.edit import Cut, edited, ends_of, moved, params_of


def planes(call: Call) -> Cut | None:
    """Eight channels at a time of a depthwise convolution on vectors; bands of lines of eight."""
    p = params_of(call)
    channels = p["y"]["c"]
    if p["y"]["n"] != 1 or p["x"]["c"] != channels:
        return None
    if channels <= EIGHT:
        return _bands(call)
    w, bias = (i for i, arg in enumerate(call.args) if isinstance(arg, Data))
    data = call.args[w]
    assert isinstance(data, Data)
    each = data.array.size // -(-channels // EIGHT)
    requant = p["requant"]

    def part(a: int, b: int) -> Call:
        start, stop = a * EIGHT, min(b * EIGHT, channels)
        fields = {
            "x.c": stop - start,
            "y.c": stop - start,
            **scales_from(requant, start, "requant."),
        }
        x, y = ends_of(call)
        args = {i: moved(call.args[i], start) for i in (x, bias, y)}
        return edited(call, fields, args | {w: moved(data, a * each)})

    return Cut(-(-channels // EIGHT), part, _set_up(p))


def _set_up(p: Mapping[str, Any]) -> int:
    """Instructions of a depthwise kernel on vectors before its first channels."""
    if "positions" not in p:
        return 400
    groups = -(-p["y"]["h"] // 2) if p["y"]["h"] <= p["band"] else 1
    bytes_of_place = max(p["column"], 2) * p["window"]["stride_w"]
    return 400 + (14 + int(bytes_of_place)) * int(p["positions"]) * groups


def _bands(call: Call) -> Cut | None:
    """Bands of lines: each reads what the last one left of its copy. None for a single band."""
    p = params_of(call)
    lines, band = p["y"]["h"], p["band"]
    if lines <= band:
        return None
    params, *tensors = call.args
    function = call.function.replace("_conv2d_", "_bands_").replace("_planes_", "_plane_bands_")

    def part(a: int, b: int) -> Call:
        first, end = Number(a * band), Number(min(b * band, lines))
        return Call(function, (params, first, end, *tensors))

    return Cut(-(-lines // band), part, _set_up(p))


def row_of_channels(call: Call) -> Cut | None:
    """Eight channels at a time of one row of a dense layer on vectors."""
    p = params_of(call)
    c_out = p["product"]["c_out"]
    if c_out <= EIGHT:
        return None
    w, bias = (i for i, arg in enumerate(call.args) if isinstance(arg, Data))
    data = call.args[w]
    assert isinstance(data, Data)
    each = EIGHT // QUAD * data.array.size // -(-c_out // QUAD)

    def part(a: int, b: int) -> Call:
        start, stop = a * EIGHT, min(b * EIGHT, c_out)
        scales = scales_from(p, start)
        _, y = ends_of(call)
        args = {bias: moved(call.args[bias], start), y: moved(call.args[y], start)}
        fields = {"product.c_out": stop - start, **scales}
        return edited(call, fields, args | {w: moved(data, a * each)})

    return Cut(-(-c_out // EIGHT), part)


def kept_channels(call: Call) -> Cut | None:
    """Four channels at a time of one row of a dense layer without zeros; None for several rows."""
    p = params_of(call)
    c_out = p["product"]["c_out"]
    if p["rows"] > 1 or c_out <= QUAD:
        return None
    w, scales = (i for i, arg in enumerate(call.args) if isinstance(arg, Data))
    words, all_scales = call.args[w], call.args[scales]
    assert isinstance(words, Data)
    assert isinstance(all_scales, Data)
    starts = starts_of_quads(words.array[words.skip :])
    each = all_scales.array.shape[1]
    _, y = ends_of(call)

    def part(a: int, b: int) -> Call:
        args = {
            w: moved(words, starts[a]),
            scales: moved(all_scales, a * each),
            y: moved(call.args[y], a * QUAD),
        }
        return edited(call, {"product.c_out": (b - a) * QUAD}, args)

    return Cut(c_out // QUAD, part)
