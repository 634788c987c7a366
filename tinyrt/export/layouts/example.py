"""What an example program has to know to run a model once: its memory and its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinyrt.export.rendering import Source
from tinyrt.memory.regions import ARENA

if TYPE_CHECKING:
    from tinyrt.export.ports import Port
    from tinyrt.export.project import ExportedProject


@dataclass(frozen=True, slots=True)
class Memory:
    """A static array: its C type and name, its size in C, and the macro that aligns it."""

    ctype: str
    name: str
    size: str
    alignment: str | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or an output: its C type, where it lies, its elements, and what stands for zero."""

    ctype: str
    place: Source
    count: str
    zero: int

    @property
    def is_float(self) -> bool:
        """Whether elements are floats, of which an example shows thousandths."""
        return self.ctype == "float"


@dataclass(frozen=True, slots=True)
class Run:
    """One model in an example.

    Attributes:
        name: the model's name in C.
        memories: the arrays of this model's own.
        regions: names of the arrays that its arena consists of.
        io: what ``<name>_io_t`` is initialised with, in order.
        inputs: what is filled with zeros, where the whole input is held.
        outputs: what is shown.
        state: the name of the array of its state; None where it keeps none.
        pushed: whether its input is pushed row by row.
        sliced: whether it runs slice by slice.
        opened: whether its constants lie in a blob, which is opened first.
        tested: whether it has golden vectors, which run first.

    """

    name: str
    memories: tuple[Memory, ...]
    regions: tuple[str, ...]
    io: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    state: str | None
    pushed: bool
    sliced: bool
    opened: bool
    tested: bool

    @property
    def calls(self) -> tuple[str, ...]:
        """What the model's functions are called behind its name."""
        once = ("begin", "push_row") if self.pushed else ("invoke",)
        sliced = ("begin", "step", "cancel") if self.sliced else ()
        opened = ("open",) if self.opened else ()
        tested = ("selftest",) if self.tested else ()
        return (*opened, *(("reset",) if self.state else ()), *once, *sliced, *tested)

    @property
    def handle(self) -> Source:
        """The arguments in front of the others of what runs the model."""
        return Source("&model, " if self.opened else "")

    @property
    def arena(self) -> Source:
        """The argument that stands for the arena."""
        return Source(self.regions[0] if len(self.regions) == 1 else "&arena")


def arena_of(holder: str, project: ExportedProject) -> tuple[Memory, ...]:
    """The arrays of an arena: a model's own, or one of that name for all."""
    upper, several = holder.upper(), len(project.regions) > 1
    arrays = []
    for region in project.regions:
        name = region.name if several else ARENA
        # C has no arrays without elements.
        size = f"{upper}_{name.upper()}_BYTES" + ("" if region.nbytes else " + 1")
        array = f"{name.lower()}_of_{holder}"
        arrays.append(Memory("uint8_t", array, size, f"{upper}_ARENA_ALIGNMENT"))
    return tuple(arrays)


def run_of(project: ExportedProject, shared: str | None) -> Run:
    """How a model runs.

    Args:
        project: the exported model.
        shared: the name of the library whose models share an arena; None where each has its own.

    """
    name, upper = project.name, project.name.upper()
    arena = arena_of(shared or name, project)
    is_pushed = project.pushed is not None
    memories: tuple[Memory, ...] = () if shared else arena
    state = f"state_of_{name}" if project.state_bytes else None
    if state is not None:
        memories += (Memory("uint8_t", state, f"{upper}_STATE_BYTES", f"{upper}_STATE_ALIGNMENT"),)

    def tensors(kind: str, ports: Sequence[Port]) -> tuple[list[Tensor], list[Memory]]:
        found, own = [], []
        for i, port in enumerate(ports):
            macro, outside = f"{upper}_{kind}_{i}", f"{kind.lower()}_{i}_of_{name}"
            count = f"{macro}_BYTES / sizeof({port.c_type})"
            place = Source(outside)
            if port.offset is None:
                own.append(Memory(port.c_type, outside, count))
            else:
                base = arena[port.region].name
                place = Source(f"({port.c_type} *)(void *)({base} + {macro}_OFFSET)")
            found.append(Tensor(port.c_type, place, count, port.zero_point or 0))
        return found, own

    inputs, input_memories = ([], []) if is_pushed else tensors("INPUT", project.inputs)
    outputs, output_memories = tensors("OUTPUT", project.outputs)
    ports = (*(() if is_pushed else project.inputs), *project.outputs)
    places = [*inputs, *outputs]
    return Run(
        name,
        (*memories, *input_memories, *output_memories),
        tuple(memory.name for memory in arena),
        tuple(t.place if p.offset is None else "NULL" for p, t in zip(ports, places, strict=True)),
        tuple(inputs),
        tuple(outputs),
        state,
        is_pushed,
        project.slices is not None,
        project.blob is not None,
        project.selftest is not None,
    )
