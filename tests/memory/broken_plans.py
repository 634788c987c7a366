"""Plans that are broken at random, as a defect in the planner might break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.memory.byte_arena import BrokenPlanError, Plan
from tests.memory.byte_replay import replay_bytes
from tinyrt.errors import VerifyError
from tinyrt.memory import check_plan
from tinyrt.memory.segments import RowStage, RowStep, Segment


def verdicts(plan: Plan) -> tuple[bool, bool]:
    """Whether the checker takes it, and whether the plain one does."""
    # Rows that are not there are errors of NumPy's and of a dict to the plain one.
    plain = _passes(replay_bytes, plan, BrokenPlanError, ValueError, KeyError)
    return _passes(_check, plan, VerifyError), plain


def _check(plan: Plan) -> None:
    check_plan(
        *(plan.graph, plan.offsets, plan.arena_bytes, plan.kernels),
        overlap=plan.overlap,
        idle=plan.idle,
        outside=plan.outside,
        segments=plan.segments,
    )


def _passes(check: Callable[[Plan], None], plan: Plan, *refusals: type[Exception]) -> bool:
    try:
        check(plan)
    except refusals:
        return False
    return True


def break_plan(plan: Plan, rng: Random) -> None:
    """Change one thing about a plan; it may be as good as before."""
    changes = [_move, _move, _move, _swap, _resize, _leave_out]
    if plan.segments and plan.segments[-1].steps:
        changes += [_change_step, _change_step, _change_access] * 2
        changes += [_change_ring] * 2 * bool(plan.segments[-1].rings)
    rng.choice(changes)(plan, rng)


def _move(plan: Plan, rng: Random) -> None:
    name = rng.choice(sorted(plan.offsets))
    near = rng.choice((1, -1, 4, -4, 8, -8, rng.randrange(-40, 40)))
    somewhere = rng.randrange(max(plan.arena_bytes, 1)) - plan.offsets[name]
    plan.offsets[name] += rng.choice((near, near, somewhere))


def _swap(plan: Plan, rng: Random) -> None:
    a, b = rng.choice(sorted(plan.offsets)), rng.choice(sorted(plan.offsets))
    plan.offsets[a], plan.offsets[b] = plan.offsets[b], plan.offsets[a]


def _resize(plan: Plan, rng: Random) -> None:
    plan.arena_bytes += rng.choice((-4, -1, 16))


def _leave_out(plan: Plan, rng: Random) -> None:
    """Have a node do nothing, or do something after all; only those that move bytes may be idle."""
    moving = ("reshape", "slice", "concatenation")
    nodes = [i for i, n in enumerate(plan.graph.nodes) if n.op in moving]
    inside = {i for s in plan.segments for i in range(s.first, s.stop)}
    if nodes and (node := rng.choice(nodes)) not in inside:
        plan.idle ^= {node}


def _change_step(plan: Plan, rng: Random) -> None:
    segment = plan.segments.pop()
    steps = list(segment.steps)
    i, j = rng.randrange(len(steps)), rng.randrange(len(steps))
    how = rng.randrange(6)
    if how == 0:
        steps[i], steps[j] = steps[j], steps[i]
    elif how == 1:
        del steps[i]
    elif how == 2:
        steps.insert(j, steps[i])
    else:
        changes: dict[str, Any] = {
            3: {"shift": not steps[i].shift},
            4: {"fill": not steps[i].fill},
            5: {"first": max(0, steps[i].first + rng.choice((-1, 1)))},
        }[how]
        steps[i] = _with(steps[i], changes, segment)
    plan.segments.append(replace(segment, steps=tuple(steps)))


def _with(step: RowStep, changes: dict[str, Any], segment: Segment) -> RowStep:
    return replace(step, **changes) if segment.ring_of(step.stage) is not None else step


def _change_ring(plan: Plan, rng: Random) -> None:
    segment = plan.segments.pop()
    name = rng.choice(sorted(segment.rings))
    ring = segment.rings[name]
    rows = max(ring.block, ring.rows + rng.choice((-1, 1)))
    fill = rng.choice((ring.fill, 0, None))
    changed = replace(ring, rows=rows, fill=fill)
    plan.segments.append(replace(segment, rings={**segment.rings, name: changed}))


def _change_access(plan: Plan, rng: Random) -> None:
    segment = plan.segments.pop()
    stages = list(segment.stages)
    i = rng.randrange(len(stages))
    stages[i] = _moved(stages[i], rng)
    plan.segments.append(replace(segment, stages=tuple(stages)))


def _moved(stage: RowStage, rng: Random) -> RowStage:
    places = [k for k, read in enumerate(stage.reads) if read is not None]
    by = rng.choice((-1, 1)) * rng.choice((1, stage.writes.nbytes))
    if not places or rng.random() < 0.3:
        return replace(stage, writes=replace(stage.writes, start=max(0, stage.writes.start + by)))
    reads, k = list(stage.reads), rng.choice(places)
    reads[k] = replace(reads[k], start=max(0, reads[k].start + by))
    return replace(stage, reads=tuple(reads))
