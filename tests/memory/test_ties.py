"""Slices and concatenations that move nothing: their bytes are in place already."""

from dataclasses import replace

import numpy as np
import pytest

from tests.c.host import build_program, run_program
from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tests.sampling import sampled
from tinyrt.errors import VerifyError
from tinyrt.export import export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, QParams
from tinyrt.memory import check_plan, plan_memory
from tinyrt.memory.arena import _Plans
from tinyrt.memory.placing.ties import slice_offset
from tinyrt.memory.plan import MemoryOptions
from tinyrt.memory.regions import assign
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.slice import SliceAttrs

JOIN = ConcatenationAttrs(axis=-2)


def _int8(graph):
    q = QParams((1 / 256,), -128)  # that of logistic
    return replace(
        graph, values={n: replace(v, dtype=DType.INT8, q=q) for n, v in graph.values.items()}
    )


def _rows(b, x, first, count):
    shape = b.values[x].shape
    return b.op("slice", (x,), SliceAttrs((0, first, 0), (1, count, shape[2]), (1, 1, 1)))


def split_and_joined():
    """Two halves of the input go their own ways and come together again."""
    b = Builder((1, 16, 8))
    top, bottom = (_rows(b, "x", first, 8) for first in (0, 8))
    joined = b.op("concatenation", (b.op("logistic", (bottom,)), b.op("relu", (top,))), JOIN)
    return _int8(b.graph(b.op("relu", (joined,))))


def test_parts_share_the_bytes_of_their_whole():
    graph = split_and_joined()
    plan = plan_memory(graph, SCALAR)
    ops = [graph.nodes[i].op for i in sorted(plan.idle)]
    assert ops == ["slice", "slice", "concatenation"]
    assert plan.offsets["slice_1"] == plan.offsets["x"] + 64
    assert plan.offsets["relu_3"] == plan.offsets["concatenation_4"] + 64
    assert plan.arena_bytes < plan_memory(graph, SCALAR, overlap=False).arena_bytes


@pytest.mark.parametrize("mode", ["beside", "arena"])
def test_c_code_leaves_them_out_and_answers_the_same(tmp_path, mode):
    graph = split_and_joined()
    x = np.arange(-64, 64, dtype=np.int8).reshape(1, 16, 8)
    project = export_graph(graph, tmp_path / "out")
    assert project.kernels == ("tinyrt_lut_s8",)
    found = run_program(build_program(project, tmp_path), project, {"x": x}, mode)
    for name, expected in evaluate(graph, {"x": x}).items():
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_the_host_answers_the_same(backend):
    graph = split_and_joined()
    x = np.arange(-64, 64, dtype=np.int8).reshape(1, 16, 8)
    interpreter = Interpreter.from_graph(graph, backend=backend)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(found, evaluate(graph, {"x": x})[graph.outputs[0]])


def test_a_join_in_place_that_costs_memory_is_a_copy():
    """The first part would have to wait within a large whole while something larger runs."""
    b = Builder((1, 4, 8))
    early = b.op("logistic", ("x",))
    wide = b.op("concatenation", ("x",) * 24, ConcatenationAttrs(axis=2))
    narrow = _rows(b, b.op("logistic", (wide,)), 0, 1)
    late = b.op("slice", (narrow,), SliceAttrs((0, 0, 0), (1, 1, 8), (1, 1, 1)))
    joined = b.op("concatenation", (early, *[b.op("relu", (late,)) for _ in range(3)]), JOIN)
    graph = _int8(b.graph(b.op("relu", (joined,))))
    plan = plan_memory(graph, SCALAR)
    assert plan.arena_bytes <= plan_memory(graph, SCALAR, overlap=False).arena_bytes


@pytest.mark.parametrize("seed", range(sampled(4, 6)))
def test_a_value_may_be_a_part_of_several_wholes(seed):
    """Its bytes are in one of them; which, the checker looks at behind every plan."""
    rng, b = np.random.default_rng(seed), Builder((1, 16, 8))
    values = [b.op("logistic", ("x",))]
    for _ in range(2):
        parts = [values[i] for i in rng.permutation(len(values))[:1]]
        values += [b.op("logistic", parts), _rows(b, "x", 0, 16)]
    joined = [
        b.op("concatenation", [values[i] for i in rng.permutation(len(values))[:2]], JOIN)
        for _ in range(4)
    ]
    whole = joined[0]
    for other in joined[1:]:
        whole = b.op("maximum", (whole, other))
    graph = _int8(b.graph(b.op("relu", (whole,))))
    plan = plan_memory(graph, SCALAR)
    assert plan.arena_bytes <= plan_memory(graph, SCALAR, overlap=False).arena_bytes


