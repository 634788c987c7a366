"""The arena over time as a drawing: ops from left to right, bytes from offset 0 upwards."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.report.facts import ArenaFacts
from tinyrt.text import clean

WIDTH, HEIGHT = 960, 360
TICKS = 4
"""Parts into which lines divide the map's height."""
MAX_BOXES = 3_000
"""Tensors that are drawn, the largest first."""


@dataclass(frozen=True, slots=True)
class Box:
    """One buffer, in the drawing's units."""

    x: float
    y: float
    width: float
    height: float
    hue: int
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class ArenaMap:
    """The whole drawing.

    Attributes:
        boxes: one for each buffer.
        ticks: bytes, and where their line is.
        peak_x: where the column of the fullest op begins.
        column: width of an op.
        left_out: buffers that are not drawn.

    """

    boxes: tuple[Box, ...]
    ticks: tuple[tuple[int, float], ...]
    peak_x: float
    column: float
    left_out: int


def draw_arena(arena: ArenaFacts, ops: int) -> ArenaMap:
    """The map of a plan for so many ops."""
    column = WIDTH / max(ops, 1)
    scale = HEIGHT / max(arena.bytes, 1)
    largest = sorted(range(len(arena.buffers)), key=lambda i: -arena.buffers[i].bytes)[:MAX_BOXES]

    def box(index: int) -> Box:
        buffer = arena.buffers[index]
        return Box(
            x=buffer.first * column,
            y=HEIGHT - (buffer.offset + buffer.bytes) * scale,
            width=(buffer.last - buffer.first + 1) * column,
            height=buffer.bytes * scale,
            hue=index * 47 % 360,
            label=f"{buffer.bytes:,}",
            title=f"{', '.join(map(clean, buffer.names))}: {buffer.bytes:,} bytes at "
            f"{buffer.offset:,}, ops {buffer.first} to {buffer.last}",
        )

    return ArenaMap(
        boxes=tuple(map(box, sorted(largest))),
        ticks=tuple(
            (arena.bytes * i // TICKS, HEIGHT - HEIGHT * i / TICKS) for i in range(TICKS + 1)
        ),
        peak_x=arena.peak * column,
        column=column,
        left_out=len(arena.buffers) - len(largest),
    )
