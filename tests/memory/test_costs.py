"""What planning itself takes: memory by what an arena consists of, time by what a graph does."""

import tracemalloc
from itertools import product
from random import Random

import numpy as np
import pytest

from benchmarks.nets import NETS, unet
from tests.graphs import Builder
from tests.memory.targets import SCALAR
from tests.ops.build import Case, build_f32
from tests.ops.cases import CASES
from tests.sampling import sampled
from tests.work import calls
from tinyrt.backends.numba.backend import prepare
from tinyrt.budget import limited
from tinyrt.errors import BudgetError
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.memory import order, plan_memory, schedule
from tinyrt.memory.arena import PLAN
from tinyrt.memory.check.contents import Content, Run
from tinyrt.memory.check.moves import moved_runs
from tinyrt.memory.indices import Steps, Table, ends_of
from tinyrt.memory.sweep import STEP
from tinyrt.ops import OPS
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs


def _peak(work) -> int:
    """Bytes that are held at once, beyond those at the start."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_large_activations_are_planned_in_little_memory():
    """A number for each byte, or a place for each element, would be eight times their bytes."""
    graph = unet(sampled(64, 192))
    activations = sum(v.nbytes for v in graph.values.values() if not v.is_constant)
    assert activations > sampled(0.9e6, 8e6)
    assert _peak(lambda: plan_memory(graph, SCALAR)) < sampled(4e6, 20e6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yolo_320", "deeplab_513"])
def test_kernels_are_prepared_without_tables_of_every_element(name):
    graph = NETS[name]()
    weights = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    placed = place_tensors(graph)
    program = prepare(graph, placed.tensors)
    assert program.packed_bytes < 2 * weights + 4e6


def _wide(count):
    b = Builder((1, 16))
    return b.graph(*(b.op("tanh", ("x",)) for _ in range(count)))


def _chain(count):
    b = Builder((1, 16))
    x = "x"
    for i in range(count):
        x = b.op("relu" if i % 2 else "tanh", (x,))
    return b.graph(x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "most"),
    [pytest.param(_wide, 7_000_000, marks=pytest.mark.whole), (_chain, 130_000)],
)
def test_graphs_of_hundreds_of_ops_are_planned_with_little_work(make, most):
    graph = make(120)
    assert calls(lambda: plan_memory(schedule(graph), SCALAR)) < most
    assert _peak(lambda: schedule(make(100))) < 30e6


@pytest.mark.slow
def test_what_crowds_the_arena_is_placed_as_it_is_needed():
    graph = _wide(1000)
    plan = plan_memory(graph, SCALAR)
    assert plan.arena_bytes == plan.lower_bound + 64


def test_more_ops_than_the_budget_allows_are_refused_at_once():
    graph = _chain(300)
    with limited(work=200 * PLAN), pytest.raises(BudgetError, match="planning 300 ops takes more"):
        plan_memory(graph, SCALAR)


def test_the_search_for_an_order_counts_its_steps(monkeypatch):
    taken = 0
    step = order._Problem.step

    def counted(problem, state, node):
        nonlocal taken
        taken += 1
        return step(problem, state, node)

    monkeypatch.setattr(order._Problem, "step", counted)
    b = Builder((1, 8))
    wide = [b.op("concatenation", ("x",) * 4, ConcatenationAttrs(1)) for _ in range(60)]
    schedule(b.graph(b.op("concatenation", tuple(wide), ConcatenationAttrs(1))))
    assert taken < order.SEARCH_STEPS + 3 * order.BEAM_STEPS


def test_ends_of_places_are_those_of_every_element():
    rng = Random(0)
    for _ in range(300):
        axes, every = [], [np.zeros(1, np.int64)]
        for _ in range(rng.randrange(1, 4)):
            count = rng.randrange(1, 6)
            if rng.random() < 0.5:
                first = rng.randrange(count)
                axes.append(
                    Steps(count, rng.randrange(-5, 6), first, rng.randrange(first, count + 1))
                )
                inside = range(first, axes[-1].stop)
                low = high = [
                    (i - first) * axes[-1].step if i in inside else None for i in range(count)
                ]
            else:
                low = [rng.randrange(20) for _ in range(count)]
                high = [n + rng.randrange(3) for n in low]
                axes.append(Table.of(np.array(low), np.array(high)))
            every.append(list(zip(low, high, strict=True)))
        elements = list(product(*every[1:]))
        start = rng.randrange(len(elements))
        stop = rng.randrange(start + 1, len(elements) + 1)
        read = [e for e in elements[start:stop] if all(a is not None for a, _ in e)]
        expected = None
        if read:
            expected = (
                min(sum(a for a, _ in e) for e in read),
                max(sum(b for _, b in e) for e in read),
            )
        assert ends_of(axes, start, stop) == expected


@pytest.mark.parametrize("op", ["slice", "concatenation", "reshape"])
def test_what_is_left_out_is_followed_as_the_reference_moves_it(op):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case: Case = CASES[op](rng)
        node = next(build_f32(case, rng).graph.bound())
        arrays, parts, first = [], [], 0
        for value in node.inputs:
            arrays.append(np.arange(first, first + value.size).reshape(value.shape))
            parts.append((Run(0, value.nbytes, Content(4 * first)),))
            first += value.size
        moved = OPS[op].ref_f32(node.attrs, *arrays).reshape(-1)
        found = np.concatenate(
            [run.content.first + np.arange(run.start, run.stop) for run in moved_runs(node, parts)]
        )
        assert np.array_equal(found[::4], 4 * moved)


@pytest.mark.slow
def test_steps_of_kernels_cost_work(monkeypatch):
    """Images of many rows: each op's are written down, however few of them are of use."""
    b = Builder((1, 4000, 1, 1))
    x = "x"
    for _ in range(10):
        x = b.op("max_pool2d", (x,), Pool2dAttrs((3, 1), (1, 1), "SAME"))
    graph = b.graph(x)
    work = PLAN * 20 + 60_000 * STEP
    with limited(work=work):
        plan_memory(graph, SCALAR, checked=False)
    monkeypatch.setattr("tinyrt.memory.sweep.MAX_STEPS", 3999)
    with limited(work=work // 4), pytest.raises(BudgetError, match="kernels read and write"):
        plan_memory(b.graph(x), SCALAR, checked=False)
