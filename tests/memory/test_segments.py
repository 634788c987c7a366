"""Segments: rows come in time, at their places, and give what the whole tensors would give."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.nets import RandomNet, gated_net, random_net
from tests.memory.targets import DSP, MVE, SCALAR
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import BudgetError, TinyrtError, UnsupportedError, VerifyError
from tinyrt.interpreter import Interpreter
from tinyrt.memory import check_plan, plan_by_rows, plan_memory, plan_pushed, plan_segments
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.memory.plan import MemoryOptions, require_budget
from tinyrt.memory.rows import build as rows_build
from tinyrt.memory.rows.build import build, row_ops, sums_name
from tinyrt.memory.rows.candidates import THOROUGH
from tinyrt.memory.rows.steps import AGAIN, MOST, _loops
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs


def run_in(graph, plan, feeds):
    """Outputs of the references in the bytes of a plan."""
    interpreter = Interpreter.from_graph(graph, backend="reference", plan=plan)
    interpreter.allocate_tensors()
    for details in interpreter.get_input_details():
        interpreter.set_tensor(details["index"], feeds[details["name"]])
    interpreter.invoke()
    found = interpreter.get_output_details()
    return {d["name"]: interpreter.get_tensor(d["index"]) for d in found}


def feeds_of(graph, seed):
    rng = np.random.default_rng(seed)
    return {v.name: rng.integers(-128, 128, v.shape).astype(np.int8) for v in graph.input_values}


def same(found, expected):
    return all(np.array_equal(found[name], array) for name, array in expected.items())


WAYS = ((1, False), (1, True), (2, True), (3, False), (3, True), (4, True), (8, False))
"""Times of a batch, and whether rings move early."""


def ranges(graph, ways=((1, False),)):
    """Every run of nodes that makes a segment, in each way."""
    ops = row_ops(graph)
    for first in range(len(ops)):
        for stop in range(first + 1, len(ops) + 1):
            for times, early in ways:
                segment = build(graph, ops, first, stop, None, times, early)
                if segment is not None:
                    yield segment


@pytest.mark.slow
@settings(max_examples=sampled(5, 60), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rows_give_what_whole_tensors_give(seed):
    graph = random_net(seed)
    feeds = feeds_of(graph, seed)
    expected = evaluate(graph, feeds)
    found = list(ranges(graph, WAYS))
    rng = np.random.default_rng(seed)
    for i in rng.permutation(len(found))[:3]:
        plan = plan_segments(graph, SCALAR, (found[i],))  # replays the plan
        assert same(run_in(graph, plan, feeds), expected)


@pytest.mark.slow
@settings(max_examples=sampled(4, 25), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_several_segments_give_what_whole_tensors_give(seed):
    graph = gated_net(seed)
    feeds = feeds_of(graph, seed)
    found = list(ranges(graph, WAYS[:3]))
    chosen = []
    for i in np.random.default_rng(seed).permutation(len(found)):
        if all(found[i].stop <= s.first or s.stop <= found[i].first for s in chosen):
            chosen.append(found[i])
    segments = tuple(sorted(chosen, key=lambda s: s.first))
    plan = plan_segments(graph, SCALAR, segments)  # replays the plan
    assert same(run_in(graph, plan, feeds), evaluate(graph, feeds))


def test_rows_that_come_at_different_rates_do_not_meet_in_a_segment():
    """Eight rows become four in two ways: every second one, and those under windows of five."""
    net = RandomNet(0)
    net.values["x"] = replace(net.values["x"], shape=(1, 8, 4, 2))
    x = net.op("relu", NoAttrs(), "x").name
    halved = net.op("max_pool2d", Pool2dAttrs((2, 1), (2, 1), "VALID"), x).name
    within = net.op("max_pool2d", Pool2dAttrs((5, 1), (1, 1), "VALID"), x).name
    graph = net.graph(net.op("add", AddAttrs(), halved, within).name)
    found = [(s.first, s.stop) for s in ranges(graph)]
    assert (0, 3) in found
    assert (1, 4) in found
    assert (0, 4) not in found


def test_rows_are_read_and_written_outside_the_arena():
    net = RandomNet(0)
    w, b = net.weights((4, 3, 1, net.values["x"].shape[3]), 0)
    y = net.op("conv2d", Conv2dAttrs(padding="VALID"), "x", w, b).name
    graph = net.graph(y, net.op("mean", MeanAttrs((1, 2)), y).name)
    ports = frozenset({"x", *graph.outputs})
    (segment,) = (s for s in ranges(graph) if s.stop - s.first == 2)
    plan = plan_segments(graph, DSP, (segment,), MemoryOptions(outside=ports))
    assert plan.offsets.keys() == {sums_name(1), scratch_name(0)}
    feeds = feeds_of(graph, 0)
    assert same(run_in(graph, plan, feeds), evaluate(graph, feeds))


def test_segments_keep_to_what_the_c_code_can_count(monkeypatch):
    graph = random_net(7)
    ops = row_ops(graph)
    segment = max(ranges(graph), key=lambda s: s.stop - s.first)
    made = segment.first, segment.stop, None, 8
    whole = rows_build.build(graph, ops, *made)
    for name, most in {
        "MAX_BYTES": max(ring.nbytes for ring in whole.rings.values()),
        "MAX_BLOCK": max(stage.block for stage in whole.stages),
        "MAX_STAGES": len(whole.stages),
    }.items():
        monkeypatch.setattr(rows_build, name, most)
        assert rows_build.build(graph, ops, *made).steps == whole.steps
        monkeypatch.setattr(rows_build, name, most - 1)
        assert rows_build.build(graph, ops, *made) is None
        monkeypatch.undo()


@pytest.mark.slow
def test_several_segments_take_less_than_one():
    alone = replace(THOROUGH, several=False)
    for seed in sampled((7,), (7, 13, 35)):
        graph = gated_net(seed)
        one = plan_by_rows(graph, DSP, costly=True, effort=alone)
        several = plan_by_rows(graph, DSP, costly=True)
        assert len(one.segments) <= 1 < len(several.segments)
        assert several.arena_bytes < one.arena_bytes


@pytest.mark.slow
@settings(max_examples=sampled(6, 40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_pushed_rows_give_what_the_image_gives(seed):
    graph = random_net(seed)
    feeds = feeds_of(graph, seed)
    try:
        plan = plan_pushed(graph, SCALAR)
    except UnsupportedError:
        return
    assert "x" not in plan.offsets
    assert same(run_in(graph, plan, feeds), evaluate(graph, feeds))


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([13, 44, 99], [3, 13, 44, 66, 99]))
def test_scratch_memory_is_that_of_the_batch_that_takes_most(seed):
    """Vector kernels may ask for more where a batch has fewer rows: the replay finds too little."""
    assert plan_by_rows(random_net(seed), MVE, costly=True).arena_bytes


@pytest.mark.slow
def test_streaming_never_takes_more_and_most_random_nets_can_be_streamed():
    nets = sampled(4, 50)
    streamed = 0
    for seed in range(nets):
        graph = random_net(seed)
        plan = plan_by_rows(graph, SCALAR, costly=True)
        assert plan.lower_bound <= plan.arena_bytes <= plan_memory(graph, SCALAR).arena_bytes
        streamed += bool(plan.segments)
    assert streamed > nets // 2


def _residual_plan():
    graph = random_net(7)
    segment = max(ranges(graph), key=lambda s: s.stop - s.first)
    return graph, plan_segments(graph, SCALAR, (segment,))


def test_the_replay_finds_a_row_too_few():
    graph, plan = _residual_plan()
    (segment,) = plan.segments
    ring = max(segment.rings.values(), key=lambda r: r.rows)
    assert ring.rows > 1
    less = replace(ring, rows=ring.rows - 1)
    broken = replace(segment, rings={**segment.rings, ring.name: less})
    with pytest.raises(VerifyError):
        check_plan(graph, plan.offsets, plan.arena_bytes, SCALAR, segments=(broken,))


def test_the_replay_finds_steps_in_a_wrong_order():
    graph, plan = _residual_plan()
    (segment,) = plan.segments
    steps = list(segment.steps)
    first, last = steps.index(next(s for s in steps if s.run)), len(steps) - 1
    steps[first], steps[last] = steps[last], steps[first]
    broken = replace(segment, steps=tuple(steps))
    with pytest.raises(VerifyError):
        check_plan(graph, plan.offsets, plan.arena_bytes, SCALAR, segments=(broken,))


def test_the_replay_finds_rings_on_each_other():
    graph, plan = _residual_plan()
    (segment,) = plan.segments
    offsets = dict(plan.offsets)
    rings = [name for name in segment.rings if name in offsets]
    offsets[rings[1]] = offsets[rings[0]]
    with pytest.raises(TinyrtError):
        check_plan(graph, offsets, plan.arena_bytes, SCALAR, segments=plan.segments)


@pytest.mark.slow
def test_the_peak_of_rows_names_the_op_and_what_is_kept_then(zoo):
    graph = read_tflite(zoo / "models" / "resnet8_int8.tflite")
    plan = plan_by_rows(graph, DSP)
    moment = plan.fullest()
    (segment,) = plan.segments
    assert segment.first <= moment.node < segment.stop
    assert sum(nbytes for _, nbytes in moment.sizes) == plan.lower_bound
    assert all(0 < nbytes <= plan.arena_bytes for _, nbytes in moment.sizes)
    with pytest.raises(BudgetError) as found:
        require_budget(graph, plan, 9_000)
    text = str(found.value)
    assert f"{graph.bind(moment.node).describe()}, row by row with #0 to #12" in text
    assert f"'{moment.sizes[0][0]}' {moment.sizes[0][1]:,}" in text


def expanded(code):
    """The steps that a loop's bytes stand for; there are no loops in loops here."""
    found, at = [], 0
    while at < len(code):
        if code[at] == AGAIN:
            rounds, back = code[at + 1], code[at + 2]
            found += found[len(found) - back + 1 :] * (rounds - 1)
            at += 3
        else:
            found.append(code[at])
            at += 1
    return found


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 254, 255, 256, 257, 510, 511, 700])
def test_repeated_steps_are_loops_of_rounds_that_a_byte_holds(count):
    period = [bytes([0x21]), bytes([0x22]), bytes([0x23])]
    for steps in (period * count, [bytes([0x24]), *period * count, bytes([0x25])]):
        code = _loops(steps)
        assert expanded(code) == list(b"".join(steps))
        assert len(code) < 40


@pytest.mark.parametrize("size", [253, 254, 255, 256])
def test_a_loop_is_as_long_as_a_byte_can_jump_back(size):
    body = [bytes([0x20 + n]) for n in np.random.default_rng(0).integers(0, 16, size)]
    code = _loops(body * 3)
    assert expanded(code) == list(b"".join(body * 3))
    assert (len(code) == size + 3) == (size < MOST)
