"""Faults that no test can notice, since nothing that anybody sees depends on them, and why.

A survivor is read before it comes here: most are a missing test, or code that is not needed.
"""

from __future__ import annotations

EQUIVALENT: dict[str, dict[str, str]] = {
    "tinyrt/backends/c/blocks/nibbles.py": {
        "left_shift: int = 0 -> left_shift: int = -1": "who makes a block always gives it"
    },
    "tinyrt/backends/c/fields.py": {
        "alike = bool((mult == mult[0]).all() and (shift == shift[0]).all())"
        " -> alike = bool((mult == mult[0]).all() and (shift == shift[ -1]).all())": (
            "all are equal to the last where all are equal to the first"
        ),
    },
    "tinyrt/train/channels.py": {
        "count = (low + high) // 2 -> count = (low + high) // 1": (
            "the same count is found from above, one by one"
        ),
    },
}
"""File -> ``before -> after`` as the command prints it -> the reason."""

EQUIVALENT_EVERYWHERE: dict[str, str] = {
    r"slots=True": "a dataclass with slots only takes less memory",
    r"frozen=True": "nobody assigns to values that are meant to be frozen; mypy sees it",
    r"maxsize=|lru_cache": "how many answers a cache keeps only costs time",
    r"\bTraining\(epochs=|\bEpochs\(\d|\bVariation\(scale=": (
        "how long, how fast and on what a recipe trains is chosen; tests hold what it reaches"
    ),
    r"TINYRT_ASSERT\(|TINYRT_NOINLINE|TINYRT_UNROLL": "checks of debug builds, hints for compilers",
}
"""Pattern of the line -> the reason."""
