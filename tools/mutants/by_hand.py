"""Faults that a person wrote: a file of JSON with what to replace where."""

from __future__ import annotations

import json
from pathlib import Path

from tools.covered import ROOT
from tools.mutants.faults import Place

OPERATOR = "by hand"


def written(file: Path) -> list[tuple[Place, str]]:
    """Each fault's place, with the file that it makes.

    Args:
        file: a list of objects with ``path`` relative to the tree, ``before`` and ``after``.

    Raises:
        SystemExit: a ``before`` does not stand in its file exactly once.

    """
    return [_fault(**fields) for fields in json.loads(file.read_text())]


def _fault(path: str, before: str, after: str) -> tuple[Place, str]:
    text = (ROOT / path).read_text()
    if (count := text.count(before)) != 1:
        raise SystemExit(f"{path}: {before!r} stands there {count} times, expected once")
    at = text.index(before) + _same_start(before, after)
    return Place(path, OPERATOR, 0, text.count("\n", 0, at) + 1), text.replace(before, after)


def _same_start(before: str, after: str) -> int:
    """How many characters of the first lines are as they were."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (old, new) in enumerate(pairs) if old != new), len(after))
