"""How far long work is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Is called with what is done, and with what there is to do."""


def later(progress: Progress | None, start: int, total: int) -> Progress | None:
    """The progress of a piece as that of the whole."""
    return None if progress is None else lambda count, _: progress(start + count, total)
