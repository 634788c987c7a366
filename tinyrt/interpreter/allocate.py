"""From a graph to a program: its tensors get their places, and a backend its ops."""

from __future__ import annotations

from tinyrt.backends.program import Program
from tinyrt.budget import Budget
from tinyrt.interpreter.backends import CUDA, EVERY_BACKEND, FALLBACK, READING_FIRST
from tinyrt.interpreter.by_rows import RowsProgram
from tinyrt.interpreter.split import SHARE, SplitProgram
from tinyrt.interpreter.tensors import Placed, place_tensors
from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan


def allocate(
    graph: Graph,
    model: Graph,
    backend: str,
    *,
    threads: int,
    apart: bool,
    budget: Budget,
    plan: ArenaPlan | None,
) -> tuple[Program, Placed]:
    """The program that runs a graph, and the places of its tensors.

    Args:
        graph: what is run: the model, or the model for another batch size.
        model: as its file has it.
        backend: a name in ``EVERY_BACKEND``.
        threads: how many may share the batch.
        apart: whether every tensor has memory of its own.
        budget: what the memory is taken from.
        plan: the plan to work in; None for one that is made here.

    Raises:
        UnsupportedError: the backend lacks an op.
        ToolError: the backend needs a tool that is not there, or that failed.
        BudgetError: activations would take more than there is.

    """
    placed = place_tensors(
        graph,
        overlap=backend in READING_FIRST,
        # Segments on a GPU copy in and out at times of their own.
        apart=apart or backend == FALLBACK,
        # It sends to and from whole arrays without staging.
        outputs_apart=backend == CUDA,
        budget=budget,
        plan=plan,
    )
    prepare = EVERY_BACKEND[backend]
    if placed.plan.segments:
        return RowsProgram(graph, placed.tensors, placed.plan, placed.arena), placed
    if threads > 1:
        batch = graph.input_values[0].shape[0]
        sharing = min(threads, batch // SHARE)
        if sharing > 1:
            return SplitProgram(model, placed.tensors, batch, sharing, prepare, budget), placed
    return prepare(graph, placed.tensors), placed
