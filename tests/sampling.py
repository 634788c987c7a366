"""How many cases a test takes: a sample in ``make test``, all of them in ``make test-all``."""

from __future__ import annotations

import os

WHOLE = os.environ.get("TINYRT_TESTS") == "all"
"""Whether all cases are asked for."""


def sampled(sample: int, whole: int) -> int:
    """How many random cases: ``sample``, or ``whole`` where all are asked for."""
    return whole if WHOLE else sample
