"""The steps of a segment as bytes, with what repeats written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.memory.segments import Segment, Step

SHIFT, FILL, RUN = 0x80, 0x40, 0x20
"""Bits of a step; see ``tinyrt_rows.h``."""

MOST = 255
"""Steps of a chunk, and how often it can be taken."""

CHUNK_BYTES = 2
"""What a chunk takes besides its steps."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Steps that are taken several times."""

    steps: bytes
    rounds: int


def encode(segment: Segment) -> bytes:
    """The steps as ``tinyrt_next_stage`` reads them."""
    chunks = [c for c in _chunks(bytes(_step(s) for s in segment.steps)) if c.steps]
    return b"".join(bytes([len(c.steps), c.rounds]) + c.steps for c in chunks) + b"\0"


def _step(step: Step) -> int:
    return step.stage | SHIFT * step.shift | FILL * step.fill | RUN * step.run


def _chunks(steps: bytes) -> list[Chunk]:
    """Chunks that make up the steps: the repetition that saves most, and those around it."""
    start, period, rounds = _best_repetition(steps)
    if rounds < 2:
        parts = [steps[i : i + MOST] for i in range(0, len(steps), MOST)]
        return [Chunk(part, 1) for part in parts]
    end = start + period * rounds
    repeated = Chunk(steps[start : start + period], rounds)
    return [*_chunks(steps[:start]), repeated, *_chunks(steps[end:])]


def _best_repetition(steps: bytes) -> tuple[int, int, int]:
    """Start, period and count of the repetition that saves the most bytes."""
    best, saved = (0, 0, 0), 2 * CHUNK_BYTES
    for period in range(1, min(len(steps) // 2, MOST) + 1):
        for start, length in _runs(steps, period):
            rounds = min(1 + length // period, MOST)
            gain = period * (rounds - 1) - CHUNK_BYTES
            if gain > saved:
                best, saved = (start, period, rounds), gain
    return best


def _runs(steps: Sequence[int], period: int) -> list[tuple[int, int]]:
    """Where steps equal those one period later: start and length of each such run."""
    runs: list[tuple[int, int]] = []
    start = 0
    for i in range(len(steps) - period + 1):
        if i == len(steps) - period or steps[i] != steps[i + period]:
            if i - start >= period:
                runs.append((start, i - start))
            start = i + 1
    return runs
