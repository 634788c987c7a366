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
from tinyrt.memory import ArenaPlan, Buffer, check_plan, plan_memory
from tinyrt.memory.placing import exact
from tinyrt.memory.placing.place import place, place_in_order
from tinyrt.memory.placing.problem import ALIGNMENT, Problem
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


@settings(max_examples=60, deadline=None)
@given(buffer_lists())
def test_live_buffers_never_overlap(found):
    problem = Problem(found, {})
    placement = place(problem)
    at = placement.offsets
    for (i, a), (j, b) in combinations(enumerate(found), 2):
        if a.alive_with(b):
            assert at[i] + a.nbytes <= at[j] or at[j] + b.nbytes <= at[i]
    assert all(offset % ALIGNMENT == 0 for offset in at)
    assert placement.nbytes >= placement.lower_bound >= problem.lower_bound()


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
