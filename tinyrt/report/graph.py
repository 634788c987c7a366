"""The model's graph as a drawing: a box for each op, with its whole name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinyrt.report.facts import ModelFacts
from tinyrt.report.layout import lay_out
from tinyrt.text import clean

MAX_OPS = 1_000
"""Ops that are drawn; what follows is named."""

WIDTH = 240.0
LETTERS = 38
"""Characters of a line in a box."""
LINE = 13.0
PADDING = 9.0
SHADES = 5
"""Shades by which costs are told apart."""
MAX_NAME = 2_000

_PIECE = re.compile(r"[^/;_.\s]*[/;_.\s]?")


@dataclass(frozen=True, slots=True)
class Box:
    """An op in the drawing.

    Attributes:
        index: the op's.
        x: of the upper left corner.
        y: likewise.
        height: of the box.
        title: what it is, in a line.
        lines: its name, wrapped.
        shade: 0 for the cheapest ops to ``SHADES`` - 1 for the most costly ones.

    """

    index: int
    x: float
    y: float
    height: float
    title: str
    lines: tuple[str, ...]
    shade: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The whole graph.

    Attributes:
        boxes: one for each op that is drawn.
        paths: the lines between them, as SVG has them.
        width: of the drawing.
        height: of the drawing.
        left_out: ops that are not drawn.

    """

    boxes: tuple[Box, ...]
    paths: tuple[str, ...]
    width: float
    height: float
    left_out: int


def draw_graph(model: ModelFacts, costs: Sequence[float], most: int = MAX_OPS) -> Drawing:
    """The drawing of a model's first ops, the darker the greater their share of the costs.

    Args:
        model: whose ops are drawn.
        costs: of each op.
        most: ops that are drawn.

    """
    ops = model.ops[:most]
    names = [wrapped(clean(op.name, MAX_NAME)) for op in ops]
    heights = [2 * PADDING + LINE * (2 + len(lines)) for lines in names]
    layout = lay_out([op.sources for op in ops], WIDTH, heights)
    greatest = max(costs, default=0)
    boxes = tuple(
        Box(
            index=op.index,
            x=x,
            y=y,
            height=heights[i],
            title=f"{op.index} {op.op}",
            lines=(_shape(op.outputs[0].shape), *names[i]),
            shade=shade(costs[i], greatest),
        )
        for i, (op, (x, y)) in enumerate(zip(ops, layout.places, strict=True))
    )
    paths = tuple(_curve(edge.points) for edge in layout.edges)
    left_out = len(model.ops) - len(ops)
    return Drawing(boxes, paths, layout.width, layout.height, left_out)


def shade(cost: float, most: float) -> int:
    """Which of the shades a cost has, of costs up to ``most``."""
    return min(int(SHADES * cost / most), SHADES - 1) if most else 0


def wrapped(name: str, letters: int = LETTERS) -> tuple[str, ...]:
    """A name in lines, cut behind the characters that part names; nothing is left out."""
    lines = [""]
    for piece in _pieces(name, letters):
        if len(lines[-1]) + len(piece) > letters:
            lines.append("")
        lines[-1] += piece
    return tuple(lines)


def _pieces(name: str, letters: int) -> Iterator[str]:
    for piece in _PIECE.findall(name):
        for start in range(0, len(piece), letters):
            yield piece[start : start + letters]


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """A path through the points that leaves and enters each from above or below."""
    (x, y), *others = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in others:
        middle = (y + to_y) / 2
        parts.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(parts)
