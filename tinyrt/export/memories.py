"""The user's options for memory, as the exporter takes them."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.export.names import check_regions, check_section
from tinyrt.export.states import StateLayout
from tinyrt.ir import Graph
from tinyrt.memory import MemoryOptions, Region
from tinyrt.memory.placing.problem import ALIGNMENT
from tinyrt.memory.regions import ARENA


@dataclass(frozen=True, slots=True)
class Memories:
    """The memory regions, and the tensors that lie in them.

    Attributes:
        regions: the memories that activations may lie in, the cheapest to use first.
        inputs_in_arena: whether inputs have reserved places; else the caller provides the memory.
        outputs_in_arena: likewise for outputs.
        alignment: what the offsets of tensors are multiples of, in bytes.
        weights_section: the linker section that weights go to; None for the compiler's choice.

    """

    regions: tuple[Region, ...] = (Region(ARENA),)
    inputs_in_arena: bool = True
    outputs_in_arena: bool = True
    alignment: int = ALIGNMENT
    weights_section: str | None = None

    def __post_init__(self) -> None:
        check_regions((region.name for region in self.regions), ARENA)
        if self.weights_section is not None:
            check_section(self.weights_section)

    def options(self, graph: Graph, states: StateLayout) -> MemoryOptions:
        """The same options, as the planner takes them."""
        outside = set(states.offsets)
        outside |= set() if self.inputs_in_arena else set(graph.fed)
        outside |= set() if self.outputs_in_arena else set(graph.answers)
        return MemoryOptions(self.regions, frozenset(outside), self.alignment)
