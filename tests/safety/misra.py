"""What cppcheck's MISRA C:2012 addon finds in an exported folder, and which of it is meant so."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.c.test_lint import MACROS
from tinyrt import kernels_c

DEVIATIONS = kernels_c.ROOT / "deviations.toml"

COMMAND = (
    *("cppcheck", "--quiet", "--std=c99", "--platform=unix32", "--addon=misra"),
    *("-D__GNUC__=12", "-D__OPTIMIZE__=1", "-Itinyrt", "-I."),
    "--template={file}:{line}:{column}: {id}",
)
MOST_CONSTANTS = 200_000
"""Characters of constants that are looked at: they are all of one form, and more take minutes."""

FINDING = re.compile(r"(.+):\d+:\d+: misra-c2012-([\d.]+)")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A rule that code departs from, and why.

    Attributes:
        rule: its number in MISRA C:2012.
        category: ``required`` or ``advisory``.
        about: what it asks for, in our words.
        reason: why the code departs from it.
        files: patterns of the names of the files that do; a model's own are NAME.c and NAME.h.

    """

    rule: str
    category: str
    about: str
    reason: str
    files: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.category not in ("required", "advisory"):
            raise ValueError(
                f"rule {self.rule} is {self.category!r}, expected required or advisory"
            )

    @property
    def order(self) -> list[int]:
        """What deviations are sorted by."""
        return [int(part) for part in self.rule.split(".")]

    def covers(self, rule: str, file: str) -> bool:
        """Whether it is about this rule and file."""
        return rule == self.rule and any(fnmatch(file, pattern) for pattern in self.files)


Findings = Counter[tuple[str, str]]
"""(rule, file's name) -> how many places."""


def deviations() -> list[Deviation]:
    """All that there are, by rule."""
    data = tomllib.loads(DEVIATIONS.read_text(encoding="utf-8"))
    found = [
        Deviation(**{**d, "reason": d["reason"].strip(), "files": tuple(d["files"])})
        for d in data["deviation"]
    ]
    return sorted(found, key=lambda deviation: deviation.order)


def findings(folder: Path, core: str, place: str = ".") -> Findings:
    """What is found in C files of an export, or in those of a folder of it.

    A place that several sources include counts once.

    Raises:
        AssertionError: cppcheck finds something else than departures from the rules.

    """
    sources = [
        path.relative_to(folder)
        for path in sorted((folder / place).rglob("*.c"))
        if not (path.name.endswith("_weights.c") and path.stat().st_size > MOST_CONSTANTS)
    ]
    command = [*COMMAND, *MACROS[core], *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    lines = sorted(set(done.stderr.splitlines()))
    others = [line for line in lines if not FINDING.fullmatch(line)]
    assert not others, others
    return Counter((m[2], _file(m[1])) for line in lines if (m := FINDING.fullmatch(line)))


def _file(path: str) -> str:
    """The file's name; a model's own are called NAME."""
    name = Path(path).name
    return name if name.startswith("tinyrt_") else f"NAME{Path(path).suffix}"


def unlisted(found: Findings, listed: Iterable[Deviation]) -> list[tuple[str, str]]:
    """Findings that no deviation covers."""
    listed = list(listed)
    return sorted(key for key in found if not any(each.covers(*key) for each in listed))


def unneeded(found: Findings, listed: Iterable[Deviation]) -> list[tuple[str, str]]:
    """Rule and pattern of deviations that nothing found needs."""
    return [
        (each.rule, pattern)
        for each in listed
        for pattern in each.files
        if not any(rule == each.rule and fnmatch(file, pattern) for rule, file in found)
    ]


def by_rule(found: Findings) -> dict[str, int]:
    """Rule -> how many places, by rule's number."""
    counts = Counter[str]()
    for (rule, _), number in found.items():
        counts[rule] += number
    return dict(sorted(counts.items(), key=lambda item: [int(p) for p in item[0].split(".")]))


def release() -> str:
    """Which release of cppcheck there is."""
    done = subprocess.run(["cppcheck", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
