"""The distance that stands for none."""

from __future__ import annotations

CEILING_DB = 200.0
"""SQNR of signals that are equal in every element, and at most of any others."""

EQUAL = "equal"
"""What is said of such signals: no finite number does."""


def shown_db(db: float, places: int = 1, unit: str = "") -> str:
    """A distance in dB as text, with so many digits behind the point."""
    return EQUAL if db >= CEILING_DB else f"{db:,.{places}f}{unit}"
