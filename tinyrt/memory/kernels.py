"""The planner's view of the kernels that run a model: scratch memory, order, cost.

A plan is made for one target's kernels. The planner takes them as an argument, so that it depends
on no backend.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import Sweep


class Kernels(Protocol):
    """The kernels of one target."""

    @property
    def has_vectors(self) -> bool:
        """Whether costs are those of vector kernels on a Cortex-M55, else of a Cortex-M4."""

    def scratch_bytes(self, node: BoundNode) -> int:
        """Working memory that the node's kernel takes from the arena."""

    def sweep(self, node: BoundNode) -> Sweep | None:
        """The order in which the node's kernel reads and writes; None where no order is fixed."""

    def cost(self, node: BoundNode) -> int:
        """Instructions of one run of the node's kernel; only asked if ``has_vectors``."""

    def code_bytes(self, ops: Iterable[str]) -> int:
        """Bytes of kernel code that calls of these ops share; only asked if ``has_vectors``."""


@dataclass(frozen=True, slots=True)
class NoKernels:
    """Kernels of a backend that takes no scratch memory from the arena and overlaps nothing."""

    has_vectors: bool = False

    def scratch_bytes(self, node: BoundNode) -> int:
        """None."""
        return 0

    def sweep(self, node: BoundNode) -> Sweep | None:
        """None."""
        return None

    def cost(self, node: BoundNode) -> int:
        """Unknown."""
        return 0

    def code_bytes(self, ops: Iterable[str]) -> int:
        """Unknown."""
        return 0
