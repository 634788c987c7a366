"""A plain check of arena plans, byte by byte: what the real one is held against."""

from __future__ import annotations

import numpy as np

from tests.memory.byte_arena import SCRATCH, BrokenPlanError, ByteArena, Numbers, Plan, Span
from tests.memory.byte_replay_rows import RowReplay
from tinyrt.ir import BoundNode, Value
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.sweep import SweepStep
from tinyrt.ops import OPS


def replay_bytes(plan: Plan) -> None:
    """Run the plan on numbers in place of values; raises ``BrokenPlanError``."""
    arena = ByteArena(plan)
    for value in plan.graph.input_values:
        _write(arena, value, (0, value.nbytes), new=True)
    nodes, segments = [*plan.graph.bound()], {s.first: s for s in plan.segments}
    at = 0
    while at < len(nodes):
        if at in segments:
            RowReplay(plan, segments[at], arena).run()
            at = segments[at].stop
            continue
        if at in plan.idle or _is_view(plan, nodes[at]):
            _leave_out(arena, nodes[at])
        else:
            _run(plan, arena, nodes[at])
        at += 1
    for value in plan.graph.output_values:
        _read(arena, value)


def _write(arena: ByteArena, value: Value, span: Span, *, new: bool = False) -> None:
    if new:
        arena.renew(value.name, value.nbytes)
    arena.write(value.name, span, arena.own[value.name][slice(*span)])


def _read(arena: ByteArena, value: Value, span: Span | None = None) -> None:
    """All of a tensor, or some, must still be its own."""
    if not value.is_constant:
        span = span or (0, value.nbytes)
        arena.expect(value.name, span, arena.own[value.name][slice(*span)])


def _is_view(plan: Plan, node: BoundNode) -> bool:
    x, y = node.inputs[0], node.output
    at_x, at_y = (plan.offsets.get(v.name) for v in (x, y))
    return node.op == "reshape" and not x.is_constant and at_x == at_y


def _leave_out(arena: ByteArena, node: BoundNode) -> None:
    """An op whose bytes lie already where it would move them: they keep their numbers."""
    y, moved = node.output, []
    for value in filter(None, node.inputs):
        _read(arena, value)
        numbers = arena.own[value.name].reshape(*value.shape, value.dtype.itemsize)
        moved.append(numbers[..., 0])
    move = OPS[node.op].ref_f32
    assert move is not None, "ops that are left out move elements of any dtype"
    first: Numbers = np.asarray(move(node.attrs, *moved), np.int64)
    arena.own[y.name] = (first.reshape(-1, 1) + np.arange(y.dtype.itemsize)).reshape(-1)
    _read(arena, y)


def _run(plan: Plan, arena: ByteArena, node: BoundNode) -> None:
    """An op: its kernel's steps beside its scratch memory."""
    scratch, nbytes = scratch_name(node.index), plan.kernels.scratch_bytes(node)
    if nbytes:
        arena.write(scratch, (0, nbytes), SCRATCH)
    for value in node.outputs:
        arena.bytes_of(value.name, (0, value.nbytes))
        arena.renew(value.name, value.nbytes)
    for value in node.outputs[1:]:
        _write(arena, value, (0, value.nbytes))
    steps = tuple(plan.kernels.sweep(node) or ()) if plan.overlap else ()
    for step in steps or (_all_at_once(node),):
        _check_planes(plan, node, step)
        reads = [(v, s) for v, s in zip(node.inputs, step.reads, strict=True) if v and s]
        # Where reads and writes interleave, what is read must survive what is written.
        for turn in (0, 1):
            if turn == step.reads_first:
                _write(arena, node.output, step.writes)
            else:
                for value, span in reads:
                    _read(arena, value, span)
    for value in node.outputs:
        _read(arena, value)
    if nbytes:
        arena.expect(scratch, (0, nbytes), SCRATCH)


def _all_at_once(node: BoundNode) -> SweepStep:
    whole = [None if v is None or v.is_constant else (0, v.nbytes) for v in node.inputs]
    return SweepStep(tuple(whole), (0, node.output.nbytes))


def _check_planes(plan: Plan, node: BoundNode, step: SweepStep) -> None:
    """Planes that keep apart may as well be swept together: see that they do keep apart."""
    y = node.output
    for x in node.inputs:
        if x is None or x.is_constant or {x.name, y.name} & plan.outside:
            continue
        apart = plan.offsets[y.name] - plan.offsets[x.name]
        if -y.nbytes < apart < x.nbytes and apart % step.planes:
            raise BrokenPlanError(
                f"a plane of {y.describe()} lies on another one of {x.describe()}"
            )
