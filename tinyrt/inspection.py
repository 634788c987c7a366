"""What a model consists of and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import Graph, Shape
from tinyrt.memory import ArenaPlan, plan_memory, plan_pushed, plan_streamed
from tinyrt.memory.advice import Advice, advise
from tinyrt.ops import OPS
from tinyrt.reading import open_model


@dataclass(frozen=True, slots=True)
class OpCost:
    """One op of a model: its multiply-accumulates, output and place in the arena."""

    name: str
    op: str
    macs: int
    output_shape: Shape
    arena_bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a model costs.

    Attributes:
        ops: one entry per op, in execution order; its ``arena_bytes`` are those alive during it.
        macs: multiply-accumulates per inference.
        weight_bytes: bytes of all constants.
        packed_bytes: of them, those that the host's default backend holds a second time, in an
            order of its own, while it runs the model; None where it cannot run it.
        arena_bytes: size of the arena.
        graph: the model.
        plan: the arena plan.
        advice: ways to a smaller arena.

    """

    ops: tuple[OpCost, ...]
    macs: int
    weight_bytes: int
    packed_bytes: int | None
    arena_bytes: int
    graph: Graph
    plan: ArenaPlan
    advice: tuple[Advice, ...] = ()


def inspect_model(
    model: str | Path,
    *,
    shapes: Mapping[str, Shape] | None = None,
    core: str = "cortex-m4",
    by_rows: bool = False,
    input_rows: bool = False,
) -> Inspection:
    """What a model consists of and costs, without running it.

    Args:
        model: a .tflite or .onnx file.
        shapes: input name -> its shape, where the file leaves it open.
        core: whose kernels' scratch memory counts.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether the input is pushed row by row.

    Raises:
        TinyrtError: the model cannot be read, its input cannot come row by row, or there is no
            such core.

    """
    from tinyrt.export import find_core

    isa = find_core(core).isa
    graph = open_model(model, shapes=shapes)
    if input_rows:
        plan = plan_pushed(graph, isa)
    else:
        plan = plan_streamed(graph, isa) if by_rows else plan_memory(graph, isa)
    ops = tuple(
        OpCost(
            name=node.name,
            op=node.op,
            macs=OPS[node.op].macs(node),
            output_shape=node.output.shape,
            arena_bytes=plan.alive_bytes(node.index),
        )
        for node in graph.bound()
    )
    return Inspection(
        ops=ops,
        macs=sum(op.macs for op in ops),
        weight_bytes=sum(v.nbytes for v in graph.values.values() if v.is_constant),
        packed_bytes=_packed_bytes(graph),
        arena_bytes=plan.arena_bytes,
        graph=graph,
        plan=plan,
        advice=tuple(advise(graph, isa, plan)),
    )


def _packed_bytes(graph: Graph) -> int | None:
    interpreter = Interpreter.from_graph(graph)
    try:
        interpreter.allocate_tensors()
    except TinyrtError:
        return None
    return interpreter.packed_bytes
