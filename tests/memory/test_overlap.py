"""Outputs that reach into their op's input: distances, directions, and how the checker sees it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import Builder
from tinyrt import ops
from tinyrt.errors import VerifyError
from tinyrt.memory import check_plan, plan_memory
from tinyrt.memory.overlap import leads_of
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.pool import Pool2dAttrs, window_of
from tinyrt.ops.sweep import Step, Sweep, rows_of


@pytest.fixture
def swept_pools(monkeypatch):
    """Poolings that may overlap their input row by row, either way."""
    rows = rows_of(lambda node: window_of(node.attrs, node.input(0).shape))
    monkeypatch.setitem(ops.OPS, "max_pool2d", replace(ops.OPS["max_pool2d"], sweep=rows))


def _pools(*layers, shape=(1, 12, 6, 4)):
    """A chain of max poolings: (kernel, stride, padding) each."""
    b = Builder(shape)
    x = "x"
    for kernel, stride, padding in layers:
        x = b.op("max_pool2d", (x,), Pool2dAttrs((kernel,) * 2, (stride,) * 2, padding))
    return b.graph(x)


def _bytes(graph):
    return [graph.value(n).nbytes for n in (*graph.inputs, *(n.outputs[0] for n in graph.nodes))]


def test_element_wise_ops_run_in_place():
    b = Builder((1, 64))
    graph = b.graph(b.op("tanh", (b.op("relu", ("x",)),)))
    assert plan_memory(graph).arena_bytes == 256
    assert plan_memory(graph, overlap=False).arena_bytes == 512


def test_an_add_writes_over_the_input_that_dies():
    b = Builder((1, 64))
    branch = b.op("tanh", ("x",))
    graph = b.graph(b.op("add", ("x", branch), AddAttrs()))
    assert plan_memory(graph).arena_bytes == 512


def test_a_repeated_input_is_never_overwritten():
    b = Builder((1, 8, 8), (1, 1, 8))
    graph = b.graph(b.op("add", ("x", "x1"), AddAttrs()))
    plan = plan_memory(graph)
    assert plan.offsets["add_0"] == plan.offsets["x"]
    assert plan.arena_bytes == (64 + 8) * 4


def test_a_window_keeps_the_rows_that_are_still_read(swept_pools):
    graph = _pools((3, 1, "SAME"))
    row = 6 * 4 * 4
    # Row oy reads rows oy - 1 to oy + 1: the output may begin two rows before the input.
    assert plan_memory(graph).arena_bytes == 12 * row + 2 * row


def test_a_chain_sweeps_to_and_fro(swept_pools):
    graph = _pools(*[(3, 1, "SAME")] * 6)
    plan = plan_memory(graph)
    row = 6 * 4 * 4
    assert plan.arena_bytes == plan.lower_bound == 14 * row
    assert 0 < len(plan.backward) < 6


LAYERS = st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]), st.just("SAME"))


@settings(max_examples=60, deadline=None)
@given(st.lists(LAYERS, min_size=1, max_size=6))
def test_plans_pass_the_replay_and_are_never_worse(layers):
    with pytest.MonkeyPatch.context() as patch:
        rows = rows_of(lambda node: window_of(node.attrs, node.input(0).shape))
        patch.setitem(ops.OPS, "max_pool2d", replace(ops.OPS["max_pool2d"], sweep=rows))
        graph = _pools(*layers)
        overlapping = plan_memory(graph)  # replays the plan
        apart = plan_memory(graph, overlap=False)
        assert overlapping.lower_bound <= overlapping.arena_bytes <= apart.arena_bytes
        assert overlapping.arena_bytes >= max(_bytes(graph))


def test_the_replay_finds_one_row_too_few(swept_pools):
    graph = _pools((3, 1, "SAME"))
    plan = plan_memory(graph)
    (output,) = graph.outputs
    row = 6 * 4 * 4
    distance = plan.offsets[output] - plan.offsets["x"]
    assert abs(distance) == 2 * row
    closer = plan.offsets | {output: plan.offsets["x"] + distance // 2}
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, closer, plan.arena_bytes, backward=plan.backward)
    other_way = {0} - plan.backward
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, plan.offsets, plan.arena_bytes, backward=other_way)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_distances_are_the_least_that_are_safe(seed):
    """Against a byte-by-byte simulation of random sweeps."""
    rng = np.random.default_rng(seed)
    size, count = 24, int(rng.integers(1, 6))
    cuts = np.sort(rng.integers(0, size + 1, count - 1))
    writes = list(zip([0, *cuts], [*cuts, size], strict=True))
    steps = []
    for start, stop in writes:
        low = int(rng.integers(0, size))
        read = (low, int(rng.integers(low, size)) + 1)
        steps.append(Step((read,), (int(start), int(stop)), bool(rng.integers(2))))
    sweep = Sweep(tuple(steps), reversible=True)
    found = leads_of(sweep, 0)
    for distance in range(-size, size + 1):
        forwards = _safe(sweep.steps, distance)
        backwards = _safe(sweep.steps[::-1], distance)
        if found.allows(distance):
            assert backwards if found.is_backward(distance) else forwards
    assert _safe(sweep.steps, -found.before)


def _safe(steps, distance):
    """Whether no step writes a byte of the input that it or a later step reads."""
    for t, step in enumerate(steps):
        written = set(range(step.writes[0] + distance, step.writes[1] + distance))
        for later in steps[t + 1 if step.reads_first else t :]:
            if written & set(range(*later.reads[0])):
                return False
    return True
