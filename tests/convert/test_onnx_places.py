"""Gather and GatherElements at places that are computed, some of them counted from the end."""

import numpy as np
import pytest
from onnx import TensorProto

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.interpreter import Model
from tinyrt.quantize import quantize_graph

INT64 = TensorProto.INT64
ROWS = 5


def signed(m: OnnxModel, x: str) -> str:
    """Numbers from -4 to 4."""
    far = m.op("Mul", m.op("Tanh", x), m.const(4.9))
    return m.op("Cast", far, to=INT64)


def rows(m: OnnxModel, x: str) -> str:
    return m.op("Gather", m.weights(ROWS, 4), signed(m, x))


def columns(m: OnnxModel, x: str) -> str:
    return m.op("Gather", m.weights(3, ROWS, 2), signed(m, x), axis=1)


def rows_of_what_is_computed(m: OnnxModel, x: str) -> str:
    table = m.op("Exp", m.op("MatMul", m.weights(ROWS, 3), x))
    return m.op("Gather", table, signed(m, x))


def before_the_place_of_the_largest(m: OnnxModel, x: str) -> str:
    place = m.op("Sub", m.op("ArgMax", x, axis=1, keepdims=0), m.const(3, np.int64))
    return m.op("Gather", m.weights(ROWS, 4), place)


NEGATIVE = {
    f.__name__: f
    for f in (rows, columns, rows_of_what_is_computed, before_the_place_of_the_largest)
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_places_count_from_the_end(name, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, NEGATIVE[name](m, m.input(3, 6)))
    x = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32) * 2
    (want,) = expected(path, {"x": x})
    for graph in (read_onnx(path), optimize(read_onnx(path), keep_layout=True)):
        assert "select_v2" in {node.op for node in graph.nodes}
        assert_close(Model(graph)(x), want)


def test_so_do_elements_that_are_each_picked(tmp_path):
    m = OnnxModel()
    x = m.input(2, 9)
    path = m.save(tmp_path, m.op("GatherElements", m.weights(2, ROWS), signed(m, x), axis=1))
    data = np.random.default_rng(0).standard_normal((2, 9)).astype(np.float32) * 2
    (want,) = expected(path, {"x": data})
    assert_close(Model(read_onnx(path))(data), want)


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
def test_negative_places_in_int8(backend, tmp_path):
    m = OnnxModel()
    ids = m.op("Sub", m.input(1, 9, dtype=INT64), number(m, ROWS))
    path = m.save(tmp_path, m.op("Gather", m.weights(ROWS, 4), ids))
    rng = np.random.default_rng(0)
    int8 = quantize_graph(optimize(read_onnx(path)), rng.integers(0, 2 * ROWS, (32, 9)))
    x = np.arange(9)[None]
    (want,) = expected(path, {"x": x})
    found = Model(int8, backend=backend)(x.astype(np.int32))
    np.testing.assert_allclose(found, want, atol=0.02)


def tokens(m: OnnxModel) -> str:
    return m.input(2, 3, name="t", dtype=INT64)


def number(m: OnnxModel, n: int) -> str:
    return m.const(n, np.int64)


WHOLE = {
    "tokens": tokens,
    "tokens that are moved": lambda m: m.op("Transpose", m.op("Cast", tokens(m), to=6)),
    "tokens and where they begin": lambda m: m.op("Add", tokens(m), number(m, 2)),
    "half of the tokens": lambda m: m.op("Div", tokens(m), number(m, 2)),
    "a place of the largest": lambda m: m.op("ArgMax", m.input(2, 3), axis=1),
    "places that are held inside": lambda m: m.op(
        "Max", m.op("Sub", tokens(m), number(m, 3)), number(m, 0)
    ),
    "remainders": lambda m: m.op("Mod", m.op("Neg", tokens(m)), number(m, ROWS)),
    "what is chosen": lambda m: m.op(
        "Where", m.op("Greater", tokens(m), number(m, 1)), "t", m.op("Mul", "t", "t")
    ),
    "numbers that have no sign": lambda m: m.op("Cast", m.op("Relu", m.input(2, 3)), to=INT64),
}


@pytest.mark.parametrize("name", WHOLE)
def test_places_that_are_never_negative_are_taken_as_they_are(name, tmp_path):
    m = OnnxModel()
    picked = m.op("Gather", m.weights(ROWS, 4), WHOLE[name](m))
    graph = read_onnx(m.save(tmp_path, picked))
    added = [v for v in graph.values if v.endswith(".from_the_end")]
    assert added == []


def test_a_long_way_back_is_not_followed(tmp_path):
    m = OnnxModel()
    place = tokens(m)
    for _ in range(70):
        place = m.op("Add", place, number(m, 0))
    graph = read_onnx(m.save(tmp_path, m.op("Gather", m.weights(ROWS, 4), place)))
    assert graph.nodes[-2].op == "select_v2"
