"""What the benchmark runs: onnxruntime's sessions, and the processor's peak where that is known."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto

from tests.convert.onnx_build import OnnxModel
from tinyrt import bench, bench_peak
from tinyrt.errors import ToolError


@pytest.fixture
def sessions(monkeypatch):
    """Models that onnxruntime opens, and what it is fed."""
    ort = pytest.importorskip("onnxruntime", reason="package onnxruntime is not installed")
    fed = []

    class Session(ort.InferenceSession):
        def run(self, outputs, feeds):
            fed.append(feeds)
            return super().run(outputs, feeds)

    monkeypatch.setattr(ort, "InferenceSession", Session)
    return fed


@pytest.fixture
def model(tmp_path):
    """Reals and integers of an open batch size."""
    m = OnnxModel()
    picked = m.input("n", 3, name="picked", dtype=TensorProto.INT64)
    real = m.op("Cast", picked, to=TensorProto.FLOAT)
    return m.save(tmp_path, m.op("Add", real, m.input("n", 3)))


def test_onnxruntime_is_fed_what_its_model_takes_on_one_thread(sessions, model):
    (engine,) = bench.peers("onnxruntime", model)
    opened = engine.open("unused.tflite")
    assert opened._session.get_session_options().intra_op_num_threads == 1
    run = bench._ready(opened, np.zeros(1, np.float32))
    run()
    assert len(sessions) == 2  # the first warms up
    kinds = sorted((array.shape, array.dtype.name) for array in sessions[0].values())
    assert kinds == [((1, 3), "float32"), ((1, 3), "int64")]
    integers = next(a for a in sessions[0].values() if a.dtype == np.int64)
    assert integers.min() >= 0  # they may be indices


@pytest.mark.parametrize("threads", [1, 3])
def test_onnxruntime_answers_a_batch_sample_by_sample(sessions, model, threads):
    (engine,) = bench.peers("onnxruntime", model)
    run = engine.run_batch("unused.tflite", np.zeros((7, 2), np.float32), threads)
    run()
    assert len(sessions) == 7


def test_a_new_process_opens_the_same_session_and_runs_it_once(sessions, model, capsys):
    (engine,) = bench.peers("onnxruntime", model)
    exec(bench._COLD.format(imports=engine.imports, open=engine.expression), {})
    assert float(capsys.readouterr().out) > 0
    assert len(sessions) == 1
    scope = {}
    exec(engine.imports, scope)
    assert isinstance(eval(engine.expression, scope), bench.OrtSession)


def test_without_a_listener_as_much_is_measured(monkeypatch):
    now = itertools.count(9)
    monkeypatch.setattr(bench, "BURST_S", 2)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(now))
    monkeypatch.setattr(bench, "_ready", lambda interpreter, x: lambda: None)
    engine = SimpleNamespace(open=lambda path: None)
    assert bench._latencies([engine], "", None, 10, None) == [[1] * 5]


@pytest.mark.parametrize("lacking", ["compiler", "kernel"])
def test_the_peak_is_unknown_without_compiler_or_vector_kernel(monkeypatch, tmp_path, lacking):
    def refuse():
        raise ToolError("there is no C compiler")

    def header(name, isa):
        return tmp_path / name

    if lacking == "compiler":
        monkeypatch.setattr(bench_peak, "find_compiler", refuse)
    else:
        monkeypatch.setattr(bench_peak.kernels_c, "header", header)
    assert bench_peak.peak_macs_per_second() is None


def test_the_peak_counts_every_product_of_the_loop(monkeypatch, tmp_path):
    """A call makes 100,000 steps of 16 sums, each of 16 lanes of four products."""
    (tmp_path / "header.h").touch()
    monkeypatch.setattr(bench_peak.kernels_c, "header", lambda name, isa: tmp_path / "header.h")
    monkeypatch.setattr(bench_peak, "build_library", lambda compiler, project: project)
    library = SimpleNamespace(tinyrt_peak=lambda steps, x, y: None)
    monkeypatch.setattr(bench_peak, "load_library", lambda path: library)
    clock = itertools.count(9, 0.5)
    monkeypatch.setattr(bench_peak.time, "perf_counter", lambda: next(clock))
    assert bench_peak.peak_macs_per_second() == 100_000 * 16 * 16 * 4 / 0.5


def test_tflites_runtimes_run_on_one_thread_with_the_kernels_that_are_named(monkeypatch):
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    asked = []
    monkeypatch.setattr(litert, "Interpreter", lambda path, **given: asked.append((path, given)))
    for engine in bench.peers("litert", None):
        engine.open("m.tflite")
    assert [(path, given["num_threads"]) for path, given in asked] == [("m.tflite", 1)] * len(asked)
    kernels = [given["experimental_op_resolver_type"] for _, given in asked]
    assert len(set(kernels)) == len(kernels) > 0
