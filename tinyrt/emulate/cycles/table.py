"""How many cycles each kind of instruction takes on a core, as data: ``cores/*.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tinyrt.errors import UnsupportedError

CORES = Path(__file__).parent / "cores"
"""One file to a core. Each line says where its figures are from."""

NOTHING = (0.0, 0.0)

Span = tuple[float, float]
"""Least and most."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of instruction.

    Attributes:
        cycles: without what follows; of branches those of one that is not taken.
        each: for each word of a list of registers.
        taken: what a taken branch adds.
        unit: the part of the core that it keeps busy; empty where that never matters.
        busy: cycles that it does so.
        small: cycles with the small multiplier, where the core may have one.
        source: where the figures are from.

    """

    cycles: Span
    each: Span
    taken: Span
    unit: str
    busy: float
    small: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Table:
    """The cycles of one core.

    Attributes:
        core: its name.
        manual: the document that the figures are from.
        exact: whether the manual gives them; else they are bounds.
        reason: why they are bounds; empty where they are none.
        kinds: kind of instruction -> its cycles.
        rules: what instructions side by side change -> by how much.

    """

    core: str
    manual: str
    exact: bool
    reason: str
    kinds: Mapping[str, Kind]
    rules: Mapping[str, Span]

    def kind(self, name: str) -> Kind:
        """The cycles of one kind.

        Raises:
            UnsupportedError: the core has no such instructions.

        """
        if name not in self.kinds:
            raise UnsupportedError(
                f"the table of {self.core} has no cycles for {name.replace('_', ' ')}",
                expected=", ".join(self.kinds),
                hint="was the image built for another core?",
            )
        return self.kinds[name]

    def rule(self, name: str) -> Span:
        """What a rule adds; nothing where the core has no such rule."""
        return self.rules.get(name, NOTHING)


def cores_with_cycles() -> list[str]:
    """The cores whose cycles are known."""
    return sorted(path.stem for path in CORES.glob("*.toml"))


@cache
def table_of(core: str) -> Table:
    """The cycles of a core.

    Raises:
        UnsupportedError: there is no table for it.

    """
    if core not in cores_with_cycles():
        raise UnsupportedError(
            f"the cycles of {core} are not known",
            expected=", ".join(cores_with_cycles()),
            hint="ask for instructions in place of cycles, or choose another core",
        )
    data = tomllib.loads((CORES / f"{core}.toml").read_text(encoding="utf-8"))
    return Table(
        core,
        data["manual"],
        data["exact"],
        data.get("reason", ""),
        {name: _kind(row) for name, row in data["kinds"].items()},
        {name: _span(row["cycles"]) for name, row in data["rules"].items()},
    )


def _kind(row: Mapping[str, Any]) -> Kind:
    return Kind(
        _span(row["cycles"]),
        _span(row.get("each", 0)),
        _span(row.get("taken", 0)),
        row.get("unit", ""),
        row.get("busy", 0),
        row.get("small"),
        row["source"],
    )


def _span(value: float | list[float]) -> Span:
    least, most = value if isinstance(value, list) else (value, value)
    return float(least), float(most)
