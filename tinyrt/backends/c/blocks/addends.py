"""Addends that every two channels share, for layers whose outputs count thresholds.

A channel's output counts the thresholds ``n * 2**16`` that a scaled sum reaches, see ``relu``:

    floor(scale * sum / 2**32) + addend >= n * 2**16        for n from 1 to 255

Floor or not, that is ``scale * sum + addend * 2**32 >= n * 2**48``. A sum that begins with ``move``
more adds ``scale * move``. So all outputs are right if, and only if,

    low <= scale * move + addend * 2**32 <= high

where ``low`` is the least value with which each sum reaches its thresholds, and ``high`` the
greatest with which none reaches one too early. An addend serves a channel if some move goes with
it: one of a hundred does, where all outputs occur. Scales of two channels differ, so that one of
some thousand serves both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

COUNTS = np.arange(1, 256, dtype=np.int64)
"""Outputs above the least one."""

BATCHES = (0, 64, 512, 4096, 1 << 15, 1 << 18)
"""Where each batch of moves that are tried begins, and the end of the last."""

MAX_TRIED = 1 << 19
"""Most moves that are tried at once, of all channels."""

MAX_ADDEND = 1 << 29
"""Bound of absolute addends: beside products, words hold them."""

_ANY = 1 << 62
"""What no end of a range reaches."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """What leaves all outputs of channels as they are.

    Attributes:
        scale: what one sum adds.
        low: the least value of ``scale * move + addend * 2**32``.
        high: the greatest; less than ``low`` where there is none.
        room: the greatest absolute move.

    """

    scale: Integers
    low: Integers
    high: Integers
    room: Integers

    @classmethod
    def of(
        cls, scale: Integers, thresholds: Integers, reach: tuple[Integers, Integers], room: Integers
    ) -> Ranges:
        """The ranges of channels.

        Args:
            scale: of each channel; with any sum in reach below 2**62.
            thresholds: the least sum of each output, (channels, 255).
            reach: the least and the greatest sum of each channel.
            room: the greatest absolute moves.

        """
        least, greatest = (ends[:, None] for ends in reach)
        outputs, each = COUNTS << 48, scale[:, None]
        first, last = np.maximum(thresholds, least), np.minimum(thresholds - 1, greatest)
        reached = outputs - each * np.minimum(first, greatest)
        missed = outputs - each * np.maximum(last, least) - 1
        low = reached.max(axis=1, initial=-_ANY, where=thresholds <= greatest)
        high = missed.min(axis=1, initial=_ANY, where=thresholds > least)
        return cls(scale, low, high, room)

    @property
    def exist(self) -> NDArray[np.bool_]:
        """Whether there is any such value."""
        return np.asarray(self.low <= self.high)

    @property
    def width(self) -> NDArray[np.float64]:
        """How many moves a range holds for an addend of any real value."""
        return (self.high.astype(np.float64) - self.low) / self.scale

    def of_channels(self, channels: Integers) -> Ranges:
        """Those of some channels."""
        return Ranges(*(v[channels] for v in (self.scale, self.low, self.high, self.room)))

    def addends(self, moves: Integers) -> tuple[Integers, Integers]:
        """Addends beside some of the moves, and which channel each serves, in the moves' order."""
        moved, near = self.scale[:, None] * moves, np.abs(moves) <= self.room[:, None]
        least, greatest = -((moved - self.low[:, None]) >> 32), (self.high[:, None] - moved) >> 32
        channels, at = np.nonzero((least <= greatest) & near)
        # Both ends of each range: what lies between them fares no better.
        ends = np.stack([least[channels, at], greatest[channels, at]], axis=1)
        return ends.ravel(), np.repeat(channels, 2)

    def moves(self, addends: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """A move of each channel beside its addend, none if none is needed; and if there is one."""
        small = np.abs(addends) < MAX_ADDEND
        added = np.where(small, addends, 0) << 32
        least = -((added - self.low) // self.scale)
        near = np.maximum(least, 0)
        moves = np.where(added + self.scale * near <= self.high, near, least)
        fit = (added + self.scale * moves <= self.high) & (np.abs(moves) <= self.room)
        return moves, small & fit


def shared(ranges: Ranges, expected: Integers) -> tuple[Integers, Integers] | None:
    """One addend for every two channels, and all moves; None where two have none in common.

    Args:
        ranges: of all channels. One that is left over goes with itself.
        expected: the addend of each channel beside no move.

    """
    evens = np.arange(0, len(expected), 2)
    odds = np.minimum(evens + 1, len(expected) - 1)
    # The narrower range says what may be tried.
    swapped = ranges.width[odds] < ranges.width[evens]
    leads, others = np.where(swapped, odds, evens), np.where(swapped, evens, odds)
    addends = expected[leads]
    missing = np.flatnonzero(~_serve(ranges, leads, others, addends))
    for begin, end in pairwise(BATCHES):
        if missing.size == 0:
            break
        away = np.arange(begin, end)
        steps = np.stack([away, -away], axis=1).ravel()
        at_once = MAX_TRIED // steps.size
        for i in range(0, missing.size, at_once):
            some = missing[i : i + at_once]
            tried, which = ranges.of_channels(leads[some]).addends(steps)
            pairs = some[which]
            _, serve = ranges.of_channels(others[pairs]).moves(tried)
            found, first = np.unique(pairs[serve], return_index=True)
            addends[found] = tried[serve][first]
            if end == BATCHES[-1] and found.size < some.size:
                return None
        missing = np.flatnonzero(~_serve(ranges, leads, others, addends))
    moves = np.zeros_like(expected)
    for channels in (leads, others):
        moves[channels], _ = ranges.of_channels(channels).moves(addends)
    return addends, moves


def _serve(ranges: Ranges, one: Integers, other: Integers, addends: Integers) -> NDArray[np.bool_]:
    """Which addends have moves of both channels."""
    fits, fit = (ranges.of_channels(channels).moves(addends)[1] for channels in (one, other))
    return np.asarray(fits & fit)