def pinned():
    """The middle of the input is read again once something nearly as large as the input is made."""
    b = Builder((1, 16, 8))
    middle = _rows(b, "x", 8, 1)
    wide = b.op("concatenation", (middle,) * 14, JOIN)
    largest = b.op("reduce_max", (wide,), ReduceAttrs((1,), keep_dims=True))
    return _int8(b.graph(b.op("maximum", (largest, middle))))


def test_a_slice_in_place_that_costs_memory_is_a_copy():
    plan = plan_memory(pinned(), SCALAR)
    assert plan.idle == set()
    assert plan.arena_bytes == 16 * 8


@pytest.mark.parametrize(("graph", "plans"), [(split_and_joined(), 3), (pinned(), 2)])
def test_plans_that_can_be_no_smaller_are_not_searched_for(monkeypatch, graph, plans):
    """By the lower bound, which is known before any plan: of five and of three."""
    found = []

    def watched(*arguments):
        found.append(arguments)
        return assign(*arguments)

    monkeypatch.setattr("tinyrt.memory.arena.assign", watched)
    plan_memory(graph, SCALAR)
    assert len(found) == plans


@pytest.mark.parametrize("most", [2, 3])
def test_of_few_that_are_left_out_each_is_tried_alone(most, monkeypatch):
    """Three are: a plan with all, one with none and, where so many are few, three without one."""
    graph = split_and_joined()
    assert len(plan_memory(graph, SCALAR).idle) == 3
    tried = []

    def watched(self, chosen, problem):
        tried.append(set(chosen))
        return plan_of(self, chosen, problem)

    plan_of = _Plans._plan
    monkeypatch.setattr(_Plans, "_plan", watched)
    monkeypatch.setattr("tinyrt.memory.placing.problem.Problem.lower_bound", lambda self: 0)
    monkeypatch.setattr("tinyrt.memory.arena.MAX_DROPPED", most)
    plan_memory(graph, SCALAR)
    every, *others = tried
    assert others == [set(), *([every - {i} for i in sorted(every)] if most == 3 else [])]


def test_beyond_the_limit_of_pairs_the_first_plan_is_taken(monkeypatch):
    monkeypatch.setattr("tinyrt.memory.arena.MAX_PAIRS_PLANNED", 0)
    plan = plan_memory(pinned(), SCALAR)
    assert plan.idle == {0}
    assert plan.arena_bytes > 16 * 8


def test_parts_of_an_input_outside_the_arena_are_copied_into_it():
    graph = split_and_joined()
    plan = plan_memory(graph, SCALAR, options=MemoryOptions(outside=frozenset({"x"})))
    assert "x" not in plan.offsets
    assert [graph.nodes[i].op for i in plan.idle] == ["concatenation"]
    assert plan.arena_bytes == 16 * 8


def test_a_part_of_a_part_lies_in_the_whole():
    b = Builder((1, 16, 8))
    middle = _rows(b, "x", 4, 8)
    low = b.op("reshape", (_rows(b, middle, 3, 4),), ReshapeAttrs((1, 32)))
    graph = _int8(b.graph(b.op("relu", (low,)), b.op("logistic", ("x",))))
    plan = plan_memory(graph, SCALAR)
    assert plan.idle == {0, 1, 2}
    assert plan.views == {"slice_0": ("x", 32), "slice_1": ("x", 56), "reshape_2": ("x", 56)}
    at = plan.offsets["x"]
    assert (plan.offsets["slice_0"], plan.offsets["reshape_2"]) == (at + 32, at + 56)


def test_the_checker_finds_a_part_that_lies_elsewhere():
    graph = split_and_joined()
    plan = plan_memory(graph, SCALAR)
    moved = plan.offsets | {"slice_1": plan.offsets["slice_1"] - 8}
    with pytest.raises(VerifyError, match="overwritten"):
        check_plan(graph, moved, plan.arena_bytes, SCALAR, idle=plan.idle)


@pytest.mark.parametrize(
    ("begin", "size", "strides", "offset"),
    [
        ((0, 2, 0), (1, 3, 8), (1, 1, 1), 64),
        ((0, 2, 4), (1, 1, 4), (1, 1, 1), 80),
        ((0, 0, 0), (1, 8, 4), (1, 1, 1), None),
        ((0, 0, 0), (1, 4, 8), (1, 2, 1), None),
        ((0, 7, 0), (1, 8, 8), (1, -1, 1), None),
        ((1, 0, 0), (1, 8, 8), (1, 1, 1), 256),
    ],
)
def test_which_slices_are_in_one_piece(begin, size, strides, offset):
    b = Builder((2, 8, 8))
    (node,) = b.graph(b.op("slice", ("x",), SliceAttrs(begin, size, strides))).bound()
    assert slice_offset(node) == offset
