"""The arena over time, drawn for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tinyrt.memory import ArenaPlan

ROWS = 16
"""Lines of the map."""

MAX_COLUMNS = 96
"""Columns of the map: ops that do not fit share one."""

SHADES = ("cyan", "green", "magenta", "yellow", "blue", "red", "white")
FREE = "·"


def arena_map(plan: ArenaPlan, steps: int) -> RenderableType:
    """Ops from left to right, bytes from offset 0 upwards; each tensor in a colour of its own.

    Args:
        plan: what to draw.
        steps: how many ops there are.

    """
    steps = max(steps, 1)
    width = max(1, min(4, MAX_COLUMNS // steps))
    share = -(-steps // MAX_COLUMNS)
    columns = -(-steps // share)
    label = len(f"{plan.arena_bytes:,}")
    lines = []
    spans = [(first, first + share - 1) for first in range(0, columns * share, share)]
    alive = [_alive(plan, first, last) for first, last in spans]
    for row in reversed(range(ROWS)):
        low, high = (plan.arena_bytes * r // ROWS for r in (row, row + 1))
        line = Text.assemble((f"  {high:>{label},} ", "dim"))
        for buffers in alive:
            buffer = _holder(buffers, low, high)
            if buffer is None:
                line.append(FREE * width, "dim")
            else:
                line.append("█" * width, SHADES[buffer % len(SHADES)])
        lines.append(line)
    ends = Text(f"  {'op':>{label}} 0{steps - 1:>{columns * width - 1}}", style="dim")
    return Group(*lines, ends)


def _alive(plan: ArenaPlan, first: int, last: int) -> list[tuple[int, int, int]]:
    """Number, start and end of each buffer that is kept at some of these steps."""
    spans = []
    for i, buffer in enumerate(plan.buffers):
        if buffer.first <= last and max(buffer.last, 0) >= first:
            start = plan.start_of(buffer.names[0])
            spans.append((i, start, start + buffer.nbytes))
    return spans


def _holder(buffers: list[tuple[int, int, int]], low: int, high: int) -> int | None:
    """The buffer that takes most of these bytes; the newest of several."""
    best, most = None, 0
    for i, start, stop in buffers:
        overlap = min(high, stop) - max(low, start)
        if overlap > 0 and overlap >= most:
            best, most = i, overlap
    return best
