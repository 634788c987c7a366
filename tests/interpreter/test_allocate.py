"""Which backend is tried, and what each asks of the places of tensors."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.interpreter.test_calls import counting
from tinyrt.budget import Budget, current
from tinyrt.errors import BudgetError
from tinyrt.interpreter import allocate, native
from tinyrt.interpreter.backends import EVERY_BACKEND, candidates
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.ir import DType, QParams, Value

ASKS = {
    "cuda": (False, False, True),
    "cuda+cpu": (False, True, False),
    "native": (False, False, False),
    "numba": (False, False, False),
    "reference": (True, False, False),
}
"""Backend -> whether outputs lie on inputs, all tensors apart, and outputs apart."""


@pytest.mark.parametrize("backend", sorted(EVERY_BACKEND))
@pytest.mark.parametrize("apart", [False, True])
def test_tensors_lie_as_the_backend_needs_them(backend, apart, monkeypatch):
    asked, place = {}, allocate.place_tensors

    def watched(graph, **choices):
        asked.update(choices)
        return place(graph, **choices)

    monkeypatch.setattr(allocate, "place_tensors", watched)
    monkeypatch.setitem(EVERY_BACKEND, backend, lambda graph, tensors: (graph, tensors))
    graph, budget = small_cnn(), current()
    program, placed = allocate.allocate(
        graph, graph, backend, threads=1, apart=apart, budget=budget, plan=None
    )
    overlap, always_apart, outputs_apart = ASKS[backend]
    assert asked == {
        "overlap": overlap,
        "apart": apart or always_apart,
        "outputs_apart": outputs_apart,
        "budget": budget,
        "plan": None,
    }
    assert program == (graph, placed.tensors)


@pytest.mark.parametrize("graph", [small_cnn(), counting()], ids=["one by one", "with a state"])
@pytest.mark.parametrize("ways", [{}, {"apart": True}, {"outputs_apart": True}], ids=str)
def test_nothing_is_allocated_where_a_byte_is_missing(graph, ways):
    enough = Budget()
    placed = place_tensors(graph, budget=enough, **ways)
    exact, missing = (Budget(enough.memory_used - less) for less in (0, 1))
    with pytest.raises(BudgetError) as found:
        place_tensors(graph, budget=missing, **ways)
    assert found.value.tensor == "inputs and arena"
    assert missing.memory_used == 0
    again = place_tensors(graph, budget=exact, **ways)
    assert exact.memory_used == exact.memory
    assert again.tensors.keys() == placed.tensors.keys()


@pytest.mark.parametrize("constant", [False, True])
def test_numba_goes_first_where_activations_are_int16_but_not_for_constants(constant):
    data = np.ones((1, 2), np.int16) if constant else None
    wide = Value("wide", DType.INT16, (1, 2), QParams((0.5,)), data)
    graph = small_cnn()
    graph = replace(graph, values=graph.values | {"wide": wide})
    native_first = ("native", "numba")
    assert candidates("auto", graph, False) == native_first[:: 1 if constant else -1]


@pytest.mark.parametrize("outputs_apart", [False, True])
def test_every_output_has_memory_of_its_own_where_that_is_asked_for(outputs_apart):
    net = Builder((1, 8))
    first = net.op("abs", ("x",))
    graph = net.graph(first, net.op("neg", (first,)))
    placed = place_tensors(graph, outputs_apart=outputs_apart)
    inside = [np.shares_memory(placed.tensors[n], placed.arena) for n in graph.outputs]
    assert inside == [not outputs_apart] * 2


@pytest.mark.parametrize("nbytes", [0, 16, 100, 5000, 1 << 20])
def test_the_arena_of_a_compiled_model_begins_at_a_line_of_the_cache_and_is_whole(nbytes):
    library = SimpleNamespace(**{native.RUN: None})
    for _ in range(8):
        compiled = native._Native(library, [np.zeros(4, np.int8)], 1, nbytes, 0)
        (memory, *_), (*_, start) = compiled._alive, compiled._arguments
        assert start.value % native.ALIGNMENT == 0
        assert 0 <= start.value - memory.ctypes.data <= memory.nbytes - nbytes
