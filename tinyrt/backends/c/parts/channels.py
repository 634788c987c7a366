"""Kernels in parts that are output channels, with their weights and scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.cost import transform_share
from tinyrt.backends.c.blocks.four_cost import dense_four_cost, window_four_cost
from tinyrt.backends.c.blocks.row_bytes import SUMS
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Arg, Call, Field, Number
from tinyrt.backends.c.parts.edit import Cut, edited, ends_of, moved, moved_data, params_of
from tinyrt.backends.c.parts.windows import groups_of, run_of_groups

QUAD, EIGHT = 4, 8
"""Channels of a block of weights, and of two or of a depthwise kernel's vectors."""

MOST = 16
"""Most blocks of a part whose outputs are moved: they lie on the stack."""

PAIR = 2
"""Lines of a unit of a plane: the second line alone would read the first one again. Channels that
kernels for four pixels compute together."""

FILLS = 1
"""Which argument says whether a part of a row fills what all parts read."""

SCALES = {False: 2, True: 3}
"""Whether outputs need no sign -> entries of mult for two channels of four pixels."""


def row_channels(call: Call, step: int, keeps: bool = False) -> Cut | None:
    """Channels of ``tinyrt_dense_row_s8`` and its like, ``step`` of them to a unit.

    ``tinyrt_dense_row_part_s8`` ``keeps`` the sum of all activations, which its first part finds:
    three first sums serve four channels there.
    """
    c_out = params_of(call)["block"]["c_out"]
    if c_out <= step:
        return None
    block = _Block.of(call, step, sums=SUMS if keeps else QUAD)
    _, y = ends_of(call)

    def part(a: int, b: int) -> Call:
        args: dict[int, Arg] = {y: moved(call.args[y], a * step)}
        if keeps:
            args[FILLS] = Number(int(a == 0))
        return edited(call, block.fields(a, b), args)

    return Cut(block.units, part)


def dense_channels(call: Call) -> Cut | None:
    """Channels of one or two rows of ``tinyrt_dense_s8``; the first part fills all columns."""
    return _from_columns(call, "dense", params_of(call)["block"]["c_out"], MOST)


def window_channels(call: Call) -> Cut | None:
    """Channels of one or two pixels, of a row, of ``tinyrt_window_block_s8``, likewise."""
    y = params_of(call)["y"]
    if y["n"] * y["h"] * y["w"] > 2:
        return None
    return _from_columns(call, "window_block", y["c"], MOST)


def _from_columns(call: Call, kernel: str, c_out: int, most: int) -> Cut | None:
    """Four channels at a time of what has been copied to columns, by ``<kernel>_part``.

    The outputs of two columns lie apart by all channels, not by those of a part. So the function
    moves them, and takes the number of all channels.
    """
    if c_out <= QUAD:
        return None
    block = _Block.of(call, QUAD)
    _, y = ends_of(call)
    tensors = call.args[1:]
    function = call.function.replace(f"_{kernel}_", f"_{kernel.removesuffix('_block')}_part_")

    def part(a: int, b: int) -> Call:
        own, *_ = edited(call, block.fields(a, b), {}).args
        args = (*tensors[:-1], moved(call.args[y], a * QUAD))
        return Call(function, (own, Number(int(a == 0)), Number(c_out), *args))

    return Cut(block.units, part, 150, most)


def four_channels(call: Call) -> Cut | None:
    """Two channels at a time of at most four pixels or rows, by ``tinyrt_dense_four_part_s8``.

    The first part writes the words of four pixels, which the others read.

    Returns:
        None for several images.

    """
    p = params_of(call)
    several = "y" in p and p["y"]["n"] > 1
    if several or p["block"]["c_out"] <= PAIR:
        return None
    block = _Block.of(call, PAIR, per_pair=SCALES["_relu_" in call.function])
    c_out, (_, y) = p["block"]["c_out"], ends_of(call)
    _, *others = call.args
    run = [arg for arg in others if isinstance(arg, Number)]
    tensors = others[len(run) :]
    if "_window_" in call.function and not run:
        run = [Number(0), Number(p["y"]["h"] * p["y"]["w"])]
    function = call.function.replace("_pixels_", "_").replace("_four_", "_four_part_")

    def after(a: int, b: int) -> Call:
        return _part(a, b, fills=b == 0)

    def part(a: int, b: int) -> Call:
        return _part(a, b, fills=a == 0)

    def _part(a: int, b: int, fills: bool) -> Call:
        own, *_ = edited(call, block.fields(a, b), {}).args
        args = (*tensors[:-1], moved(call.args[y], a * PAIR))
        return Call(function, (own, *run, Number(int(fills)), Number(c_out), *args))

    return Cut(
        block.units, part, 150, after=after, first=_words_share(p, "_pixels_" in call.function)
    )


