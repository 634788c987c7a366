"""Checks of the options of values that process signals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tinyrt.errors import DataError


def require(holds: bool, name: str, value: object, expected: str) -> None:
    """Raise ``DataError`` unless an option is as it has to be."""
    if not holds:
        raise DataError(f"the option {name} is {value!r}", expected=expected)


def require_int(value: object, low: int, high: int, name: str) -> None:
    """Raise ``DataError`` unless an option is a whole number between limits, these included."""
    fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    require(fits, name, value, f"a whole number, {low} to {high}")


def require_real(value: object, low: float, high: float, name: str) -> None:
    """Raise ``DataError`` unless an option is a number between limits, these included."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    require(fits, name, value, f"a number, {low} to {high}")


def known(kind: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options, each of which is a field of the kind; raises as ``require``."""
    names = [field.name for field in fields(kind)]
    for name in options:
        require(name in names, "name", name, " ".join(names))
    return options
