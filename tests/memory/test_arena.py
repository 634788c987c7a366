"""The arena plan: nothing overlaps, the checker sees what does, budgets hold."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import Builder, small_cnn
from tests.memory.targets import DSP, SCALAR
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import VerifyError
from tinyrt.ir import Node, Value
from tinyrt.memory import ArenaPlan, Buffer, check_plan, plan_memory
from tinyrt.memory.kernels import NoKernels
from tinyrt.memory.placing import exact, problem
from tinyrt.memory.placing.place import place, place_in_order
from tinyrt.memory.placing.problem import ALIGNMENT, Problem
from tinyrt.memory.plan import MemoryOptions
from tinyrt.ops import OPS
from tinyrt.ops.detection_postprocess import DetectionPostprocessAttrs
from tinyrt.ops.reshape import ReshapeAttrs

ARENA_BYTES = {
    "resnet8": 35_840,
    "dscnn_kws": 8_256,
    "mobilenet_vww": 36_912,
    "autoencoder_ad": 768,
    "streaming_wakeword": 3_744,
}
"""Activations and the scratch memory of the kernels for DSP cores."""


@st.composite
def buffer_lists(draw, most=24):
    count = draw(st.integers(1, most))
    found = []
    for i in range(count):
        first = draw(st.integers(-1, 20))
        last = draw(st.integers(first, 22))
        found.append(Buffer((f"b{i}",), draw(st.integers(1, 4000)), first, last))
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(buffer_lists(), st.data())
def test_bytes_in_use_are_those_of_all_buffers_together(found, data):
    offsets = {b.names[0]: data.draw(st.integers(0, 6000)) for b in found}
    plan = ArenaPlan(offsets, 10_000, 0, tuple(found))
    held = [set() for _ in range(24)]
    for b in found:
        start = offsets[b.names[0]]
        for step in range(max(b.first, 0), max(b.last, 0) + 1):
            held[step].update(range(start, start + b.nbytes))
    assert plan.alive_bytes(24) == [len(bytes_) for bytes_ in held]


@pytest.mark.parametrize("pairs", [problem.MAX_PAIRS, -1])
@settings(max_examples=60, deadline=None)
@given(buffer_lists())
def test_live_buffers_never_overlap(pairs, found):
    """Nor where there are too many to place them in any but one order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "MAX_PAIRS", pairs)
        crowd = Problem(found, {})
    assert crowd.crowded is (pairs < 0)
    placement = place(crowd)
    at = placement.offsets
    for (i, a), (j, b) in combinations(enumerate(found), 2):
        if a.alive_with(b):
            assert at[i] + a.nbytes <= at[j] or at[j] + b.nbytes <= at[i]
    assert all(offset % ALIGNMENT == 0 for offset in at)
    assert placement.nbytes >= placement.lower_bound >= crowd.lower_bound()
    if placement.optimal:
        assert placement.nbytes == place(Problem(found, {})).nbytes


CROWDS = {
    "one gap for one": ([(8, 0, 1), (8, 2, 3), (8, 1, 3)], [0, 0, 8], True),
    "the first that is large enough": (
        [(8, 0, 1), (8, 0, 9), (12, 0, 1), (8, 0, 9), (12, 2, 9), (8, 2, 9)],
        [12, 20, 0, 28, 0, 12],
        True,
    ),
    "a gap that is too small stays": ([(8, 0, 1), (4, 0, 9), (12, 2, 9)], [0, 8, 12], False),
    "out of order": ([(8, 2, 3), (16, 0, 1), (4, 2, 3)], [0, 0, 8], True),
    "a gap of two": ([(8, 0, 1), (16, 0, 1), (4, 0, 9), (24, 2, 9)], [16, 0, 24, 0], True),
}
"""Size, first and last step of each buffer; the offsets; and whether they are known to be best."""


@pytest.mark.parametrize("name", CROWDS)
def test_a_crowd_is_placed_as_it_comes(name, monkeypatch):
    """At each step the largest first, in the lowest gap that is large enough."""
    monkeypatch.setattr(problem, "MAX_PAIRS", 0)
    sizes, offsets, optimal = CROWDS[name]
    found = [Buffer((f"b{i}",), *buffer) for i, buffer in enumerate(sizes)]
    placement = place(Problem(found, {}))
    assert (placement.offsets, placement.optimal) == (offsets, optimal)
    assert placement.nbytes == max(at + b.nbytes for at, b in zip(offsets, found, strict=True))


