"""What is shown of an emulation's cycles, and of what they are made of."""

from dataclasses import replace

import pytest

from tests.cli.screen import lines_of
from tests.cli.test_command_tables import DEVICE
from tinyrt.cli import emulation_tables
from tinyrt.emulate.cycles import CycleReport, Cycles, Flash, Timing, table_of
from tinyrt.emulate.cycles.report import Basis

M4_CYCLES = CycleReport(Cycles(1000, 3000), table_of("cortex-m4"), Basis.EDGES, Timing())
TIMED = replace(M4_CYCLES, timing=Timing(Flash(3), clock_hz=1e6, mj_per_mcycle=2000.0))
BOUNDS = replace(M4_CYCLES, table=table_of("cortex-m7"), basis=Basis.INSTRUCTIONS)


@pytest.mark.parametrize(
    ("cycles", "expected"),
    [
        (M4_CYCLES, ["1,000 to 3,000", "figures of the manual", "instructions per MAC 1.50"]),
        (
            TIMED,
            [
                *("1,000 to 3,000", "figures of the manual", "wait states 3"),
                *(
                    "milliseconds per inference 1.00 to 3.00",
                    "millijoules per inference 2.00 to 6.00",
                ),
                "instructions per MAC 1.50",
            ],
        ),
        (
            BOUNDS,
            [
                *("1,000 to 3,000", "figures bounds: none are published"),
                "counted instructions only: this QEMU has no plugins",
                "instructions per MAC 1.50",
            ],
        ),
    ],
    ids=["plain", "timed", "bounds"],
)
def test_an_emulation_shows_cycles_and_what_they_are_made_of(cycles, expected):
    shown = lines_of(emulation_tables.emulation(replace(DEVICE, cycles=cycles)))
    shown = [" ".join(line.split()) for line in shown]
    at = shown.index("instructions per inference 1,234")
    assert shown[at + 1 : at + 1 + len(expected)] == [
        f"cycles per inference {expected[0]}",
        *expected[1:],
    ]
