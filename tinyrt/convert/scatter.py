"""Scattering at places that are known: it is gathering, from what is written and what stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


def rounds(places: Places, count: int) -> list[Places]:
    """Which row is written where, taken apart so that no place is written twice at once.

    Args:
        places: where each row goes, from 0 to ``count - 1``.
        count: how many places there are.

    Returns:
        For the first rows of all places, the second ones, and so on: for each place the number of
        its row, or ``len(places)`` where there is none.

    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    begins = np.searchsorted(ordered, ordered)
    turn = np.arange(len(places)) - begins
    found = []
    for i in range(int(turn.max()) + 1):
        rows = np.full(count, len(places), np.int64)
        now = turn == i
        rows[ordered[now]] = order[now]
        found.append(rows)
    return found


def most_alike(places: Places) -> int:
    """How often the place is written that is written most often: the number of rounds."""
    return int(np.unique(places, return_counts=True)[1].max())
