"""How many cases a test takes: a sample in ``make test``, all of them in ``make test-all``."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

WHOLE = os.environ.get("TINYRT_TESTS") == "all"
"""Whether all cases are asked for."""


def sampled(sample: T, whole: T) -> T:
    """Which cases, or how many random ones: ``sample``, or ``whole`` where all are asked for."""
    return whole if WHOLE else sample