def _words_share(p: Mapping[str, Any], is_run: bool) -> float:
    """What of a call's cost the words of its pixels are; a run is taken as if at a border."""
    c_out = p["block"]["c_out"]
    if "window" not in p:
        return dense_four_cost(1, p["c_in"], 0) / dense_four_cost(1, p["c_in"], c_out)
    kernel = p["window"]["kernel_h"], p["window"]["kernel_w"]
    of = run_of_groups(p, 1) if is_run else groups_of(p), kernel, p["x"]["c"]
    return window_four_cost(*of, 0) / window_four_cost(*of, c_out)


def tile_channels(call: Call, isa: InstructionSet) -> Cut | None:
    """Four channels at a time of two tiles; the first part transforms what they read."""
    p = params_of(call)
    y = p["y"]
    if y["n"] > 1 or y["c"] <= QUAD:
        return None
    block = _Block.of(call, QUAD)
    _, *tensors = call.args
    _, end = ends_of(call)

    def part(a: int, b: int) -> Call:
        own, *_ = edited(call, block.fields(a, b), {}).args
        args = (*tensors[:-1], moved(call.args[end], a * QUAD))
        return Call("tinyrt_winograd_part_s8", (own, Number(int(a == 0)), *args))

    return Cut(block.units, part, 150, first=transform_share(isa, p["x"]["c"], y["c"]))