@settings(max_examples=40, deadline=None)
@given(buffer_lists(most=6))
def test_small_problems_are_solved_exactly(found):
    problem = Problem(found, {})
    every_order = (place_in_order(problem, p) for p in permutations(range(len(found))))
    best = min(problem.size(at) for at in every_order)
    assert place(problem).nbytes == best


@pytest.mark.parametrize("seed", range(8))
def test_lower_bounds_make_proofs_short(seed, monkeypatch):
    """The bytes of the fullest step, not of any other, rule out what would be tried in vain."""
    for limit in ("SEARCH_WORK", "PROOF_WORK"):
        monkeypatch.setattr(exact, limit, 4_000)
    rng, found = np.random.default_rng(seed), []
    for i in range(9):
        first = int(rng.integers(0, 6))
        last = int(rng.integers(first, 7))
        found.append(Buffer((f"b{i}",), int(rng.integers(1, 60)) * 16, first, last))
    problem = Problem(found, {})
    by_size = sorted(range(9), key=lambda i: -found[i].nbytes)
    start = place_in_order(problem, by_size)
    _, is_proven = exact.search(problem, start, problem.lower_bound() - 1)
    assert is_proven


def test_the_plan_places_every_activation_and_nothing_else():
    graph = small_cnn()
    plan = plan_memory(graph, SCALAR)
    activations = {n for n, v in graph.values.items() if not v.is_constant}
    assert set(plan.offsets) == activations
    assert plan.lower_bound <= plan.arena_bytes


def test_a_reshape_shares_its_input_bytes():
    graph = small_cnn()
    plan = plan_memory(graph, SCALAR)
    reshape = next(n for n in graph.nodes if n.op == "reshape")
    assert plan.offsets[reshape.inputs[0]] == plan.offsets[reshape.outputs[0]]


def test_a_reshape_to_a_model_output_has_bytes_of_its_own():
    b = Builder((1, 6))
    flat = b.op("reshape", ("x",), ReshapeAttrs((6, 1)))
    plan = plan_memory(b.graph(flat), SCALAR)
    assert plan.offsets["x"] != plan.offsets[flat]


def test_a_constant_that_is_reshaped_stays_outside_and_its_copy_has_bytes():
    b = Builder((1, 6))
    k = b.constant(np.ones((2, 3), np.float32))
    flat = b.op("reshape", (k,), ReshapeAttrs((1, 6)))
    plan = plan_memory(b.graph(b.op("maximum", ("x", flat))), SCALAR)
    assert plan.offsets.keys() == {"x", "reshape_0", "maximum_1"}
    assert plan.arena_bytes == 2 * 24


def test_the_checker_finds_an_overwritten_tensor():
    graph = small_cnn()
    plan = plan_memory(graph, SCALAR)
    add = next(n for n in graph.nodes if n.op == "add")
    # The skip branch moved onto the convolution that runs while it waits.
    offsets = plan.offsets | {add.inputs[0]: plan.offsets[add.inputs[1]]}
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, offsets, 2 * plan.arena_bytes, SCALAR)


def test_the_checker_finds_a_tensor_outside_the_arena():
    graph = small_cnn()
    plan = plan_memory(graph, SCALAR)
    with pytest.raises(VerifyError, match="takes bytes"):
        check_plan(graph, plan.offsets, plan.arena_bytes - 1, SCALAR)


