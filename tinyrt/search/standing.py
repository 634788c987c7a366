"""How a search stands, in a line for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tinyrt.search.store import End, Record

SHOWN = (End.MISFIT, End.STOPPED, End.REPEATED, End.FAILED)
"""Ends that are counted beside those that were refused."""


class Standing:
    """What became of the trials so far, told one by one.

    Args:
        limits: what is limited, and to how much.

    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = limits
        self._best: Record | None = None
        self._ends, self._beyond = Counter[End](), Counter[str]()

    def add(self, record: Record) -> None:
        """Take note of a trial that came to its end."""
        self._ends[record.end] += 1
        costs = record.costs or {}
        if record.end is End.REFUSED:
            # What is limited and beyond it; a network that does not build has no costs.
            beyond = [n for n, most in self._limits.items() if costs.get(n, 0) > most]
            self._beyond.update(beyond or ["shape"])
        if record.end is End.TRAINED and record.score is not None:
            best = self._best
            if best is None or best.score is None or record.score > best.score:
                self._best = record

    def line(self) -> str:
        """The best score with what it costs, and how many ended how; refused by what."""
        parts = []
        if self._best is not None and self._best.score is not None:
            score, costs = self._best.score, self._best.costs or {}
            told = f"{100 * score:.2f} %" if score >= 0 else f"{-score:.4g}"
            spent = ", ".join(f"{name} {costs[name]:,}" for name in self._limits if name in costs)
            parts.append(f"best {told} ({spent})")
        if refused := self._ends[End.REFUSED]:
            by = ", ".join(f"{name} {count}" for name, count in self._beyond.most_common())
            parts.append(f"{refused} refused ({by})")
        parts += [f"{self._ends[end]} {end.value}" for end in SHOWN if self._ends[end]]
        return "; ".join(parts)