@dataclass(frozen=True, slots=True)
class _Block:
    """A packed layer by units of channels.

    Attributes:
        block: the fields of ``tinyrt_block_s8_params``.
        step: channels of a unit.
        starts: the first word of each unit's weights, and the end of all.
        per_pair: entries of mult for two channels, where scales are not by blocks of four; else 0.
        sums: first sums of four channels.

    """

    block: Mapping[str, Any]
    step: int
    starts: Sequence[int]
    per_pair: int = 0
    sums: int = QUAD

    @classmethod
    def of(cls, call: Call, step: int, per_pair: int = 0, sums: int = QUAD) -> _Block:
        """The layer of a call; where zeros are not stored, units differ in size."""
        block = params_of(call)["block"]
        words = block["w"].array.ravel()
        if "sparse" in call.function:
            return cls(block, step, starts_of_runs(words, step // QUAD))
        each = words.size * step * sums // (block["init"].array.size * QUAD)
        return cls(block, step, range(0, words.size + 1, each), per_pair, sums)

    @property
    def units(self) -> int:
        """How many there are."""
        c_out: int = self.block["c_out"]
        return -(-c_out // self.step)

    def fields(self, a: int, b: int) -> dict[str, Field]:
        """The fields for the units [a, b)."""
        start, stop = a * self.step, min(b * self.step, self.block["c_out"])
        step = self.block["requant_step"]
        mult = start // PAIR * self.per_pair * step if self.per_pair else start // QUAD * step
        fields: dict[str, Field] = {
            "block.c_out": stop - start,
            "block.w": moved_data(self.block["w"], self.starts[a]),
            "block.init": moved_data(self.block["init"], start * self.sums // QUAD),
            "block.mult": moved_data(self.block["mult"], mult),
        }
        if "shift" in self.block:
            shift = start * step if self.per_pair else mult
            fields["block.shift"] = moved_data(self.block["shift"], shift)
        if not isinstance(self.starts, range):
            whole = self.starts[a + (stop - start) // self.step] - self.starts[a]
            fields["block.taps"] = whole
        return fields


def starts_of_runs(words: NDArray[np.int32], per_tap: int) -> list[int]:
    """Where blocks begin in weights without zeros, and their end; see ``tinyrt_sparse_run.h``.

    Args:
        words: runs of taps, each behind a head.
        per_tap: words of a tap.

    """
    starts, at = [0], 0
    while at < words.size:
        head = int(words[at]) & 0xFFFF
        at += 1 + (head >> 1) * per_tap
        if head & 1:
            starts.append(at)
    return starts


def sliding_channels(call: Call) -> Cut | None:
    """Channels of ``tinyrt_depthwise3x3_s8``, plane by plane; lines of a single one.

    Returns:
        None for several images, and for a plane of few lines.

    """
    p = params_of(call)
    if p["images"] != 1:
        return None
    channels = p["channels"]
    if channels == 1:
        return _sliding_lines(call)
    each = p["w"].array.size // p["init"].array.size

    def part(start: int, stop: int) -> Call:
        scales = start if p["requant_step"] else 0
        fields: dict[str, Field] = {
            "channels": stop - start,
            "w": moved_data(p["w"], start * each),
            "init": moved_data(p["init"], start),
            "mult": moved_data(p["mult"], scales),
            "shift": moved_data(p["shift"], scales),
        }
        x, y = ends_of(call)
        args = {x: moved(call.args[x], start), y: moved(call.args[y], start)}
        return edited(call, fields, args)

    return Cut(channels, part)


def _sliding_lines(call: Call) -> Cut | None:
    """Lines of a plane. The kernel saves the line before each: outputs may have overwritten it.

    A part begins behind the first lines of the input, as if these were negative padding: then the
    kernel takes the line before from where the last part saved it.
    """
    across = params_of(call)["across"]
    count, stride = across["y_count"], params_of(call)["stride"]

    def part(a: int, b: int) -> Call:
        start, stop = a * PAIR, min(b * PAIR, count)
        fields = {"across.y_count": stop - start, "across.pad": across["pad"] - start * stride}
        _, y = ends_of(call)
        return edited(call, fields, {y: moved(call.args[y], start * across["y_step"])})

    return Cut(-(-count // PAIR), part, 350) if count > PAIR else None


def pool_channels(call: Call) -> Cut | None:
    """Four channels at a time of a pool with a single output to an image; None for several."""
    y = params_of(call)["y"]
    channels = y["c"]
    if y["n"] != 1 or channels <= QUAD:
        return None

    def part(a: int, b: int) -> Call:
        start, stop = a * QUAD, min(b * QUAD, channels)
        x, end = ends_of(call)
        args = {i: moved(call.args[i], start) for i in (x, end)}
        return edited(call, {"y.c": stop - start}, args)

    return Cut(-(-channels // QUAD), part)


def listed_channels(call: Call) -> Cut | None:
    """Four channels at a time of ``tinyrt_depthwise_block_s8``; None for several images."""
    p = params_of(call)
    if p["y"]["n"] != 1 or p["y"]["c"] <= QUAD:
        return None
    params, *tensors = call.args
    function = call.function.replace("_block_", "_part_")

    def part(a: int, b: int) -> Call:
        return Call(function, (params, Number(a * QUAD), Number(b * QUAD), *tensors))

    return Cut(p["y"]["c"] // QUAD, part)


def scales_from(fields: Mapping[str, Any], start: int, path: str = "") -> dict[str, Field]:
    """Mantissas and shifts of fields like ``tinyrt_requant_params`` from a channel on."""
    scales = start * fields["step"]
    return {path + name: moved_data(fields[name], scales) for name in ("mult", "shift")}


def plain_channels(call: Call) -> Cut | None:
    """Channels of one row of ``tinyrt_fully_connected_plain_s8``, with the model's own weights."""
    p = params_of(call)
    c_in, c_out = p["c_in"], p["c_out"]
    if c_out == 1:
        return None

    def part(start: int, stop: int) -> Call:
        fields = {"c_out": stop - start, **scales_from(p["requant"], start, "requant.")}
        _, x, w, bias, y = call.args
        args = {
            2: moved(w, start * c_in),
            3: moved(bias, start),
            4: moved(y, start),
        }
        del x
        return edited(call, fields, args)

    return Cut(c_out, part)
