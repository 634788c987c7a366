"""The backend that has the answers of one run soonest, for a program that then ends."""

from __future__ import annotations

from tinyrt.data import Source
from tinyrt.interpreter.backends import DEFAULT_BACKEND
from tinyrt.ir import DType, Graph
from tinyrt.ops import OPS

REFERENCE = "reference"

MAX_WORK = 60_000_000
"""Work that the reference does in about the time in which compiled kernels are loaded."""

PER_ELEMENT = 20
"""Multiply-accumulates that take the reference as long as one element of an op's outputs."""

PER_OP = 200_000
"""The same for calling an op at all, which is most of the time in models that keep state."""

FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32})


def soonest_backend(graph: Graph, source: Source) -> str:
    """The reference where there is little to do and all of it is exact, else the default.

    Loading compiled kernels takes a third of a second, and compiling them, once, several. On
    integers every backend answers the same bytes; a model with floats always has the default, so
    that its last bits do not depend on how much data there are.

    Args:
        graph: the model.
        source: what it is to run on.

    """
    if any(value.dtype in FLOATS for value in graph.values.values()):
        return DEFAULT_BACKEND
    name = next(iter(source.types))
    first = graph.value(graph.fed[0])
    rows = source.types[name].shape[0] / (first.shape[0] if first.shape else 1)
    return REFERENCE if rows * work_of(graph) <= MAX_WORK else DEFAULT_BACKEND


def work_of(graph: Graph) -> int:
    """What one run costs the reference, in multiply-accumulates."""
    macs = sum(OPS[node.op].macs(node) for node in graph.bound())
    elements = sum(value.size for value in graph.values.values() if not value.is_constant)
    return macs + PER_ELEMENT * elements + PER_OP * len(graph.nodes)
