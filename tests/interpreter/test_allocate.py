"""What each backend asks of the places of tensors."""

import pytest

from tests.graphs import small_cnn
from tinyrt.budget import current
from tinyrt.interpreter import allocate
from tinyrt.interpreter.backends import EVERY_BACKEND

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
