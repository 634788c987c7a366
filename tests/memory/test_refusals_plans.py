"""What the checker finds in broken plans, and which memories are refused, says so by name."""

from dataclasses import replace

import pytest

from tests.graphs import small_cnn
from tests.memory.nets import RandomNet, random_net
from tests.memory.targets import DSP, SCALAR
from tests.memory.test_segments import ranges
from tests.ops.quantised import graph_of, s8
from tests.sampling import sampled
from tinyrt.errors import BudgetError, UnsupportedError, VerifyError
from tinyrt.memory import check_plan, plan_by_rows, plan_memory, plan_pushed, plan_segments
from tinyrt.memory.arena import check_regions
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.placing import problem
from tinyrt.memory.plan import MemoryOptions, Region, require_budget
from tinyrt.memory.rows import candidates
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.transpose import TransposeAttrs

GRAPH = random_net(7)
REPORT = "this is a defect of tinyrt"


def check(plan, kernels=SCALAR, graph=GRAPH, **changed):
    """Replay a plan of which one thing is changed."""
    given = {"offsets": plan.offsets, "segments": plan.segments, "idle": plan.idle} | changed
    offsets = given.pop("offsets")
    check_plan(graph, offsets, 2 * plan.arena_bytes, kernels, outside=plan.outside, **given)


def refused(action, kind=VerifyError):
    """The text of the refusal."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


@pytest.fixture(scope="module")
def by_rows():
    """A plan of one segment, as long as can be."""
    segment = max(ranges(GRAPH), key=lambda s: s.stop - s.first)
    return plan_segments(GRAPH, DSP, (segment,))


def broken_stage(plan, number, **changes):
    """The plan's segment with one stage changed."""
    (segment,) = plan.segments
    stages = list(segment.stages)
    stages[number] = replace(stages[number], **changes)
    return {"segments": (replace(segment, stages=tuple(stages)),)}


def broken_step(plan, number, **changes):
    """The plan's segment with one step changed, or left out."""
    (segment,) = plan.segments
    steps = list(segment.steps)
    steps[number : number + 1] = [replace(steps[number], **changes)] if changes else []
    return {"segments": (replace(segment, steps=tuple(steps)),)}


def first_op(plan):
    (segment,) = plan.segments
    return next(i for i, stage in enumerate(segment.stages) if stage.node is not None)


def nodes_amiss(plan):
    (segment,) = plan.segments
    return {"segments": (replace(segment, first=segment.first, stop=segment.stop + 1),)}


def room_without_ring(plan):
    (segment,) = plan.segments
    steps = enumerate(segment.steps)
    number = next(i for i, step in steps if segment.ring_of(step.stage) is None)
    return broken_step(plan, number, shift=True)


def row_too_long(plan):
    stage = plan.segments[0].stages[first_op(plan)]
    writes = replace(stage.writes, nbytes=stage.writes.nbytes + 1)
    return broken_stage(plan, first_op(plan), writes=writes)


def input_unread(plan):
    return broken_stage(plan, first_op(plan), reads=(None,))


def row_misread(plan):
    (access, *others) = plan.segments[0].stages[first_op(plan)].reads
    moved = replace(access, start=access.start + 1)
    return broken_stage(plan, first_op(plan), reads=(moved, *others))


def row_forgotten(plan):
    last = max(i for i, step in enumerate(plan.segments[0].steps) if step.run)
    return broken_step(plan, last)


def scratch_on_rows(plan):
    stages = [s for s in plan.segments[0].stages if s.node is not None]
    stage = next(s for s in stages if scratch_name(s.node.index) in plan.offsets)
    rows = plan.offsets[stage.writes.name] + stage.writes.start
    return {"offsets": plan.offsets | {scratch_name(stage.node.index): rows}}


def without_integers(plan):
    del plan
    values = {name: replace(value, q=None) for name, value in GRAPH.values.items()}
    return {"graph": replace(GRAPH, values=values)}


BROKEN = [
    (nodes_amiss, ["a segment of nodes", "runs [0, "]),
    (room_without_ring, ["moves rows of a tensor that has no ring"]),
    (row_too_long, ["a row of", "'", "s8["]),
    (input_unread, ["an input is not read", "s8["]),
    (
        row_misread,
        ["what this step reads is not, or no longer, what it asks for", "row 0 of hard_swish '"],
    ),
    (row_forgotten, ["a stage makes", "rows"]),
    (scratch_on_rows, ["the op's scratch memory lies on its rows", "conv2d"]),
    (without_integers, ["the op does not work row by row", "row 0 of hard_swish '"]),
]


@pytest.mark.parametrize(("broken", "says"), BROKEN)
def test_segments_that_would_go_wrong_are_refused(by_rows, broken, says):
    text = refused(lambda: check(by_rows, DSP, **broken(by_rows)))
    for part in [*says, REPORT]:
        assert part in text