def test_every_output_of_an_op_is_kept_to_its_last_reader():
    b = Builder((1, 3, 4), (1, 3, 2))
    inputs = "x", "x1", b.constant(np.ones((3, 4), np.float32))
    attrs = DetectionPostprocessAttrs(2, 1, 0.1, 0.5, 1.0, 1.0, 1.0, 1.0)
    types = OPS["detection_postprocess"].infer(attrs, [b.values[name].type for name in inputs])
    outputs = "boxes", "classes", "scores", "count"
    for name, kind in zip(outputs, types, strict=True):
        b.values[name] = Value(name, kind.dtype, kind.shape)
    b.nodes.append(Node("detection_postprocess", "best", inputs, outputs, attrs))
    graph = b.graph(b.op("tanh", ("boxes",)), b.op("neg", ("classes",)), "count")
    plan = plan_memory(graph, NoKernels())
    lives = {buffer.names[0]: (buffer.first, buffer.last) for buffer in plan.buffers}
    assert lives == {
        **{"x": (-1, 0), "x1": (-1, 0), "boxes": (0, 1), "classes": (0, 2)},
        **{"scores": (0, 0), "count": (0, 3), "tanh_1": (1, 3), "neg_2": (2, 3)},
    }
    for name, other in [("classes", "tanh_1"), ("count", "neg_2"), ("scores", "classes")]:
        moved = plan.offsets | {name: plan.offsets[other]}
        with pytest.raises(VerifyError, match="overwritten"):
            check_plan(graph, moved, plan.arena_bytes, NoKernels())
    with pytest.raises(VerifyError, match="'scores' takes bytes"):
        check_plan(graph, plan.offsets | {"scores": 998}, 1000, NoKernels())


def test_what_is_reshaped_outside_the_arena_stays_outside():
    b = Builder((1, 6))
    y = b.op("tanh", (b.op("reshape", ("x",), ReshapeAttrs((6, 1))),))
    plan = plan_memory(b.graph(y), SCALAR, options=MemoryOptions(outside=frozenset({"x"})))
    assert plan.offsets == {y: 0}
    assert plan.outside == {"x", "reshape_0"}
    assert plan.views == {"reshape_0": ("x", 0)}


def test_model_outputs_survive_to_the_end():
    b = Builder((1, 8))
    early = b.op("tanh", ("x",))
    late = b.op("relu", (b.op("logistic", ("x",)),))
    graph = b.graph(early, late)
    plan = plan_memory(graph, SCALAR)
    assert plan.offsets[early] != plan.offsets[late]
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, plan.offsets | {late: plan.offsets[early]}, plan.arena_bytes, SCALAR)


@pytest.mark.parametrize(("name", "limit"), ARENA_BYTES.items())
def test_arena_budget(zoo, name, limit):
    graph = read_tflite(zoo / "models" / f"{name}_int8.tflite")
    assert plan_memory(graph, DSP).arena_bytes <= limit


def test_planning_is_deterministic():
    graph = small_cnn()
    shuffled = replace(graph, values=dict(reversed(graph.values.items())))
    assert plan_memory(graph, SCALAR).offsets == plan_memory(shuffled, SCALAR).offsets


LIVES = {
    "an input that nothing reads": [("x", 8, -1, -1), ("y", 4, 0, 1)],
    "an input that the first op reads": [("x", 8, -1, 0), ("y", 8, 0, 1)],
    "equal moments": [("a", 4, 0, 0), ("b", 6, 1, 1), ("c", 6, 2, 2), ("d", 2, 3, 3)],
    "the last of all": [("a", 4, 0, 3), ("b", 1, 2, 3)],
    "bytes that two share": [("a", 8, 0, 1), ("b", 4, 1, 2)],
}
STARTS = {"bytes that two share": {"a": 0, "b": 4}}


@pytest.mark.parametrize("name", LIVES)
def test_bytes_are_alive_from_the_first_step_to_the_last_and_the_first_full_one_is_told(name):
    found = [Buffer((what,), n, first, last) for what, n, first, last in LIVES[name]]
    ends = [sum(b.nbytes for b in found[:i]) for i in range(len(found))]
    offsets = STARTS.get(name) or {b.names[0]: end for b, end in zip(found, ends, strict=True)}
    plan = ArenaPlan(offsets, 99, 0, tuple(found))
    alive = []
    for step in range(4):  # an input is alive before the first step, and so at it
        live = [b for b in found if max(b.first, 0) <= step <= max(b.last, 0)]
        alive.append(len({offsets[b.names[0]] + i for b in live for i in range(b.nbytes)}))
    assert plan.alive_bytes(4) == alive
    steps = 1 + max(0, *(b.first for b in found))
    assert plan.fullest().node == int(np.argmax(alive[:steps]))
