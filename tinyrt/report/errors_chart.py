"""Quantisation errors from layer to layer as a drawing."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.decibels import shown_db
from tinyrt.report.facts import Errors
from tinyrt.text import clean

WIDTH, HEIGHT = 960, 320
MARGIN = 12
TICK_DB = 10
MAX_DB = 100.0
"""Layers without an error are drawn here."""
LINES = (
    ("impact", "impact_db", "the output if this layer alone is quantised"),
    ("own", "own_db", "this layer's output if it alone is quantised"),
    ("total", "accumulated_db", "this layer's output in the quantised model"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """One layer in one line, in the drawing's units."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """One figure from layer to layer."""

    label: str
    meaning: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class ErrorChart:
    """The whole drawing: its lines, and decibels with the place of their line across."""

    lines: tuple[Line, ...]
    ticks: tuple[tuple[int, float], ...]


def draw_errors(errors: Errors) -> ErrorChart:
    """Each figure of every layer, from left to right in the order of execution."""
    layers = errors.layers
    highest = max((getattr(a, f) for a in layers for _, f, _ in LINES), default=0.0)
    top = min(max(highest, TICK_DB), MAX_DB)
    step = (WIDTH - 2 * MARGIN) / max(len(layers) - 1, 1)

    def points(field: str) -> tuple[Point, ...]:
        return tuple(
            Point(
                MARGIN + i * step,
                _y(getattr(layer, field), top),
                f"{clean(layer.name)} ({layer.op}): {shown_db(getattr(layer, field), 1, ' dB')}",
            )
            for i, layer in enumerate(layers)
        )

    return ErrorChart(
        tuple(Line(label, what, points(field)) for label, field, what in LINES),
        tuple((db, _y(db, top)) for db in range(0, int(top) + 1, TICK_DB)),
    )


def _y(db: float, top: float) -> float:
    """Down from ``top`` at the upper edge to 0 dB at the lower one."""
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - min(max(db, 0.0), top) / top)
