"""Options of ``tinyrt bench``, with clocks that tell what tests tell them."""

import itertools
from types import SimpleNamespace

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.convert.onnx_build import OnnxModel
from tinyrt import bench


@pytest.fixture
def measured(monkeypatch):
    """Nothing is timed: what would be, with the time for it."""

    def latencies(engines, path, x, seconds, progress):
        asked.append(([engine.name for engine in engines], seconds))
        progress(1, 1)
        return [[1e-3] for _ in engines]

    asked = []
    monkeypatch.setattr(bench, "_latencies", latencies)
    monkeypatch.setattr(bench, "_throughputs", lambda engines, *others: [1.0] * len(engines))
    monkeypatch.setattr(bench, "peak_macs_per_second", lambda: None)
    monkeypatch.setattr(bench._Engine, "cold_start", lambda engine, path: 1.0)
    return asked


@shows("bench", "backend", "json", "model")
def test_the_backends_named_are_measured(measured, made, tmp_path):
    arguments = ("bench", made.int8, "--against", "")
    assert len(call_json(*arguments)["results"]) == 1
    found = call_json(*arguments, "--backend", "reference, numba")["results"]
    assert [r["engine"] for r in found] == ["tinyrt reference", "tinyrt numba"]
    assert "tinyrt numba" in call(*arguments).stdout
    call("bench", tmp_path / "none.tflite", "--against", "", code=1)


@shows("bench", "against", "onnx")
def test_the_engines_named_are_measured(measured, made, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="package ai-edge-litert is not installed")
    engines = [r["engine"] for r in call_json("bench", made.int8)["results"]]
    assert engines[1:] == ["LiteRT XNNPACK", "LiteRT built-in"]
    against = ("bench", made.int8, "--against", "litert-reference,onnxruntime")
    assert "--onnx" in call(*against, code=1).stderr
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", m.input(1, 4)))
    engines = [r["engine"] for r in call_json(*against, "--onnx", path)["results"]]
    assert engines[1:] == ["LiteRT reference", "onnxruntime, model.onnx"]


@shows("bench", "seconds")
def test_latency_is_measured_for_as_long_as_asked(measured, made):
    for options in ((), ("--seconds", "0.25")):
        call("bench", made.int8, "--against", "", *options)
    assert [seconds for _, seconds in measured] == [1.0, 0.25]


def test_rounds_are_as_many_as_the_time_has_bursts(monkeypatch):
    """The clock moves on by half a burst with each look at it: a burst is one inference."""
    now = itertools.count(9)
    monkeypatch.setattr(bench, "BURST_S", 2)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(bench, "_ready", lambda interpreter, x: lambda: None)
    seen = []
    engines = [SimpleNamespace(open=lambda path: None)] * 2
    times = bench._latencies(engines, "", None, 100, lambda *counts: seen.append(counts))
    assert seen == [(i + 1, 50) for i in range(50)]
    assert times == [[1] * 50] * 2
