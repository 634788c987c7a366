"""Which backend answers one run: the reference for little work on integers, else the default."""

import numpy as np
import pytest

from tests.graphs import small_cnn
from tinyrt import api
from tinyrt.api import models, soonest
from tinyrt.api.soonest import MAX_WORK, soonest_backend, work_of
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import InMemory
from tinyrt.ir import DType, Graph, Value
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph

X = np.random.default_rng(7).normal(size=(12, 8, 8, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def int8():
    return quantize_graph(small_cnn(), X, QuantConfig())


def chosen(graph, samples):
    return soonest_backend(graph, InMemory({"x": np.zeros((samples, 8, 8, 3), np.int8)}))


def test_work_is_products_elements_and_calls():
    """Counted by hand: 3 x 3 over 3 channels, twice as wide, and a dense layer."""
    graph = small_cnn()
    nodes = list(graph.bound())
    macs = 0
    for node in nodes:
        if node.op == "conv2d":
            out, (_, height, width, inputs) = node.output.shape, node.input(1).shape
            macs += int(np.prod(out)) * height * width * inputs
        if node.op == "depthwise_conv2d":
            _, height, width, _ = node.input(1).shape
            macs += int(np.prod(node.output.shape)) * height * width
        if node.op == "fully_connected":
            macs += int(np.prod(node.input(1).shape))
    held = [v for v in graph.values.values() if v.data is None]
    elements = sum(int(np.prod(v.shape)) for v in held)
    assert work_of(graph) == macs + 20 * elements + 200_000 * len(nodes)


def test_much_work_is_left_to_compiled_kernels(int8):
    most = MAX_WORK // work_of(int8)
    assert (chosen(int8, most), chosen(int8, most + 1)) == ("reference", "numba")


def test_floats_have_one_backend_whatever_their_number():
    assert chosen(small_cnn(), 1) == "numba"
    for scheme in (Scheme.WEIGHTS_FLOAT16, Scheme.WEIGHTS_INT8):
        graph = quantize_graph(small_cnn(), X, QuantConfig(scheme=scheme))
        assert chosen(graph, 1) == "numba"


def test_int16_and_int4_are_integers_too():
    for scheme in (Scheme.INT16X8, Scheme.INT4):
        assert chosen(quantize_graph(small_cnn(), X, QuantConfig(scheme=scheme)), 1) == "reference"


def test_a_model_of_several_rows_is_counted_by_runs(int8, monkeypatch):
    """Rows that the model declares are one run."""
    from tinyrt.ops.shared.batch import rebatch

    four = rebatch(int8, 4)
    monkeypatch.setattr(soonest, "MAX_WORK", 2 * work_of(four))
    assert (chosen(four, 8), chosen(four, 9)) == ("reference", "numba")


def test_a_number_without_rows_is_one_run(monkeypatch):
    graph = Graph("net", ("x",), ("x",), {"x": Value("x", DType.INT8, ())}, ())
    monkeypatch.setattr(soonest, "MAX_WORK", 3 * work_of(graph))
    found = [soonest_backend(graph, InMemory({"x": np.zeros(n, np.int8)})) for n in (3, 4)]
    assert found == ["reference", "numba"]


def test_answers_are_those_of_the_default(int8, tmp_path):
    save_tflite(int8, tmp_path / "net.tflite")
    soon = api.run_with_backend(tmp_path / "net.tflite", X, backend=None)
    usual = api.run_with_backend(tmp_path / "net.tflite", X)
    assert (soon.backend, usual.backend) == ("reference", "numba")
    for name, array in usual.outputs.items():
        np.testing.assert_array_equal(soon.outputs[name], array)


def test_a_device_is_compared_with_what_answers_soonest(int8, tmp_path, monkeypatch):
    """Of inputs that are given, and of random ones; what a device is given is integers."""
    save_tflite(int8, tmp_path / "net.tflite")
    seen = []
    real = models.Model
    monkeypatch.setattr(
        models, "Model", lambda g, backend: seen.append(backend) or real(g, backend=backend)
    )
    _, given = models.compared_inputs(tmp_path / "net.tflite", X[:2], 0)
    models.compared_inputs(tmp_path / "net.tflite", None, 3)
    monkeypatch.setattr(soonest, "MAX_WORK", 0)
    _, by_numba = models.compared_inputs(tmp_path / "net.tflite", X[:2], 0)
    assert seen == ["reference", "reference", "numba"]
    for name, array in by_numba.items():
        np.testing.assert_array_equal(given[name], array)
