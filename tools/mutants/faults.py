"""What a fault is, and how places and files are counted."""

from __future__ import annotations

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Place:
    """Where an operator can change a file.

    Attributes:
        path: the file, relative to the tree.
        operator: the operator's name.
        occurrence: which of the places where it can change this file, from 0.
        line: of the place, from 1.

    """

    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def package(self) -> str:
        """The room it stands in: ``tinyrt/memory``, or ``tinyrt`` for modules at the top."""
        parts = self.path.split("/")
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]

    @property
    def is_c(self) -> bool:
        """Whether it is in C, not in Python."""
        return not self.path.endswith(".py")


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, without indentation: those of before and those of after."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    old: list[str] = []
    new: list[str] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            old += before.splitlines()[i:j]
            new += after.splitlines()[k:m]
    return _joined(old), _joined(new)


def _joined(lines: list[str]) -> str:
    return " / ".join(line.strip() for line in lines)
