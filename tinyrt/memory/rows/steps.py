"""The steps of a segment as bytes; repeated steps are written once, as a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tinyrt.memory.segments import RowStep, Segment

SHIFT, FILL, RUN = 0x80, 0x40, 0x20
"""Bits of a step; see ``tinyrt_rows.h``."""

END, AT_END, AGAIN = 0x3F, 0x10, 0x1F
"""Bytes between steps; see ``tinyrt_rows.h``."""

MOST = 255
"""Limit of the bytes that a loop jumps back, and of its rounds."""

LOOP_BYTES = 3
"""Bytes that a loop takes besides its steps."""


def encode(segment: Segment, numbers: Mapping[int, int]) -> bytes:
    """The steps as ``tinyrt_next_stage`` reads them.

    Args:
        segment: the segment.
        numbers: stage -> its number in the C code.

    """
    steps = [_step(s, segment.stages[s.stage].block, numbers[s.stage]) for s in segment.steps]
    return _loops(steps) + bytes([END])


def _step(step: RowStep, block: int, number: int) -> bytes:
    """The step's byte, preceded by the bytes for rows that the batch leaves out."""
    missing = block - step.first - step.count
    cuts = [step.first] * (step.first > 0) + [AT_END | missing] * (missing > 0)
    shifts = SHIFT * step.shift
    if step.clear:
        # FILL alone fills the rows that stay. Behind cuts, FILL fills the block.
        rest = [*cuts, number | FILL | RUN * step.run] if cuts else [number | RUN]
        return bytes([number | FILL, *rest])
    if not step.run and (step.shift or not step.fill):
        return bytes([number | shifts | FILL * step.fill])
    return bytes([*cuts, number | shifts | FILL * step.fill | RUN * step.run])


def _loops(steps: Sequence[bytes]) -> bytes:
    """The steps as bytes: the loop that saves the most bytes, and the steps around it."""
    start, period, rounds = _best_repetition(steps)
    if rounds < 2:
        return b"".join(steps)
    end = start + period * rounds
    body = b"".join(steps[start : start + period])
    again = bytes([AGAIN, rounds, len(body) + 1])
    return _loops(steps[:start]) + body + again + _loops(steps[end:])


def _best_repetition(steps: Sequence[bytes]) -> tuple[int, int, int]:
    """Start, period and count of the repetition that saves the most bytes."""
    best, saved = (0, 0, 0), LOOP_BYTES
    kinds = {step: i for i, step in enumerate(dict.fromkeys(steps))}
    codes = np.array([kinds[step] for step in steps], np.int64)
    ends = np.cumsum([0, *map(len, steps)])
    for period in range(1, min(len(steps) // 2, MOST) + 1):
        for start, length in _runs(codes, period):
            rounds = min(1 + length // period, MOST)
            size = int(ends[start + period] - ends[start])
            gain = size * (rounds - 1)
            if gain > saved and size < MOST:
                best, saved = (start, period, rounds), gain
    return best


def _runs(codes: NDArray[np.int64], period: int) -> list[tuple[int, int]]:
    """Runs of steps that equal the steps one period later: start and length of each long run."""
    same = np.concatenate([[False], codes[:-period] == codes[period:], [False]])
    starts, stops = np.flatnonzero(np.diff(same)).reshape(-1, 2).T
    long = stops - starts >= period
    lengths = stops - starts
    return list(zip(starts[long].tolist(), lengths[long].tolist(), strict=True))
