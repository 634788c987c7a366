"""Options of ``emulate`` that cycles depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.cli.options import require_with
from tinyrt.errors import DataError

if TYPE_CHECKING:
    from tinyrt.emulate.cycles import Timing

MULTIPLIERS = (1, 32)
"""Cycles of a product on cores that are built with either multiplier."""

_CLOCK = re.compile(r"(\d+(?:\.\d+)?) *([kMG]?)Hz", re.IGNORECASE)
_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}

WithCycles = Annotated[
    bool, typer.Option("--cycles", help="Tell cycles, too, as a range; of every op as well.")
]
Clock = Annotated[
    str | None,
    typer.Option("--clock", metavar="FREQUENCY", help="With --cycles: the clock, e.g. 120MHz."),
]
Energy = Annotated[
    float | None,
    typer.Option(
        "--mj-per-mcycle", metavar="MJ", help="With --cycles: millijoules of a million cycles."
    ),
]
FlashWait = Annotated[
    int | None,
    typer.Option("--flash-wait", help="With --cycles: wait states of the flash.", show_default="0"),
]
FlashLine = Annotated[
    str | None,
    typer.Option(
        "--flash-line",
        metavar="BYTES",
        help="With --cycles: bytes that a read of flash brings.",
        show_default="16",
    ),
]
CodeCache = Annotated[
    str | None,
    typer.Option(
        "--code-cache",
        metavar="BYTES",
        help="With --cycles: cache for code in flash; 0 for none. Unknown by default.",
    ),
]
DataCache = Annotated[
    str | None,
    typer.Option(
        "--data-cache",
        metavar="BYTES",
        help="With --cycles: cache for constants in flash; 0 for none. Unknown by default.",
    ),
]
Multiplier = Annotated[
    int | None,
    typer.Option(
        "--multiplier",
        help="With --cycles, M0 and M0+: cycles of a product, 1 or 32.",
        show_default="1",
    ),
]


def timing_of(
    cycles: bool,
    *,
    clock: str | None,
    mj_per_mcycle: float | None,
    flash_wait: int | None,
    flash_line: str | None,
    code_cache: str | None,
    data_cache: str | None,
    multiplier: int | None,
) -> Timing | None:
    """What cycles depend on besides the core; None where nobody asks for them.

    Raises:
        DataError: an option is given without ``--cycles``, or cannot be.

    """
    given: dict[str, Any] = {
        "--clock": clock,
        "--mj-per-mcycle": mj_per_mcycle,
        "--flash-wait": flash_wait,
        "--flash-line": flash_line,
        "--code-cache": code_cache,
        "--data-cache": data_cache,
        "--multiplier": multiplier,
    }
    for option, value in given.items():
        require_with(option, value, "--cycles", there=cycles)
    if not cycles:
        return None
    if multiplier not in (None, *MULTIPLIERS):
        raise DataError(f"--multiplier {multiplier}", expected="1 or 32")
    # A command that tells no cycles starts without the emulator.
    from tinyrt.emulate.cycles import Flash, Timing

    flash = Flash(
        flash_wait or 0,
        16 if flash_line is None else parse_bytes(flash_line),
        None if code_cache is None else parse_bytes(code_cache),
        None if data_cache is None else parse_bytes(data_cache),
    )
    clock_hz = None if clock is None else parse_clock(clock)
    return Timing(flash, multiplier == max(MULTIPLIERS), clock_hz, mj_per_mcycle)


def parse_clock(option: str) -> float:
    """``120MHz`` -> 120000000.0.

    Raises:
        DataError: the option is not of that form.

    """
    match = _CLOCK.fullmatch(option.strip())
    if match is None:
        raise DataError(
            f"--clock {option}: not a clock",
            expected="a number with Hz, kHz, MHz or GHz behind it",
            hint="--clock 120MHz",
        )
    return float(match[1]) * _FACTORS[match[2].lower()]
