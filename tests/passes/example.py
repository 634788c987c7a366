"""What an example of a pass is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.passes.random_net import RandomNet as Net

IMAGE, ROW, CHANNELS_FIRST = (1, 6, 5, 3), (2, 4), (1, 3, 6, 5)

Made = str | tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A pass's own graphs.

    Attributes:
        shape: of the input.
        fires: makes the output of a graph that the pass changes.
        stays: makes that of one that it nearly applies to; None where it never refuses.
        reason: what it says then.

    """

    shape: tuple[int, ...]
    fires: Callable[[Net], Made]
    stays: Callable[[Net], Made] | None = None
    reason: str = ""
