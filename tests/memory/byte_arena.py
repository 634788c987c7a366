"""An arena with a number for each byte, which differs for any two bytes of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.segments import Segment

Numbers = NDArray[np.int64]
Span = tuple[int, int]

NOBODY, SCRATCH, PADDING = -1, -2, -1000
"""What bytes hold that were never written, of scratch memory, and of padding with raw value 0."""


class BrokenPlanError(Exception):
    """The plan does not hold."""


@dataclass
class Plan:
    """What a checker is given."""

    graph: Graph
    kernels: Kernels
    offsets: dict[str, int]
    arena_bytes: int
    overlap: bool
    idle: set[int]
    outside: set[str]
    segments: list[Segment]

    @classmethod
    def of(cls, graph: Graph, kernels: Kernels, plan: ArenaPlan, overlap: bool = True) -> Plan:
        return cls(graph, kernels, plan.linear_offsets(), plan.arena_bytes, overlap, {*plan.idle},
                   {*plan.outside}, [*plan.segments])  # fmt: skip


class ByteArena:
    """What each byte holds, and what the bytes of each tensor should hold: ``own``."""

    def __init__(self, plan: Plan) -> None:
        self.held: Numbers = np.full(plan.arena_bytes, NOBODY, np.int64)
        self.own: dict[str, Numbers] = {}
        self._offsets: Mapping[str, int] = plan.offsets
        self._outside = plan.outside
        self._used = 0

    def renew(self, name: str, nbytes: int) -> Numbers:
        """Give a tensor's bytes, or those of anything else with a name, numbers not yet used."""
        self.own[name] = np.arange(self._used, self._used + nbytes)
        self._used += nbytes
        return self.own[name]

    def bytes_of(self, name: str, span: Span) -> Numbers:
        """A view of some bytes; of none for a tensor that is not in the arena."""
        if name in self._outside:
            return self.held[:0]
        first, stop = (self._offsets[name] + place for place in span)
        if first < 0 or stop > len(self.held):
            raise BrokenPlanError(f"bytes {first} to {stop} of '{name}' are not in the arena")
        return self.held[first:stop]

    def write(self, name: str, span: Span, numbers: Numbers | int) -> None:
        """Have some bytes hold these numbers."""
        target = self.bytes_of(name, span)
        if name not in self._outside:
            target[:] = numbers

    def expect(self, name: str, span: Span, numbers: Numbers | int) -> None:
        """See that some bytes hold these numbers."""
        found = self.bytes_of(name, span)
        wanted = np.full(found.shape, numbers) if isinstance(numbers, int) else numbers
        if name not in self._outside and not np.array_equal(found, wanted):
            raise BrokenPlanError(f"bytes {span} of '{name}' hold something else")
