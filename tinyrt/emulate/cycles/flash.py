"""What slow flash adds: wait states of the code that is fetched and of the data that are read.

Flash is read by lines. Code has a buffer of one line, and so have data where there is a cache for
them; whoever leaves its line waits. A cache of code makes all waits but the first ones go away
where the code of an op fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinyrt.emulate.cycles.counts import Counts
from tinyrt.emulate.cycles.disassembly import Instruction
from tinyrt.emulate.cycles.table import Span
from tinyrt.errors import DataError

MAX_WAIT = 255
MAX_LINE = 1024


@dataclass(frozen=True, slots=True)
class Flash:
    """Flash memory.

    Attributes:
        wait: cycles that a read takes beyond one.
        line: bytes that one read brings.
        code_cache: bytes of cache for code; None where that is not known.
        data_cache: the same for data.

    Raises:
        DataError: a figure cannot be.

    """

    wait: int = 0
    line: int = 16
    code_cache: int | None = None
    data_cache: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.wait <= MAX_WAIT:
            raise DataError(f"flash has {self.wait} wait states", expected=f"0 to {MAX_WAIT}")
        if not 4 <= self.line <= MAX_LINE or self.line & (self.line - 1):
            raise DataError(
                f"a line of flash has {self.line} bytes",
                expected=f"a power of two from 4 to {MAX_LINE}",
            )
        for what, size in (("code", self.code_cache), ("data", self.data_cache)):
            if size is not None and size < 0:
                raise DataError(f"the cache for {what} has {size} bytes", expected="0 or more")


def with_waits(
    bounds: Span, fetched: int, lines: int, passes: int, counts: Counts, flash: Flash
) -> Span:
    """Least and most cycles with slow flash.

    Args:
        bounds: those without wait states.
        fetched: how often code went on in another line.
        lines: how many lines of code there are.
        passes: how often all of it ran; each time its lines may have to be read anew.
        counts: the accesses to data.
        flash: the memory.

    """
    least, most = bounds
    if not flash.wait:
        return bounds
    data_least, data_most = _of_data(counts, flash)
    least += data_least * flash.wait
    misses = fetched
    if flash.code_cache and lines * flash.line <= flash.code_cache:
        misses = min(fetched, lines * passes)
    if flash.code_cache == 0:  # no way round reading each line, whatever goes on meanwhile
        least = max(least, float(fetched * (1 + flash.wait)))
    return least, most + (misses + data_most) * flash.wait


def _of_data(counts: Counts, flash: Flash) -> tuple[int, int]:
    """Reads of data that wait: at least and at most."""
    if flash.data_cache is None:
        return 0, counts.flash_loads
    if flash.data_cache == 0:
        return counts.flash_loads, counts.flash_loads
    return 0, counts.flash_lines


def lines_of(instructions: Iterable[Instruction], line: int) -> set[int]:
    """The lines that instructions lie in."""
    return {at // line for each in instructions for at in (each.address, each.end - 1)}


def lines_entered(first: int, last: int, to: int, line: int) -> int:
    """How many lines are gone into from the first byte of a block over its last one to the next."""
    return last // line - first // line + (to // line != last // line)
