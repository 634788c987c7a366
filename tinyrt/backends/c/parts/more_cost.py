"""What taps behind a window's own cost: those that are read again, and sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyrt.backends.c.blocks.cost import dense_cost, window_cost
from tinyrt.backends.c.blocks.four_cost import Fours, window_four_cost
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.parts.windows import groups_of, size

MORE_TAP, SUMMED_TAP = 8, 1.6
"""Instructions for a tap of a pixel that is read again, and for one that is summed."""


def with_more(
    name: str, p: Mapping[str, Any], isa: InstructionSet, relu: bool, fours: Fours
) -> float:
    """A layer some of whose taps are read more than once: all of its taps as if of one pixel."""
    layer = p["layer"]
    taps, c_out = layer["block"]["taps"], layer["block"]["c_out"]
    is_matrix = name.startswith("dense")
    pixels: int = layer["rows"] if is_matrix else size(layer["y"]) // layer["y"]["c"]
    again: float = pixels * MORE_TAP * p["more"]["count"]
    if "taps" not in p["more"]:
        again += pixels * SUMMED_TAP * taps
    if is_matrix:
        return again + dense_cost(isa, pixels, taps, c_out, relu)
    if name.startswith("window_four"):
        return again + window_four_cost(groups_of(layer), (1, 1), taps, c_out, relu, fours)
    return again + window_cost(isa, pixels, (1, 1), taps, c_out, relu)


def summed(p: Mapping[str, Any]) -> float:
    """Instructions of sums behind the taps of groups."""
    if "more" not in p:
        return 0
    layer = p["layer"]
    pixels = size(layer["y"]) // layer["y"]["c"]
    taps: int = layer["groups"] * layer["block"]["taps"]
    return float(pixels * (SUMMED_TAP * taps + MORE_TAP * layer["groups"]))
