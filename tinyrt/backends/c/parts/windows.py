"""Outputs of a convolution, counted by the parameters of its call."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tinyrt.backends.c.blocks.four_cost import WindowGroups


def size(shape: Mapping[str, int]) -> int:
    """Elements of ``tinyrt_nhwc``."""
    return prod(shape.values())


def run_of_groups(p: Mapping[str, Any], count: int) -> WindowGroups:
    """So many groups of outputs of a convolution, as if all were at a border."""
    window = p["window"]
    return WindowGroups.anywhere(count, p["y"]["w"], window["kernel_w"], window["stride_w"])


def groups_of(p: Mapping[str, Any]) -> WindowGroups:
    """Four outputs at a time of a convolution."""
    x, y, window = p["x"], p["y"], p["window"]
    places = (window["pad_top"], window["pad_left"]), (y["h"], y["w"])
    kernel = window["kernel_h"], window["kernel_w"]
    slides = kernel, (window["stride_h"], window["stride_w"])
    return WindowGroups.of(y["n"], (x["h"], x["w"]), slides, places)
