"""Plans in which every op's output lies on its input, as far as its kernel allows."""

from __future__ import annotations

from tests.c.conformance import graph_of
from tests.c.packed_cases import PACKED_CASES
from tests.ops.build import build_s8
from tests.ops.cases import CASES
from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan, Region, check_plan
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.lifetimes import Buffer, buffers
from tinyrt.memory.placing.overlap import leads
from tinyrt.memory.placing.problem import ALIGNMENT
from tinyrt.memory.regions import ARENA
from tinyrt.ops import OPS

UNORDERED = {
    *("batch_matmul", "batch_norm", "cast", "cumsum", "dequantize", "embedding"),
    "detection_postprocess",
    *("l2_normalization", "log_softmax", "logical_and", "logical_not", "logical_or", "mean"),
    *("quantize", "reduce_max", "reduce_min", "reduce_prod", "reshape", "softmax", "sum", "svdf"),
    *("dynamic_update_slice", "gather_nd", "slice_at", "topk_v2"),
    "unidirectional_sequence_lstm",
    *(op for op in OPS if op.startswith("signal_")),
}
"""Ops whose kernels keep to no order."""

SWEPT_OPS = sorted(set(OPS) - UNORDERED)
"""Ops whose kernels say in which order they read and write."""


def overlapping_cases(ops, seeds, build=build_s8):
    """A graph of those ops whose kernels have a sweep, and data for its inputs."""
    packed = {f"packed {name}": case for name, case in PACKED_CASES.items()}
    cases = {op: CASES[op] for op in ops if op in SWEPT_OPS}
    return graph_of(cases | (packed if build is build_s8 else {}), seeds, build)


def overlapping_plan(graph: Graph, kernels: Kernels, **_: object) -> ArenaPlan:
    """Ops that have nothing to do with each other, each with its output as near as can be.

    Every op has a part of the arena of its own. There its output begins as little before one of its
    inputs as the kernel's sweep asks for; its other inputs and its scratch memory lie behind.
    """
    found = buffers(graph, kernels)
    home = {name: i for i, buffer in enumerate(found) for name in buffer.names}
    near = {y: (x, lead) for (y, x), lead in leads(graph, found, kernels).items()}
    offsets: dict[str, int] = {}
    end = 0
    for node in graph.bound():
        values = [v for v in (*node.inputs, *node.outputs) if v is not None]
        step = max(ALIGNMENT, *(v.dtype.itemsize for v in values))
        end = _rounded_up(end, step)
        y = home[node.output.name]
        end = _put(found[y], end, offsets, step)
        if y in near:
            x, lead = near[y]
            begin = offsets[node.output.name] + _rounded_up(lead.least, step)
            end = max(end, _put(found[x], begin, offsets, step))
        for name in node.node.inputs:
            if name in home and name not in offsets:
                end = _put(found[home[name]], end, offsets, step)
    for buffer in found:
        if buffer.names[0] not in offsets:
            end = _put(buffer, end, offsets, ALIGNMENT)
    check_plan(graph, offsets, end, kernels)
    return ArenaPlan(offsets, end, 0, tuple(found), regions=(Region(ARENA, end),))


def overlapping_ops(graph: Graph, plan: ArenaPlan) -> set[str]:
    """Ops some of whose inputs and outputs have bytes in common."""
    return {
        node.op
        for node in graph.bound()
        for value in node.inputs
        if value is not None
        and value.name in plan.offsets
        and plan.offsets[value.name] < plan.offsets[node.output.name] + node.output.nbytes
        and plan.offsets[node.output.name] < plan.offsets[value.name] + value.nbytes
    }


def _rounded_up(nbytes: int, step: int) -> int:
    return -(-nbytes // step) * step


def _put(buffer: Buffer, at: int, offsets: dict[str, int], step: int) -> int:
    """Give a buffer its place, a multiple of ``step``; the first such behind it."""
    offsets.update(dict.fromkeys(buffer.names, at))
    return _rounded_up(at + buffer.nbytes, step)
