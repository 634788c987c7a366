"""What is asked of cycles, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tinyrt.emulate.cycles.estimate import Cycles
from tinyrt.emulate.cycles.flash import Flash
from tinyrt.emulate.cycles.table import Table
from tinyrt.errors import DataError

MEGA = 1e6


class Basis(StrEnum):
    """What was counted."""

    EDGES = "edges"
    """How often every block ran, and where control went from it."""
    INSTRUCTIONS = "instructions"
    """Only how many instructions ran: the emulator has no plugins."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What cycles depend on besides the core.

    Attributes:
        flash: the memory that code and constants lie in; without wait states by default.
        small_multiplier: whether a Cortex-M0 or M0+ has the one that takes 32 cycles.
        clock_hz: the core's clock, for milliseconds.
        mj_per_mcycle: millijoules that a million cycles take, for energy.

    Raises:
        DataError: a figure cannot be.

    """

    flash: Flash = field(default_factory=Flash)
    small_multiplier: bool = False
    clock_hz: float | None = None
    mj_per_mcycle: float | None = None

    def __post_init__(self) -> None:
        for what, value in (("clock", self.clock_hz), ("energy", self.mj_per_mcycle)):
            if value is not None and not 0 < value < float("inf"):
                raise DataError(f"the {what} is {value:g}", expected="a number above 0")


@dataclass(frozen=True, slots=True)
class CycleReport:
    """Cycles of an inference.

    Attributes:
        cycles: fewest and most.
        table: whose figures they are made of.
        basis: what was counted.
        timing: what they depend on.

    """

    cycles: Cycles
    table: Table
    basis: Basis
    timing: Timing

    @property
    def milliseconds(self) -> tuple[float, float] | None:
        """Of an inference, shortest and longest; None where the clock is not known."""
        clock = self.timing.clock_hz
        return None if clock is None else self._per_cycle(1e3 / clock)

    @property
    def millijoules(self) -> tuple[float, float] | None:
        """Of an inference, least and most; None where nobody said what a cycle takes."""
        energy = self.timing.mj_per_mcycle
        return None if energy is None else self._per_cycle(energy / MEGA)

    def _per_cycle(self, factor: float) -> tuple[float, float]:
        return self.cycles.low * factor, self.cycles.high * factor

    def as_dict(self) -> dict[str, Any]:
        """The fields that ``--json`` has for cycles."""
        flash = self.timing.flash
        fields: dict[str, Any] = {"cycles": self.cycles.as_dict()}
        for name in ("milliseconds", "millijoules"):
            if (span := getattr(self, name)) is not None:
                fields[name] = {"low": span[0], "high": span[1]}
        fields["timing"] = {
            "manual": self.table.manual,
            "exact": self.table.exact,
            "reason": self.table.reason,
            "basis": self.basis.value,
            "flash": {
                "wait": flash.wait,
                "line": flash.line,
                "code_cache": flash.code_cache,
                "data_cache": flash.data_cache,
            },
            "multiplier": 32 if self.timing.small_multiplier else 1,
            "clock_hz": self.timing.clock_hz,
            "mj_per_mcycle": self.timing.mj_per_mcycle,
        }
        return fields
