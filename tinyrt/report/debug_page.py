"""``tinyrt debug --html``: each layer's error, drawn from layer to layer, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from tinyrt import __version__
from tinyrt.files import write_atomic
from tinyrt.quantize.explain.bisect import BisectReport
from tinyrt.quantize.explain.debug import DebugReport
from tinyrt.report.page import template
from tinyrt.text import clean

WIDTH, HEIGHT = 960, 320
MARGIN = 12
TICK_DB = 10
MAX_DB = 100.0
"""Layers without an error are drawn here."""
LINES = (
    ("impact", "impact_db", "#c0392b", "the output if this layer alone is quantised"),
    ("own", "own_db", "#2980b9", "this layer's output if it alone is quantised"),
    ("total", "accumulated_db", "#27ae60", "this layer's output in the quantised model"),
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
    colour: str
    meaning: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the drawing."""

    y: float
    label: int


def write_debug_page(
    name: str, report: DebugReport, path: str | Path, bisected: BisectReport | None = None
) -> Path:
    """Write the page, whole or not at all.

    Args:
        name: what the page is headed with.
        report: the layers' errors.
        path: the .html file.
        bisected: what wins the accuracy back, if that was looked for.

    Raises:
        OutputError: the file cannot be written.

    """
    top = _top(report)
    page = template("debug.html.j2").render(
        name=name,
        report=report,
        bisected=bisected,
        lines=error_lines(report),
        ticks=[Tick(_y(db, top), db) for db in range(0, int(top) + 1, TICK_DB)],
        width=WIDTH,
        height=HEIGHT,
        version=__version__,
    )
    data = page.encode()
    return write_atomic(path, lambda file: file.write(data))


def error_lines(report: DebugReport) -> list[Line]:
    """Each figure of every layer, from left to right in the order of execution."""
    layers, top = sorted(report.layers, key=attrgetter("index")), _top(report)
    step = (WIDTH - 2 * MARGIN) / max(len(layers) - 1, 1)

    def points(field: str) -> tuple[Point, ...]:
        return tuple(
            Point(
                MARGIN + i * step,
                _y(getattr(layer, field), top),
                f"{clean(layer.name)} ({layer.op}): {getattr(layer, field):.1f} dB",
            )
            for i, layer in enumerate(layers)
        )

    return [Line(label, colour, what, points(field)) for label, field, colour, what in LINES]


def _top(report: DebugReport) -> float:
    highest = max((getattr(a, f) for a in report.layers for _, f, _, _ in LINES), default=0.0)
    return min(max(highest, TICK_DB), MAX_DB)


def _y(db: float, top: float) -> float:
    """Down from ``top`` at the upper edge to 0 dB at the lower one."""
    return MARGIN + (HEIGHT - 2 * MARGIN) * (1 - min(max(db, 0.0), top) / top)
