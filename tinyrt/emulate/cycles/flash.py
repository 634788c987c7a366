"""What slow flash adds: wait states of the code that is fetched and of the data that are read.

Flash is read by lines. Code has a buffer of at least one; a cache keeps the lines that were used
last. Whoever needs a line that is not kept waits for it, unless something fetched it ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.emulate.cycles.counts import Counts
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

    @property
    def code_lines(self) -> int:
        """Lines of code that are kept."""
        return max(1, (self.code_cache or 0) // self.line)

    @property
    def data_lines(self) -> int:
        """Lines of data that are kept, where any are."""
        return max(1, (self.data_cache or 0) // self.line)


def with_waits(bounds: Span, counts: Counts, flash: Flash) -> Span:
    """Least and most cycles with slow flash.

    Args:
        bounds: those without wait states.
        counts: what was fetched and read.
        flash: the memory.

    """
    least, most = bounds
    if not flash.wait:
        return bounds
    data_least, data_most = _reads_of_data(counts, flash)
    least += data_least * flash.wait
    if flash.code_cache == 0:  # no way round reading each line, whatever goes on meanwhile
        least = max(least, float(counts.code_misses * (1 + flash.wait)))
    return least, most + (counts.code_misses + data_most) * flash.wait


def _reads_of_data(counts: Counts, flash: Flash) -> tuple[int, int]:
    """Reads of data that wait: at least and at most."""
    if flash.data_cache:
        return 0, counts.data_misses
    return 0 if flash.data_cache is None else counts.flash_loads, counts.flash_loads
