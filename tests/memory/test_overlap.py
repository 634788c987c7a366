"""Outputs that reach into their op's input: distances, directions, and how the checker sees it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tests.ops.build import Case, build_s8
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, QParams
from tinyrt.memory import check_plan, plan_memory
from tinyrt.memory.indices import Steps
from tinyrt.memory.kernels import NoKernels
from tinyrt.memory.placing.overlap import lead_of, starts_together
from tinyrt.memory.sweep import (
    SweepStep,
    columns,
    elementwise,
    in_order,
    planes_by_lines,
    planes_by_rows,
    windows,
)
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs, window_of


def _pools(*layers, shape=(1, 12, 6, 4)):
    """A chain of int8 max poolings: (kernel, stride, padding) each."""
    b = Builder(shape)
    x = "x"
    for kernel, stride, padding in layers:
        x = b.op("max_pool2d", (x,), Pool2dAttrs((kernel,) * 2, (stride,) * 2, padding))
    graph = b.graph(x)
    q = QParams((0.1,), 0)
    values = {n: replace(v, dtype=DType.INT8, q=q) for n, v in graph.values.items()}
    return replace(graph, values=values)


def depthwise_graph(shape):
    """One int8 depthwise convolution of 3 x 3, from x to out."""
    case = Case(
        "depthwise_conv2d",
        DepthwiseConv2dAttrs(stride=(1, 1), padding="SAME"),
        (shape, (1, 3, 3, shape[3]), (shape[3],)),
        frozenset({1, 2}),
    )
    return build_s8(case, np.random.default_rng(0)).graph


def _bytes(graph):
    return [graph.value(n).nbytes for n in (*graph.inputs, *(n.outputs[0] for n in graph.nodes))]


def test_element_wise_ops_run_in_place():
    b = Builder((1, 64))
    graph = b.graph(b.op("tanh", (b.op("relu", ("x",)),)))
    assert plan_memory(graph, SCALAR).arena_bytes == 256
    assert plan_memory(graph, SCALAR, overlap=False).arena_bytes == 512
    assert plan_memory(graph, NoKernels()).arena_bytes == 512


def test_a_constant_in_a_join_is_written_ahead_and_read_from_nowhere():
    b = Builder((1, 8))
    k = b.constant(np.ones((1, 4), np.float32))
    graph = b.graph(b.op("concatenation", (k, b.op("tanh", ("x",))), ConcatenationAttrs(1)))
    sweep = SCALAR.sweep(graph.bind(1))
    assert {step.reads[0] for step in sweep} == {None}
    assert lead_of(sweep, 1) == (4 + 1) * 4
    assert plan_memory(graph, SCALAR).arena_bytes == (4 + 1 + 8) * 4


def test_where_there_are_too_many_steps_nothing_overlaps(monkeypatch):
    """Rows of two poolings: 12 steps each."""

    def planned():  # leads are found once for each graph
        return plan_memory(_pools((3, 1, "SAME"), (3, 1, "SAME")), SCALAR).arena_bytes

    x, y, z = _bytes(_pools((3, 1, "SAME"), (3, 1, "SAME")))
    assert planned() < x + y
    with monkeypatch.context() as patched:
        patched.setattr("tinyrt.memory.sweep.MAX_STEPS", 11)
        assert planned() == x + y
        patched.setattr("tinyrt.memory.sweep.MAX_STEPS", 12)
        assert planned() < x + y
    # The first one's are counted.
    monkeypatch.setattr("tinyrt.memory.placing.overlap.MAX_SWEPT", 11)
    assert planned() == max(x, y + z)


@pytest.mark.parametrize("count", [3, 64, 65, 1000])
def test_what_is_moved_or_computed_by_element_takes_few_steps(count):
    b = Builder((1, count))
    (node,) = b.graph(b.op("add", ("x", "x"), AddAttrs())).bound()
    places = [[Steps(count, 1)]] * 2
    for sweep, most in ((elementwise(node), 65), (in_order(node, places), 64)):
        assert min(count, 32) <= len(sweep) <= most
        assert [step.writes[0] for step in sweep[1:]] == [step.writes[1] for step in sweep[:-1]]
        assert (sweep[0].writes[0], sweep[-1].writes[1]) == (0, node.output.nbytes)


def test_a_repeating_input_is_whole_until_the_last_element():
    """Elements are swept some at a time, but kernels read what repeats for every single one."""
    b = Builder((1, 90))
    x = b.op("tanh", ("x",))
    few = b.op("reduce_max", (x,), ReduceAttrs((0, 1), keep_dims=True))
    y = b.op("add", (few, x), AddAttrs())
    graph = b.graph(y)
    sweep = SCALAR.sweep(list(graph.bound())[2])
    assert lead_of(sweep, 0) == 89 * 4


def test_an_add_writes_over_the_input_that_dies():
    b = Builder((1, 64))
    branch = b.op("tanh", ("x",))
    graph = b.graph(b.op("add", ("x", branch), AddAttrs()))
    assert plan_memory(graph, SCALAR).arena_bytes == 512


def test_a_repeated_input_is_never_overwritten():
    b = Builder((1, 8, 8), (1, 1, 8))
    graph = b.graph(b.op("add", ("x", "x1"), AddAttrs()))
    plan = plan_memory(graph, SCALAR)
    assert plan.offsets["add_0"] == plan.offsets["x"]
    assert plan.arena_bytes == (64 + 8) * 4


def test_a_window_keeps_the_rows_that_are_still_read():
    graph = _pools((3, 1, "SAME"))
    row = 6 * 4
    # Row oy reads rows oy - 1 to oy + 1: the output may begin two rows before the input.
    assert plan_memory(graph, SCALAR).arena_bytes == 12 * row + 2 * row


@pytest.mark.parametrize("stride", [1, 2])
def test_rows_that_are_copied_first_let_the_output_begin_where_the_input_does(stride):
    (node,) = _pools((3, stride, "SAME")).bound()
    window, nbytes = window_of(node.attrs, node.input(0).shape), node.input(0).nbytes
    assert starts_together(planes_by_rows(node, window, copied=True), 0, nbytes)
    # Rows that are read in place must be behind the output: those of stride 2 are.
    in_place = planes_by_rows(node, window, copied=False)
    assert starts_together(in_place, 0, nbytes) == (stride == 2)


def test_matrix_rows_that_are_copied_first_may_narrow_in_place_and_widen_ahead():
    b = Builder((1, 4, 4, 8))
    narrow = b.op("mean", ("x",), MeanAttrs((3,), keep_dims=True))
    (node,) = b.graph(narrow).bound()
    assert lead_of(columns(node, rows=16, at_once=2), 0) == 0
    x, y = node.input(0), node.output
    widening = replace(node, inputs=(y,), outputs=(x,))
    last_pair = x.nbytes - y.nbytes * 14 // 16
    assert lead_of(columns(widening, rows=16, at_once=2), 0) <= last_pair


@pytest.mark.parametrize("down", [False, True])
def test_planes_of_channels_are_overwritten_in_place(down):
    (node,) = _pools((3, 1, "SAME")).bound()
    sweep = planes_by_lines(node, window_of(node.attrs, node.input(0).shape), down)
    assert starts_together(sweep, 0, node.input(0).nbytes)
    # Without the copy of the line before, the next line would read what was overwritten.
    assert not starts_together(windows(node, window_of(node.attrs, node.input(0).shape)), 0, 288)


@dataclass(frozen=True)
class Planes(NoKernels):
    """A kernel that sweeps over four planes, in each over its input from this end."""

    from_behind: bool = False

    def sweep(self, node):
        spans = [(0, 8), (8, 16)]
        reads = reversed(spans) if self.from_behind else spans
        return tuple(SweepStep((r,), w, True, 4) for r, w in zip(reads, spans, strict=True))


@pytest.mark.parametrize("from_behind", [False, True])
def test_planes_lie_on_their_input_only_where_they_stay_behind_what_is_read(from_behind):
    b = Builder((1, 1, 1, 4))
    graph = b.graph(b.op("relu", ("x",)))
    plan = plan_memory(graph, Planes(from_behind=from_behind))
    assert plan.arena_bytes == 16 * (1 + from_behind)


def test_the_replay_finds_a_plane_on_another_one():
    graph = depthwise_graph((1, 8, 6, 4))
    plan = plan_memory(graph, SCALAR)
    assert plan.offsets["out"] == plan.offsets["in0"]
    assert plan.arena_bytes == 8 * 6 * 4 + 8
    shifted = plan.offsets | {"out": plan.offsets["in0"] + 2}
    with pytest.raises(VerifyError, match="another plane"):
        check_plan(graph, shifted, plan.arena_bytes + 2, SCALAR)


LAYERS = st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2]), st.just("SAME"))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(LAYERS, min_size=1, max_size=6))
def test_plans_pass_the_replay_and_are_never_worse(layers):
    graph = _pools(*layers)
    overlapping = plan_memory(graph, SCALAR)  # replays the plan
    apart = plan_memory(graph, SCALAR, overlap=False)
    assert overlapping.lower_bound <= overlapping.arena_bytes <= apart.arena_bytes
    assert overlapping.arena_bytes >= max(_bytes(graph))


def test_the_replay_finds_one_row_too_few():
    graph = _pools((3, 1, "SAME"))
    plan = plan_memory(graph, SCALAR)
    (output,) = graph.outputs
    row = 6 * 4
    assert plan.offsets["x"] - plan.offsets[output] == 2 * row
    closer = plan.offsets | {"x": plan.offsets["x"] - row}
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, closer, plan.arena_bytes, SCALAR)


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
        steps.append(SweepStep((read,), (int(start), int(stop)), bool(rng.integers(2))))
    assert starts_together(tuple(steps), 0, size) == _safe(steps, 0)
    lead = lead_of(tuple(steps), 0)
    for distance in range(-2 * size, -lead + 1):
        assert _safe(steps, distance)


def _safe(steps, distance):
    """Whether no step writes a byte of the input that it or a later step reads."""
    for t, step in enumerate(steps):
        written = set(range(step.writes[0] + distance, step.writes[1] + distance))
        for later in steps[t + 1 if step.reads_first else t :]:
            if written & set(range(*later.reads[0])):
                return False
    return True
