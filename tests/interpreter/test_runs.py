"""Models whose first axis is no batch take whole runs of rows, one behind the other."""

from __future__ import annotations

import numpy as np
import pytest

import tinyrt
from tests.convert.onnx_build import OnnxModel, expected
from tests.graphs import Builder
from tinyrt.api import open_model
from tinyrt.data import InMemory
from tinyrt.errors import DataError
from tinyrt.interpreter import model
from tinyrt.interpreter.feeds import whole_runs
from tinyrt.interpreter.model import BATCH, Model
from tinyrt.ir import DType, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.evaluate import evaluate

STEPS, FEATURES, HIDDEN, RUNS = 5, 3, 4, 12


@pytest.fixture
def layer(tmp_path):
    """A GRU whose input begins with time, and whose first state is another input."""
    m = OnnxModel(17, seed=2)
    x, h = m.input(STEPS, 1, FEATURES), m.input(1, 1, HIDDEN, name="h")
    weights = (m.weights(1, 3 * HIDDEN, FEATURES), m.weights(1, 3 * HIDDEN, HIDDEN))
    y = m.op("GRU", x, *weights, "", "", h, hidden_size=HIDDEN)
    return m.save(tmp_path, y)


def feeds(runs, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"x": (runs * STEPS, 1, FEATURES), "h": (runs, 1, HIDDEN)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_each_run_is_computed_for_itself(layer):
    graph, data = open_model(layer), feeds(RUNS)
    found = Model(graph).run(data)[graph.outputs[0]]
    for i in range(RUNS):
        rows = slice(i * STEPS, (i + 1) * STEPS)
        (want,) = expected(layer, {"x": data["x"][rows], "h": data["h"][i : i + 1]})
        np.testing.assert_allclose(found[rows].reshape(want.shape), want, atol=1e-5)


@pytest.mark.whole
@pytest.mark.slow
def test_it_is_calibrated_on_whole_runs(layer, tmp_path):
    path = tmp_path / "int8.tflite"
    int8 = tinyrt.quantize_model(layer, feeds(40), path)
    data = feeds(RUNS, seed=1)
    report = tinyrt.evaluate(path, data, against=layer)
    assert report.sqnr_db > 25
    assert int8.value("x").shape == (STEPS, 1, FEATURES)


def test_rows_that_are_no_whole_run_are_refused(layer):
    data = feeds(2)
    with pytest.raises(DataError, match="different numbers of samples"):
        Model(open_model(layer)).run(data | {"x": data["x"][:-1]})
    with pytest.raises(DataError, match="5 for each run"):
        Model(open_model(layer)).runs({"x": data["x"][:7]})


def test_a_declared_batch_is_no_run_where_samples_are_apart(tmp_path):
    m = OnnxModel()
    graph = open_model(m.save(tmp_path, m.op("Relu", m.input(4, 3))))
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    for count in (1, 2):
        (want,) = evaluate(graph, {"x": np.resize(x, (4, 3))}).values()
        found = Model(graph).run({"x": x[:count]})["t0"]
        np.testing.assert_array_equal(found, want[:count])


def test_samples_stay_apart_where_their_axis_is_the_only_one(tmp_path):
    m = OnnxModel()
    graph = open_model(m.save(tmp_path, m.op("Softmax", m.input(1))))
    for backend in ("numba", "native"):
        (found,) = Model(graph, backend=backend).run({"x": np.arange(4, dtype=np.float32)}).values()
        np.testing.assert_array_equal(found, np.ones(4))


def test_samples_stay_apart_where_another_operand_has_fewer_axes():
    net = Builder((1, 4), (1, 3, 4))
    graph = net.graph(net.op("add", net.inputs, AddAttrs()))
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((3, *v.shape[1:])).astype(np.float32) for v in graph.input_values)
    (found,) = Model(graph).run({"x": x, "x1": y}).values()
    np.testing.assert_allclose(found, x[:, None] + y, rtol=1e-6)


def test_a_constant_answer_is_whole_for_each_sample():
    """As of the anchors that a detector answers beside its boxes."""
    net = Builder((1, 3))
    anchors = net.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
    graph = net.graph(net.op("relu", net.inputs), anchors)
    found = Model(graph).run({"x": np.zeros((5, 3), np.float32)})
    np.testing.assert_array_equal(found[anchors], np.tile(graph.value(anchors).data, (5, 1)))


@pytest.mark.parametrize("together", [1, 3])
def test_rows_are_whole_runs_and_at_least_one(together):
    value = Value("x", DType.FLOAT32, (together, 2))
    for rows in range(10):
        if rows and rows % together == 0:
            assert whole_runs(value, rows, together) == rows // together
            continue
        with pytest.raises(DataError, match=f"the data have {rows} rows"):
            whole_runs(value, rows, together)


def test_runs_in_pieces_lie_where_those_of_one_piece_do(monkeypatch):
    """Rows that are wrong are counted from the first run on."""
    net = Builder((2, 3), (1, 3))
    graph = net.graph(net.op("concatenation", net.inputs, ConcatenationAttrs(0)))
    data = {"x": np.arange(36, dtype=np.float32).reshape(12, 3), "x1": -np.ones((6, 3), np.float32)}
    monkeypatch.setattr(model, "PIECE", 1)
    runner = Model(graph, backend="reference")
    (found,) = runner.run_source(InMemory(data)).values()
    joined = np.concatenate([data["x"].reshape(6, 2, 3), data["x1"][:, None]], axis=1)
    np.testing.assert_array_equal(found, joined.reshape(18, 3))
    stored = runner.stored_source(InMemory(data))
    for name, array in data.items():
        np.testing.assert_array_equal(stored[name], array, strict=True)
    run = (2 * 3 + 3 + 3 * 3) * 4
    monkeypatch.setattr(model, "PIECE", 3 * run)
    assert [start for start, *_ in runner.pieces(InMemory(data))] == [0, 3]
    data["x"][7] = np.inf
    with pytest.raises(DataError, match="first in sample 7"):
        runner.run_source(InMemory(data))


def test_a_short_last_piece_has_the_batches_of_the_others(monkeypatch):
    """Another number of samples would take another interpreter, and its memory."""
    net = Builder((1, 3))
    graph = net.graph(net.op("relu", net.inputs))
    prepared, prepare = [], Model._prepare
    monkeypatch.setattr(Model, "_prepare", lambda m, n: prepared.append(n) or prepare(m, n))
    monkeypatch.setattr(model, "PIECE", 1)
    x = np.ones((BATCH + 3, 3), np.float32)
    (found,) = Model(graph, num_threads=1).run_source(InMemory({"x": x})).values()
    np.testing.assert_array_equal(found, x)
    assert prepared == [BATCH]
