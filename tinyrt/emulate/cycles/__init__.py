"""Cycles before there is a board: what ran is counted in the emulator, and priced by manuals."""

from tinyrt.emulate.cycles.estimate import Cycles
from tinyrt.emulate.cycles.flash import Flash
from tinyrt.emulate.cycles.meter import Meter, meter_for
from tinyrt.emulate.cycles.report import CycleReport, Timing
from tinyrt.emulate.cycles.table import cores_with_cycles, table_of

__all__ = [
    "CycleReport",
    "Cycles",
    "Flash",
    "Meter",
    "Timing",
    "cores_with_cycles",
    "meter_for",
    "table_of",
]
