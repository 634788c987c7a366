"""The benchmark: every engine measured, ratios over the first, mistakes refused."""

from dataclasses import replace

import pytest

from tests.graphs import small_cnn
from tinyrt import bench, bench_peak
from tinyrt.bench import bench_model
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ir import Node
from tinyrt.ops import OPS
from tinyrt.ops.shared.batch import rebatch

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    """Figures of one round are as good as any where nobody compares them."""
    for name, count in {"BATCH": 8, "COLD_STARTS": 1, "BATCH_ROUNDS": 2}.items():
        monkeypatch.setattr(bench, name, count)
    monkeypatch.setattr(bench_peak, "ROUNDS", 2)


@pytest.fixture
def path(tmp_path):
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    return tmp_path / "net.tflite"


def test_every_engine_is_measured(path):
    pytest.importorskip("ai_edge_litert", reason="package ai-edge-litert is not installed")
    seen = []
    found = bench_model(
        path, backends=["numba", "reference"], seconds=0.01, progress=lambda *n: seen.append(n)
    )
    assert [r.engine for r in found] == [
        "tinyrt numba",
        "tinyrt reference",
        "LiteRT XNNPACK",
        "LiteRT built-in",
    ]
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert found[0].ratio == 1
    for r in found:
        assert 0 < r.latency_us.median <= r.latency_us.p90
        assert r.ratio == pytest.approx(r.latency_us.median / found[0].latency_us.median)
        assert min(r.cold_start_ms, r.samples_per_second, r.samples_per_second_one_thread) > 0


def test_models_of_several_rows_are_measured(tmp_path):
    """By all engines: a sample is what one inference takes."""
    pytest.importorskip("ai_edge_litert", reason="package ai-edge-litert is not installed")
    path = tmp_path / "rows.tflite"
    save_tflite(rebatch(small_cnn(), 3), path)
    for found in bench_model(path, seconds=0.01):
        assert found.samples_per_second > 0


@pytest.mark.whole
def test_models_that_keep_states_are_measured(tmp_path):
    graph = small_cnn()
    (x,), (y,) = graph.inputs, graph.outputs
    values = dict(graph.values)
    for name in ("before", "after"):
        values[name] = replace(graph.value(y), name=name)
    node = Node("add", "sum", (y, "before"), ("after",), OPS["add"].attrs())
    kept = replace(
        graph,
        inputs=(x, "before"),
        outputs=(y, "after"),
        values=values,
        nodes=(*graph.nodes, node),
        states=(("before", "after"),),
    )
    path = tmp_path / "kept.tflite"
    save_tflite(kept, path)
    (found,) = bench_model(path, against=[], seconds=0.01)
    assert found.samples_per_second > 0


def test_unknown_names_are_refused(path):
    with pytest.raises(DataError, match="litert"):
        bench_model(path, against=["fastest"])
    with pytest.raises((DataError, UnsupportedError), match="numba"):
        bench_model(path, against=[], backends=["fastest"])
