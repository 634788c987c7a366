"""An independent check of an arena plan: replay the model and watch every byte."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.errors import VerifyError
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.ops import OPS
from tinyrt.ops.spec import InstructionSet


def check_plan(
    graph: Graph,
    offsets: Mapping[str, int],
    arena_bytes: int,
    isa: InstructionSet = InstructionSet.SCALAR,
) -> None:
    """Replay the graph's writes and reads on an arena that records who wrote each byte.

    It shares no reasoning with the planner: no lifetimes, only what each step touches.

    Raises:
        VerifyError: a tensor lies outside the arena, or was overwritten before its last reader.

    """
    writer = np.full(arena_bytes, -1, np.int32)
    content: dict[str, int] = {}

    def span(value_name: str, nbytes: int, where: str) -> slice:
        start = offsets[value_name]
        if start < 0 or start + nbytes > arena_bytes:
            raise VerifyError(
                f"'{value_name}' takes bytes {start} to {start + nbytes} of {arena_bytes}", op=where
            )
        return slice(start, start + nbytes)

    def write(value: Value, where: str, tag: int) -> None:
        content[value.name] = tag
        writer[span(value.name, value.nbytes, where)] = tag

    def read(value: Value, where: str) -> None:
        if not (writer[span(value.name, value.nbytes, where)] == content[value.name]).all():
            raise VerifyError(
                "the tensor was overwritten before this step reads it",
                op=where,
                tensor=value.describe(),
            )

    for tag, value in enumerate(graph.input_values):
        write(value, "model input", tag)
    for node in graph.bound():
        where = node.describe()
        reads = [v for v in node.inputs if v is not None and not v.is_constant]
        for value in reads:
            read(value, where)
        scratch = OPS[node.op].scratch_bytes(node, isa)
        if scratch:
            writer[span(scratch_name(node.index), scratch, where)] = -2
        tag = len(graph.inputs) + node.index
        if _is_view(node, offsets):
            tag = content[node.input(0).name]
        for value in node.outputs:
            write(value, where, tag)
        if not _is_view(node, offsets):
            # Kernels read their inputs while they write: neither may lie on the other.
            for value in reads:
                read(value, where)
    for value in graph.output_values:
        if not value.is_constant:
            read(value, "model output")


def _is_view(node: BoundNode, offsets: Mapping[str, int]) -> bool:
    source = node.input(0)
    return (
        node.op == "reshape"
        and not source.is_constant
        and offsets[source.name] == offsets[node.output.name]
    )
