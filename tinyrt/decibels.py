"""The distance that stands for none."""

from __future__ import annotations

CEILING_DB = 200.0
"""SQNR of signals that are equal in every element, and at most of any others."""
