"""What the cost of windows of features by themselves grows with."""

from __future__ import annotations

from tinyrt.dsp.standard import GROUPS
from tinyrt.dsp.transform_terms import Terms

AT_ONCE = 4
"""Features of a vector."""


def standard_terms(rows: int, features: int, group: str, *, has_vectors: bool) -> dict[str, Terms]:
    """Step of a window of so many rows -> what its constants are times."""
    groups = 1 if group == GROUPS[0] else features
    count = rows * features // groups
    each = (groups * (count // AT_ONCE), groups * (count % AT_ONCE > 0))
    return {
        "means and deviations": (1, groups, *(each if has_vectors else (groups * count,))),
        "normal rows": (rows, rows * features),
    }
