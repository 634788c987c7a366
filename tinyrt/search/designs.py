"""Choices that a search begins with, in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tinyrt.errors import DataError


def designs_in(path: str | Path) -> tuple[dict[str, Any], ...]:
    """Choices by name: a list of them, or those of the front that an earlier search has written.

    Raises:
        DataError: the file cannot be read, or has neither.

    """
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _no_designs(path, f"{type(error).__name__}: {error}") from error
    front = found.get("front") if isinstance(found, dict) else None
    if isinstance(front, list):
        found = [point.get("params") if isinstance(point, dict) else None for point in front]
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _no_designs(path, f"it holds {type(found).__name__}")
    return tuple(found)


def _no_designs(path: str | Path, why: str) -> DataError:
    return DataError(
        f"the file has no choices to begin with: {why}",
        file=str(path),
        expected="a list of choices by name, or front.json of an earlier search",
        hint='[{"stem": 16, "blocks": 2}] is one for the space dscnn',
    )
