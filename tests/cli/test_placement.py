"""Which backends take what a GPU has no kernels for, and what is told of it."""

from types import SimpleNamespace

import pytest

from tinyrt import api
from tinyrt.api import inspection
from tinyrt.cli.placement import placement
from tinyrt.errors import DataError
from tinyrt.interpreter import BACKENDS, CUDA, FALLBACK

PARTS = [
    SimpleNamespace(describe=lambda n=name: f"{n} runs", as_dict=lambda n=name: {"backend": n})
    for name in (CUDA, "numba")
]


@pytest.fixture(autouse=True)
def parted(monkeypatch):
    """A model in two segments, whatever it is."""
    asked = []
    monkeypatch.setattr(api, "open_model", lambda model: model)
    monkeypatch.setattr(inspection, "placement_of", lambda *args: asked.append(args) or PARTS)
    return asked


@pytest.mark.parametrize("backend", [*BACKENDS, FALLBACK])
def test_without_fallback_the_backend_is_the_one_that_is_named(backend, parted):
    name, segments = placement("net", backend, False)
    assert (name, segments.data, segments.facts, parted) == (backend, {}, {}, [])


@pytest.mark.parametrize("backend", [CUDA, FALLBACK])
def test_a_gpu_may_leave_ops_to_others(backend, parted):
    name, segments = placement("net", backend, True)
    assert name == FALLBACK
    assert segments.data == {"segments": [{"backend": CUDA}, {"backend": "numba"}]}
    assert segments.facts == {"segments": f"{CUDA} runs; numba runs"}
    assert parted == [("net", FALLBACK)]


@pytest.mark.parametrize("backend", sorted({*BACKENDS} - {CUDA, FALLBACK}))
def test_others_have_nothing_to_leave(backend, parted):
    with pytest.raises(DataError, match=f"--allow-fallback with backend {backend}"):
        placement("net", backend, True)
    assert parted == []