def test_ops_with_work_to_do_are_not_left_out():
    text = refused(lambda: check(plan_memory(GRAPH, SCALAR), idle={0}))
    assert "the op is left out, and has work to do" in text
    assert GRAPH.bind(0).describe() in text


def test_scratch_memory_may_not_lie_on_the_output():
    plan = plan_memory(GRAPH, DSP)
    node = next(n for n in GRAPH.bound() if DSP.scratch_bytes(n))
    offsets = plan.offsets | {scratch_name(node.index): plan.offsets[node.output.name]}
    text = refused(lambda: check(plan, DSP, offsets=offsets))
    assert "the op's scratch memory lies on its output" in text
    assert node.describe() in text


def test_buffers_lie_in_their_regions():
    plan = plan_memory(GRAPH, SCALAR)
    small = replace(plan, regions=(Region("sram", plan.arena_bytes - 1),))
    text = refused(lambda: check_regions(GRAPH, small))
    assert "ends outside of region 'sram'" in text
    assert "file:" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"regions": ()}, ["named not at all", "at least one"]),
        ({"regions": (Region("a"), Region("a"))}, ["named a, a", "a name of its own"]),
        ({"alignment": 2}, ["aligned to 2", "a power of two of at least 4"]),
        ({"alignment": 24}, ["aligned to 24", "a power of two"]),
    ],
)
def test_memories_that_cannot_be_are_refused(options, says):
    text = refused(lambda: MemoryOptions(**options), BudgetError)
    assert all(part in text for part in says)


def test_an_arena_beyond_its_budget_names_what_is_in_the_way():
    plan = plan_memory(GRAPH, SCALAR)
    text = refused(lambda: require_budget(GRAPH, plan, plan.arena_bytes - 1), BudgetError)
    moment = plan.fullest()
    assert f"needs {plan.arena_bytes:,} bytes, 1 too many" in text
    assert f"'{moment.sizes[0][0]}' {moment.sizes[0][1]:,}" in text
    assert f"at most {plan.arena_bytes - 1:,}" in text
    assert "lower this op's resolution or channels" in text


SMALL = MemoryOptions((Region("fast", 16), Region("slow", 32)))
TOO_SMALL = ["region 'slow' would need", "in bytes: '", "at most 32", "make a region larger"]


@pytest.mark.parametrize("plan", sampled([plan_memory], [plan_memory, plan_by_rows, plan_pushed]))
def test_regions_that_are_too_small_are_refused(plan):
    text = refused(lambda: plan(GRAPH, SCALAR, options=SMALL), BudgetError)
    assert all(part in text for part in TOO_SMALL)


def test_tensors_that_are_too_many_for_regions_are_refused(monkeypatch):
    monkeypatch.setattr(problem, "MAX_PAIRS", 0)
    text = refused(lambda: plan_memory(GRAPH, SCALAR, options=SMALL), BudgetError)
    assert "tensors are too many to divide among regions" in text
    assert "or one region" in text


def test_ops_that_are_too_many_for_rows_are_refused(monkeypatch):
    monkeypatch.setattr(candidates, "MAX_CELLS", 10)
    text = refused(lambda: plan_pushed(GRAPH, SCALAR), BudgetError)
    assert f"{len(GRAPH.nodes)} ops are too many" in text
    assert "leave out --by-rows" in text


def test_inputs_that_cannot_come_row_by_row_are_named():
    text = refused(lambda: plan_pushed(small_cnn(), SCALAR), UnsupportedError)
    assert "cannot come row by row" in text
    assert "'x' f32[1,8,8,3]" in text
    assert "an image (1, h, w, c) of int8 or int16" in text
    assert "leave out --input-rows" in text


def test_an_op_that_has_no_rows_is_named():
    turned = graph_of("transpose", TransposeAttrs((0, 2, 1, 3)), [s8(1, 6, 5, 4)], [s8(1, 5, 6, 4)])
    text = refused(lambda: plan_pushed(turned, SCALAR), UnsupportedError)
    assert "transpose" in text
    assert "an op whose output rows each need a few rows of its inputs" in text


def test_readers_that_pad_an_input_otherwise_are_named():
    """The lowest number stands above the first row for one of them, and 0 for the other."""
    net = RandomNet(0)
    pool = net.op("max_pool2d", Pool2dAttrs((3, 1), padding="SAME"), "x").name
    pad = net.op("pad", PadAttrs(((0, 0), (1, 1), (0, 0), (0, 0))), "x").name
    text = refused(lambda: plan_pushed(net.graph(pool, pad), SCALAR), UnsupportedError)
    assert f"max_pool2d '{pool}' and pad '{pad}'\n" in text
    assert "readers that pad it alike, and take as many rows of it for one of the output" in text
    assert "leave out --input-rows" in text
