"""Which segments go together: a way through a model runs each node alone or in a segment.

The live bytes while a segment runs depend on that segment alone: tensors that it shares with the
nodes before and after it are held whole. So the peak of a way is the highest peak of its parts, and
its work is the sum of their work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.memory.segments import Segment


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment that can be a part of a way.

    Attributes:
        segment: its nodes.
        peak: live bytes at its fullest step.
        instructions: instructions that it adds to a program.

    """

    segment: Segment
    peak: int
    instructions: int


Chain = tuple[Piece, ...]


def chains(pieces: Sequence[Piece], live: Sequence[int], most: int) -> list[Chain]:
    """Ways that no other way beats in both bytes and work, fewest bytes first.

    Args:
        pieces: segments, several of which may have nodes in common.
        live: for each node, the live bytes while it runs by itself.
        most: bytes that a way's peak must stay below.

    """
    levels = sorted({n for n in (*live, *(p.peak for p in pieces)) if n < most})
    result: list[Chain] = []
    least: int | None = None
    for level in levels[_first_open(pieces, live, levels) :]:
        chain = _cheapest(pieces, live, level)
        assert chain is not None
        work = sum(p.instructions for p in chain)
        if least is None or work < least:
            least = work
            result.append(chain)
    return result


def _first_open(pieces: Sequence[Piece], live: Sequence[int], levels: Sequence[int]) -> int:
    """The index of the lowest level at which a way exists."""
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if _cheapest(pieces, live, levels[middle]) is None:
            low = middle + 1
        else:
            high = middle
    return low


def _cheapest(pieces: Sequence[Piece], live: Sequence[int], level: int) -> Chain | None:
    """The way with the least work whose peak is at most ``level`` bytes."""
    starting: dict[int, list[Piece]] = {}
    for piece in pieces:
        if piece.peak <= level:
            starting.setdefault(piece.segment.first, []).append(piece)
    # For each node, last one first: work, number of segments, and the way from that node on.
    best: list[tuple[int, int, Chain] | None] = [None] * len(live) + [(0, 0, ())]
    for node in range(len(live) - 1, -1, -1):
        options = [best[node + 1]] if live[node] <= level else []
        for piece in starting.get(node, []):
            rest = best[piece.segment.stop]
            if rest is not None:
                work, count, chain = rest
                options.append((work + piece.instructions, count + 1, (piece, *chain)))
        best[node] = min((o for o in options if o is not None), key=lambda o: o[:2], default=None)
    return None if best[0] is None else best[0][2]
