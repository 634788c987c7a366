"""The structure and the costs of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from tinyrt.api.reading import open_model
from tinyrt.attached import Fitted, at_model, front_end_of
from tinyrt.backends.c.planning import CKernels
from tinyrt.backends.c.rejoined import rejoined
from tinyrt.entry import entry
from tinyrt.errors import DataError, TinyrtError, error_context
from tinyrt.interpreter import CUDA, FALLBACK, Interpreter
from tinyrt.ir import Graph, Shape
from tinyrt.memory import ArenaPlan, plan_by_rows, plan_memory, plan_pushed
from tinyrt.memory.advice import Advice, advise
from tinyrt.ops import OPS
from tinyrt.sighted import Sighted

if TYPE_CHECKING:
    from tinyrt.backends.cuda.partition import DeviceSegment


@dataclass(frozen=True, slots=True)
class OpCost:
    """One op of a model: its multiply-accumulates, output and place in the arena."""

    name: str
    op: str
    macs: int
    output_shape: Shape
    arena_bytes: int


@dataclass(frozen=True)
class Inspection:
    """The structure and the costs of a model.

    Attributes:
        ops: one entry per op, in execution order; its ``arena_bytes`` are those alive during it.
        macs: multiply-accumulates per inference.
        weight_bytes: bytes of all constants.
        arena_bytes: size of the arena.
        graph: the model.
        plan: the arena plan.
        kernels: whose scratch memory the plan counts.
        core: whose kernels these are; empty where only their instruction set was given.
        placement: which ops run on a GPU and which on the CPU between them; empty where that was
            not asked for.
        front_end: what its file carries for samples or frames, at the model; None without.

    """

    ops: tuple[OpCost, ...]
    macs: int
    weight_bytes: int
    arena_bytes: int
    graph: Graph
    plan: ArenaPlan
    kernels: CKernels
    core: str = ""
    placement: tuple[DeviceSegment, ...] = ()
    front_end: Fitted | Sighted | None = None

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """Ways to a smaller arena; slow, since each of them is planned."""
        return tuple(advise(self.graph, self.kernels, self.plan))

    def device_of(self, index: int) -> str:
        """Where the op runs, ``gpu`` or ``cpu``; empty without a placement."""
        return next((s.device for s in self.placement if index in s.nodes), "")

    @cached_property
    def packed_bytes(self) -> int | None:
        """Bytes of the copies of weights that the host's default backend packs in its own order.

        None where it cannot run the model.
        """
        interpreter = Interpreter.from_graph(self.graph)
        try:
            interpreter.allocate_tensors()
        except TinyrtError:
            return None
        return interpreter.packed_bytes


@entry
def inspect_model(
    model: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    values: Mapping[str, ArrayLike] | None = None,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    by_rows: bool = False,
    input_rows: bool = False,
    backend: str | None = None,
) -> Inspection:
    """The structure and the costs of a model, without running it.

    Args:
        model: a .tflite or .onnx file.
        shapes: input name -> its shape, where the file leaves it open.
        values: as for ``convert_model``.
        core: whose kernels' scratch memory counts.
        optimize: what the code is made for, ``speed``, ``balanced`` or ``size``; some kernels of
            one need scratch memory that those of another do not.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row.
        backend: ``cuda`` to say which ops run on a GPU, too; needs none.

    Raises:
        TinyrtError: the model cannot be read, its input cannot come row by row, there is no
            such core or ``optimize``, or the backend divides no model between devices.

    """
    from tinyrt.export.target import find_core, find_optimize, target_of

    graph = open_model(model, shapes=shapes, values=values)
    on = find_core(core)
    kernels = CKernels(target_of(on, find_optimize(optimize)))
    inspection = inspect_graph(graph, kernels, by_rows=by_rows, input_rows=input_rows)
    placement = () if backend is None else placement_of(graph, backend)
    front_end = _front_end(model, graph)
    return replace(inspection, core=on.name, placement=placement, front_end=front_end)


def inspect_graph(
    graph: Graph, kernels: CKernels, *, by_rows: bool = False, input_rows: bool = False
) -> Inspection:
    """The structure and the costs of a graph; see ``inspect_model``.

    Args:
        graph: the model.
        kernels: whose scratch memory counts.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row.

    Raises:
        TinyrtError: its input cannot come row by row.

    """
    graph = rejoined(graph, kernels.target)
    if input_rows:
        plan = plan_pushed(graph, kernels)
    else:
        plan = plan_by_rows(graph, kernels) if by_rows else plan_memory(graph, kernels)
    alive = plan.alive_bytes(len(graph.nodes))
    ops = tuple(
        OpCost(
            name=node.name,
            op=node.op,
            macs=OPS[node.op].macs(node),
            output_shape=node.output.shape,
            arena_bytes=alive[node.index],
        )
        for node in graph.bound()
    )
    return Inspection(
        ops=ops,
        macs=sum(op.macs for op in ops),
        weight_bytes=sum(v.nbytes for v in graph.values.values() if v.is_constant),
        arena_bytes=plan.arena_bytes,
        graph=graph,
        plan=plan,
        kernels=kernels,
    )


def _front_end(model: str | Path, graph: Graph) -> Fitted | Sighted | None:
    with error_context(file=str(model)):
        found = front_end_of(model)
        return None if found is None else at_model(found, graph)


def placement_of(graph: Graph, backend: str) -> tuple[DeviceSegment, ...]:
    """Runs of ops by device, in order, where ``--allow-fallback`` leaves ops to the CPU.

    Raises:
        DataError: the backend runs nothing on a GPU.

    """
    if backend not in (CUDA, FALLBACK):
        raise DataError(
            f"backend {backend} runs all ops in one place",
            expected=f"backend {CUDA}",
            hint="leave the backend out",
        )
    # Not imported with the package, for those who have no GPU.
    from tinyrt.backends.cuda.partition import segments_of

    return segments_of(graph)
