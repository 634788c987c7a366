"""What the plugin counted: how often control went from where to where, between two marks."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from tinyrt.errors import ToolError


class Edge(NamedTuple):
    """Control went from the end of a block to the start of another.

    Attributes:
        start: address of the block's first instruction.
        instructions: how many it has.
        to: address of the next block.

    """

    start: int
    instructions: int
    to: int


@dataclass(slots=True)
class Counts:
    """Counts of some stretch of a run.

    Attributes:
        edges: edge -> how often.
        code_misses: lines of code that were fetched and not kept.
        flash_loads: loads of data from flash by the model.
        data_misses: lines of data that were read from flash and not kept.
        loads_apart: accesses beyond one to each of its words, for loads that are not aligned.
        stores_apart: the same of stores.

    """

    edges: dict[Edge, int] = field(default_factory=dict)
    code_misses: int = 0
    flash_loads: int = 0
    data_misses: int = 0
    loads_apart: int = 0
    stores_apart: int = 0

    def add(self, other: Counts) -> None:
        """Add those of another stretch."""
        for edge, times in other.edges.items():
            self.edges[edge] = self.edges.get(edge, 0) + times
        self.code_misses += other.code_misses
        self.flash_loads += other.flash_loads
        self.data_misses += other.data_misses
        self.loads_apart += other.loads_apart
        self.stores_apart += other.stores_apart

    def of(self, code: Container[int]) -> Counts:
        """The same with only the blocks that begin in this code."""
        return replace(self, edges={e: n for e, n in self.edges.items() if e.start in code})

    @property
    def instructions(self) -> int:
        """All that were executed."""
        return sum(edge.instructions * times for edge, times in self.edges.items())


def sum_of(stretches: Iterable[Counts]) -> Counts:
    """The counts of several stretches together."""
    total = Counts()
    for counts in stretches:
        total.add(counts)
    return total


def read_counts(path: Path) -> list[tuple[int, Counts]]:
    """Mark and counts of each stretch in their order; 0 is the mark of the one before all marks.

    Raises:
        ToolError: the file is missing or not whole.

    """
    stretches: list[tuple[int, Counts]] = []
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            word, *rest = line.split()
            numbers = [int(number, 16) for number in rest]
            if word == "segment":
                (mark,) = numbers
                stretches.append((mark, Counts()))
            elif word == "memory":
                code, loads, data, loads_apart, stores_apart = numbers
                counts = Counts({}, code, loads, data, loads_apart, stores_apart)
                stretches[-1] = (stretches[-1][0], counts)
            else:
                start, instructions, to, times = numbers
                stretches[-1][1].edges[Edge(start, instructions, to)] = times
    except (OSError, ValueError, IndexError) as error:
        raise ToolError(
            f"the emulator's plugin wrote no counts that can be read: {error}",
            file=str(path),
            expected="lines with a word and hexadecimal numbers",
            hint="run again; leave --cycles out to count instructions only",
        ) from error
    return stretches
