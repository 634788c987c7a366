"""Places of a model's ops on a page: ranks from top to bottom, lines between them.

Sugiyama's way, as drawing programs for data flow have it: each op stands a rank below the lowest of
its inputs; lines that pass ranks take a place of their own in each; within a rank, what is there is
ordered and placed by the mean of its neighbours' places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP_X, GAP_Y = 24.0, 34.0
LANE = 14.0
"""Width that a line takes in a rank that it passes."""
SWEEPS = 4
MAX_LANES = 20_000
"""Lanes of all lines together; what is beyond goes straight."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from one op to another, by the points that it passes."""

    source: int
    target: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of the ops' upper left corners, and the lines between them.

    Attributes:
        places: of each op.
        edges: from the ops to those that read them.
        width: of the drawing.
        height: of the drawing.

    """

    places: tuple[tuple[float, float], ...]
    edges: tuple[Edge, ...]
    width: float
    height: float


def lay_out(sources: Sequence[Sequence[int]], width: float, heights: Sequence[float]) -> Layout:
    """Places for all ops.

    Args:
        sources: of each op, the ops that it reads; all of them come before it.
        width: of an op.
        heights: of each op.

    """
    ranks = _ranks(sources)
    lines, lanes = _lines(sources, ranks)
    count = len(sources)
    rank_of = [*ranks, *(rank for rank in lanes)]
    widths = [width] * count + [LANE] * len(lanes)
    rows: list[list[int]] = [[] for _ in range(max(rank_of, default=-1) + 1)]
    for item, rank in enumerate(rank_of):
        rows[rank].append(item)
    above: list[list[int]] = [[] for _ in rank_of]
    below: list[list[int]] = [[] for _ in rank_of]
    for line in lines:
        for one, other in pairwise(line):
            above[other].append(one)
            below[one].append(other)
    centres = _centres(rows, widths, above, below)
    tops, height = _tops(rows, heights)
    left = min((x - w / 2 for x, w in zip(centres, widths, strict=True)), default=0.0)
    right = max((x + w / 2 for x, w in zip(centres, widths, strict=True)), default=0.0)

    def points(line: Sequence[int]) -> tuple[tuple[float, float], ...]:
        source, *between, target = line
        path = [(centres[source] - left, tops[ranks[source]] + heights[source])]
        for lane in between:
            rank = rank_of[lane]
            bottom = tops[rank] + _tallest(rows[rank], heights)
            path += [(centres[lane] - left, tops[rank]), (centres[lane] - left, bottom)]
        return (*path, (centres[target] - left, tops[ranks[target]]))

    return Layout(
        tuple((centres[i] - width / 2 - left, tops[ranks[i]]) for i in range(count)),
        tuple(Edge(line[0], line[-1], points(line)) for line in lines),
        right - left,
        height,
    )


def _ranks(sources: Sequence[Sequence[int]]) -> list[int]:
    ranks: list[int] = []
    for own in sources:
        ranks.append(1 + max((ranks[i] for i in own), default=-1))
    return ranks


def _lines(
    sources: Sequence[Sequence[int]], ranks: Sequence[int]
) -> tuple[list[list[int]], list[int]]:
    """Each line as the items that it passes, and the rank of each lane; lanes follow the ops."""
    lines: list[list[int]] = []
    lanes: list[int] = []
    for target, own in enumerate(sources):
        for source in own:
            passed = range(ranks[source] + 1, ranks[target])
            if len(lanes) + len(passed) > MAX_LANES:
                passed = range(0)
            first = len(sources) + len(lanes)
            lanes += passed
            lines.append([source, *range(first, first + len(passed)), target])
    return lines, lanes


def _centres(
    rows: list[list[int]],
    widths: Sequence[float],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
) -> list[float]:
    """Where each item's middle is, from left to right."""
    centres = [0.0] * len(widths)
    for row in rows:
        _place(row, widths, centres)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        for row in rows if down else reversed(rows):
            for item in row:
                if near[item]:
                    centres[item] = sum(centres[i] for i in near[item]) / len(near[item])
            row.sort(key=lambda item: centres[item])
            _place(row, widths, centres)
    return centres


def _place(row: Sequence[int], widths: Sequence[float], centres: list[float]) -> None:
    """Move the items of a row apart, as little as it takes on the whole."""
    wished = [centres[item] for item in row]
    for before, item in pairwise(row):
        least = centres[before] + (widths[before] + widths[item]) / 2 + GAP_X
        centres[item] = max(centres[item], least)
    moved = sum(centres[item] - wish for item, wish in zip(row, wished, strict=True))
    for item in row:
        centres[item] -= moved / len(row)


def _tallest(row: Sequence[int], heights: Sequence[float]) -> float:
    return max((heights[item] for item in row if item < len(heights)), default=0.0)


def _tops(rows: Sequence[Sequence[int]], heights: Sequence[float]) -> tuple[list[float], float]:
    """The upper edge of each rank, and the height of all."""
    tops, at = [], 0.0
    for row in rows:
        tops.append(at)
        at += _tallest(row, heights) + GAP_Y
    return tops, max(at - GAP_Y, 0.0)
