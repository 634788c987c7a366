"""What it costs to run ops row by row: instructions and bytes of code, estimated.

The figures are those of a Cortex-M4, or of a Cortex-M55 for vector kernels, fitted to what the
emulator counts for programs with and without segments. They compare segments with each other; they
do not predict how fast a program is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tinyrt.ir import BoundNode, Graph
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.rows.steps import encode
from tinyrt.memory.segments import RowStage, RowStep, Segment
from tinyrt.ops import OPS, is_weighted
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs

MAX_GROWTH = 3
"""By default, a segment may add this per cent of instructions, and of code."""

VECTOR_STEP, VECTOR_RUN = 20, 45
"""Instructions of a step on a Cortex-M55, and the further ones of a step that calls a kernel."""

VECTOR = 16
"""Bytes that a vector of a Cortex-M55 holds."""

LONG_ROW = 16
"""Columns from which a depthwise convolution's row counts as long."""

SHARED_LOOP = 120
"""Bytes of the loop over steps, which all segments share."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a program, or of an addition to a program.

    Attributes:
        instructions: per inference.
        code: bytes, with tables and parameters, without weights.

    """

    instructions: int
    code: int

    def is_cheap(self, base: Cost) -> bool:
        """Whether ``base`` may grow by this cost."""
        pairs = (self.instructions, base.instructions), (self.code, base.code)
        return all(more * 100 <= MAX_GROWTH * whole for more, whole in pairs)


def whole_cost(graph: Graph, kernels: Kernels) -> Cost:
    """The cost of a program without segments."""
    nodes = list(graph.bound())
    if kernels.has_vectors:
        shared = 1_100 + kernels.code_bytes(node.op for node in nodes)
        return Cost(sum(map(kernels.cost, nodes)), shared + sum(map(_vector_code, nodes)))
    instructions, code = 0, 5_300
    for node in nodes:
        instructions += _instructions(node)
        code += 24 + (76 + node.output.shape[-1] if is_weighted(node) else 0)
    return Cost(instructions, code)


def added_instructions(graph: Graph, segments: tuple[Segment, ...], kernels: Kernels) -> int:
    """Instructions per inference that segments add to a program."""
    if kernels.has_vectors:
        return sum(_added_to_vectors(graph, s, kernels) for s in segments)
    return sum(_added_instructions(graph, s) for s in segments)


def added_code(graph: Graph, segments: tuple[Segment, ...], kernels: Kernels) -> int:
    """Bytes that segments add to a program's code."""
    shared = SHARED_LOOP * (len(segments) - 1)
    loops = sum(_added_code(s, kernels) for s in segments)
    return loops - shared + _added_kernels(graph, segments, kernels)


def _vector_code(node: BoundNode) -> int:
    """Bytes of an op's call and parameters: a multiplier and a shift for each channel."""
    return 24 + (128 + 5 * node.output.shape[-1] if is_weighted(node) else 0)


def _instructions(node: BoundNode) -> int:
    """Instructions of one op: depthwise kernels multiply one by one, others two or more at once."""
    size, macs = node.output.size, OPS[node.op].macs(node)
    if not macs:
        return 6 * sum(v.size for v in node.inputs if v is not None and not v.is_constant)
    return 33 * macs // 10 if _is_depthwise(node) else macs + 10 * size


def _is_depthwise(node: BoundNode) -> bool:
    return node.op == "depthwise_conv2d"


def _added_instructions(graph: Graph, segment: Segment) -> int:
    total = 0
    # Where all rings consist of words, a short loop moves word by word; see tinyrt_rows.h.
    each = 16 if all(ring.row_bytes % 4 == 0 for ring in segment.rings.values()) else 7
    for step, count in Counter(segment.steps).items():
        total += count * _step_instructions(segment, step, each)
    for stage in segment.stages:
        if stage.fold is not None and stage.node is not None:
            total -= 5 * graph.bind(stage.node.index).input(0).size // 2
    return total


