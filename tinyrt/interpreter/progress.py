"""Progress of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with the count of finished steps and their total."""


def later(progress: Progress | None, start: int, total: int) -> Progress | None:
    """The progress of a piece, reported as progress of the whole."""
    return None if progress is None else lambda count, _: progress(start + count, total)
