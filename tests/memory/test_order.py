"""Execution order: valid, never worse, and best where all orders can be tried."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import Builder, small_cnn
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.memory import order
from tinyrt.memory.order import peak_bytes, schedule
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.evaluate import evaluate


@st.composite
def branching_graphs(draw, most=7):
    """Random graphs of ops that widen, narrow and join."""
    b = Builder((1, draw(st.integers(1, 8))))
    names = ["x"]
    for _ in range(draw(st.integers(1, most))):
        a = draw(st.sampled_from(names))
        kind = draw(st.sampled_from(["widen", "narrow", "same", "join"]))
        if kind == "widen":
            names.append(b.op("concatenation", (a, a), ConcatenationAttrs(axis=1)))
        elif kind == "narrow":
            names.append(b.op("mean", (a,), MeanAttrs((1,), keep_dims=True)))
        elif kind == "same":
            names.append(b.op("tanh", (a,)))
        else:
            other = draw(st.sampled_from(names))
            names.append(b.op("concatenation", (a, other), ConcatenationAttrs(axis=1)))
    return b.graph(names[-1])


def _orders(graph):
    problem = order._Problem.of(graph)
    for candidate in permutations(range(len(graph.nodes))):
        done = 0
        for i in candidate:
            if problem.needs[i] & ~done:
                break
            done |= 1 << i
        else:
            yield problem.peak(candidate)


@settings(max_examples=60, deadline=None)
@given(branching_graphs())
def test_no_order_has_a_lower_peak(graph):
    scheduled = schedule(graph)  # verified: every input is defined before it is used
    assert peak_bytes(scheduled) == min(_orders(graph))
    x = np.linspace(-1, 1, graph.input_values[0].size, dtype=np.float32)[None]
    for before, after in zip(
        evaluate(graph, {"x": x}).values(), evaluate(scheduled, {"x": x}).values(), strict=True
    ):
        np.testing.assert_array_equal(before, after)


@settings(max_examples=30, deadline=None)
@given(branching_graphs(most=12))
def test_the_beam_is_never_worse_than_the_graph_s_own_order(graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "SEARCH_STATES", 0)
        assert peak_bytes(schedule(graph)) <= peak_bytes(graph)


@settings(max_examples=30, deadline=None)
@given(branching_graphs())
def test_a_beam_as_wide_as_all_orders_finds_the_best(graph):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "SEARCH_STATES", 0)
        patch.setattr(order, "BEAM", 128)
        assert peak_bytes(schedule(graph)) == min(_orders(graph))


def wide_branches(count=4):
    b = Builder((1, 8))
    wide = [b.op("concatenation", ("x",) * 16, ConcatenationAttrs(axis=1)) for _ in range(count)]
    narrow = [b.op("mean", (w,), MeanAttrs((1,), keep_dims=True)) for w in wide]
    total = narrow[0]
    for name in narrow[1:]:
        total = b.op("add", (total, name), AddAttrs())
    return b.graph(total)


@pytest.mark.parametrize("states", [0, order.SEARCH_STATES])
def test_wide_branches_are_finished_one_by_one(states, monkeypatch):
    """Of eight branches, a beam keeps some of the states alone."""
    monkeypatch.setattr(order, "SEARCH_STATES", states)
    graph = wide_branches(8)
    assert peak_bytes(graph) > 8 * 16 * 8 * 4
    assert peak_bytes(schedule(graph)) < 1.2 * 16 * 8 * 4


def test_of_equal_peaks_a_beam_follows_the_one_with_fewer_bytes_left(monkeypatch):
    """The input is the peak; behind it each wide branch needs its bytes twice to come to an end."""
    monkeypatch.setattr(order, "SEARCH_STATES", 0)
    monkeypatch.setattr(order, "BEAM", 1)
    b = Builder((1, 100))
    one = b.op("mean", ("x",), MeanAttrs((1,), keep_dims=True))
    wide = [b.op("concatenation", (one,) * 40, ConcatenationAttrs(axis=1)) for _ in range(2)]
    bent = [b.op("tanh", (w,)) for w in wide]
    graph = b.graph(*(b.op("mean", (y,), MeanAttrs((1,), keep_dims=True)) for y in bent))
    assert peak_bytes(graph) == 4 * 3 * 40
    assert peak_bytes(schedule(graph)) == 4 * (100 + 1)


def test_all_inputs_are_there_from_the_beginning_and_all_outputs_stay():
    b = Builder((1, 10), (1, 20))
    first, last = b.op("tanh", ("x",)), b.op("tanh", ("x1",))
    for outputs in ((first, last), (last, first)):
        assert peak_bytes(b.graph(*outputs)) == 4 * (10 + 20 + 20)


@pytest.mark.parametrize(("most", "same"), [(11, False), (10, True)])
def test_graphs_of_too_many_nodes_keep_their_order(most, same, monkeypatch):
    graph = wide_branches()
    assert len(graph.nodes) == 11
    monkeypatch.setattr(order, "MAX_NODES", most)
    assert (schedule(graph) is graph) is same


def test_where_no_search_ends_the_order_stays(monkeypatch):
    monkeypatch.setattr(order, "SEARCH_STEPS", 0)
    graph = wide_branches()
    assert schedule(graph) is not graph
    monkeypatch.setattr(order, "BEAM_STEPS", 0)
    assert schedule(graph) is graph


def test_an_order_that_is_best_already_stays():
    graph = small_cnn()
    assert schedule(graph) is graph


def test_a_graph_without_nodes_stays():
    graph = Builder((1, 4)).graph("x")
    assert schedule(graph) is graph


def test_zoo_models_keep_their_order(zoo):
    for path in sorted((zoo / "models").glob("*_int8.tflite")):
        graph = read_tflite(path)
        assert schedule(graph) is graph