def _added_to_vectors(graph: Graph, segment: Segment, kernels: Kernels) -> int:
    """Added instructions with vector kernels: calls for a few rows replace one for all rows."""
    total = 0
    nodes = [graph.bind(s.node.index) if s.node is not None else None for s in segment.stages]
    ops = [OPS[node.op].row_op(node) if node is not None else None for node in nodes]
    for step, count in Counter(segment.steps).items():
        stage, op, ring = segment.stages[step.stage], ops[step.stage], segment.ring_of(step.stage)
        each = VECTOR_STEP + VECTOR_RUN * step.run
        if ring is not None:
            moved = step.shift * (ring.nbytes - ring.block_bytes)
            filled = step.clear * ring.nbytes + step.fill * ring.block_bytes
            each += (3 * moved + 2 * filled) // VECTOR
        if step.run and op is not None:
            each += kernels.cost(op.on_rows(step.count))
        elif step.run:
            each += 3 * step.count * stage.writes.nbytes // VECTOR
        total += count * each
    return total - sum(kernels.cost(node) for node in nodes if node is not None)


def _step_instructions(segment: Segment, step: RowStep, each: int) -> int:
    """Instructions of a step besides its rows; ``each``: quarters of one, per word moved."""
    stage, ring = segment.stages[step.stage], segment.ring_of(step.stage)
    total = 45
    if ring is not None:
        words = ring.row_bytes % 4 == 0
        moved = ring.nbytes - ring.block_bytes
        total += step.shift * moved * (each if words else 80) // 16
        filled = step.clear * moved + step.fill * ring.block_bytes
        total += filled * (3 if words else 16) // 4
    if step.run:
        total += 60 + _set_up(stage, step)
    return total


def _set_up(stage: RowStage, step: RowStep) -> int:
    """Instructions of the kernel's set-up for a batch, beyond the work on its rows."""
    node = stage.node
    if node is None or stage.fold is not None:
        return 0
    _, _, width, channels = node.output.shape
    if _is_depthwise(node):
        if _takes_short_rows(node):
            return channels * (44 + 36 * (step.count % 2))
        copied = 8 * width if node.attrs_as(DepthwiseConv2dAttrs).stride[0] == 1 else 0
        return channels * (83 + copied)
    pixels = OPS[node.op].macs(node) // width
    return pixels * 37 // 100 * (step.count * width % 2)


def _takes_short_rows(node: BoundNode) -> bool:
    """Whether a depthwise convolution takes the kernel for short rows."""
    return node.attrs_as(DepthwiseConv2dAttrs).stride == (1, 1) and node.output.shape[2] < LONG_ROW


def _added_code(segment: Segment, kernels: Kernels) -> int:
    """Bytes of the loop over steps and its tables; similar calls share one case."""
    numbers = {i: i for i in range(len(segment.stages))}
    advancing = len({s.stage for s in segment.steps if s.shift or s.clear or s.fill})
    uneven = [
        i
        for i, stage in enumerate(segment.stages)
        if any(s.stage == i and 0 < s.count < stage.block for s in segment.steps)
    ]
    in_tables = max(len(segment.stages) - 4, 0)
    tables = 8 * advancing + len(encode(segment, numbers))
    pushed = 130 if segment.pushed is not None else 0
    cut = 45 if kernels.has_vectors else 20
    cuts = 100 * bool(uneven) + cut * len(uneven)
    return 275 + tables - 8 * in_tables + cuts + pushed


def _added_kernels(graph: Graph, segments: tuple[Segment, ...], kernels: Kernels) -> int:
    """Bytes of kernels that only segments need, less those that only whole tensors need."""
    folds = {s.node.index for g in segments for s in g.stages if s.fold and s.node is not None}
    if kernels.has_vectors:
        return -500 * bool(folds)
    inside = {i for s in segments for i in range(s.first, s.stop)}
    depthwise = [n for n in graph.bound() if _is_depthwise(n)]
    short = {n.index for n in depthwise if n.index in inside and _takes_short_rows(n)}
    total = 860 * bool(short)
    total -= 1_200 * (bool(short) and len(short) == len(depthwise))
    return total - 240 * bool(folds)
