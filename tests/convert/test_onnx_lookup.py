"""Models whose inputs are indices: tokens, classes; and places in several dimensions."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import (
    OnnxModel,
    assert_close,
    assert_matches,
    channels_last,
    expected,
)
from tests.convert.test_onnx_errors import refused
from tests.ops.peers import answers_of_litert, run_tflm
from tinyrt.api import open_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize import quantize_graph

INT32, INT64 = onnx.TensorProto.INT32, onnx.TensorProto.INT64
CLASSES = 9


def _embedding(m: OnnxModel, x: str) -> str:
    words = m.op("Gather", m.weights(CLASSES, 8), x)
    mean = m.op("ReduceMean", m.op("Add", words, m.weights(5, 8)), axes=[1], keepdims=0)
    return m.op("Gemm", mean, m.weights(8, 3), m.weights(3))


def _columns(m: OnnxModel, x: str) -> str:
    return m.op("Gather", m.weights(3, CLASSES, 2), x, axis=1)


def _one_hot(m: OnnxModel, x: str) -> str:
    depth, ends = m.ints(CLASSES), m.const([0.5, 2.0])
    return m.op("MatMul", m.op("OneHot", x, depth, ends), m.weights(CLASSES, 4))


def _one_hot_in_front(m: OnnxModel, x: str) -> str:
    return m.op("Relu", m.op("OneHot", x, m.ints(CLASSES), m.const([-1.0, 2.0]), axis=1))


def _compared(m: OnnxModel, x: str) -> str:
    """How current exporters write one-hot vectors, and masks of padding."""
    last = m.op("Unsqueeze", x, m.ints(-1))
    hot = m.op("Cast", m.op("Equal", last, m.ints(*range(CLASSES))), to=1)
    seen = m.op("Cast", m.op("Greater", last, m.ints(0)), to=1)
    return m.op("Mul", m.op("MatMul", hot, m.weights(CLASSES, 4)), seen)


def _chosen(m: OnnxModel, x: str) -> str:
    """Rows by an index that is computed."""
    scores = m.op("Gather", m.weights(CLASSES, 6), x)
    return m.op("Gather", m.weights(6, 4), m.op("ArgMax", scores, axis=2, keepdims=0))


def _counted(m: OnnxModel, x: str) -> str:
    """Places that are computed from tokens, of which some stand for padding."""
    seen = m.op("Cast", m.op("Greater", x, m.const(1, np.int64)), to=INT64)
    wide = m.op("Cast", x, to=INT64)
    places = m.op("Add", m.op("Add", m.op("Mul", wide, seen), m.ints(3)), m.const(2, np.int64))
    low = m.op("Max", m.op("Sub", places, m.ints(1, 2, 3, 4, 0)), m.ints(0))
    low = m.op("Min", low, m.op("Neg", m.op("Add", places, m.ints(-40))))
    return m.op("Gather", m.weights(CLASSES + 5, 6), low)


def _numbered(m: OnnxModel, x: str) -> str:
    """Rows of whole numbers, as a tree's nodes are, beside some that are known."""
    kinds = m.op("Gather", m.const(np.arange(3 * CLASSES).reshape(3, -1), np.int64), x, axis=1)
    names = m.op("Gather", m.const(np.arange(40, 40 + CLASSES), np.int32), x)
    both = m.op("Concat", kinds, m.const(np.full((2, 1, 5), 7), np.int64), axis=0)
    return m.op("Add", m.op("Cast", both, to=1), m.op("Cast", names, to=1))


MODELS = {
    f.__name__[1:]: f
    for f in (
        *(_embedding, _columns, _one_hot, _one_hot_in_front, _compared, _chosen, _counted),
        _numbered,
    )
}


def _model(name: str, folder, dtype: int):
    m = OnnxModel(17)
    path = m.save(folder, MODELS[name](m, m.input("batch", 5, dtype=dtype)))
    return path, np.random.default_rng(0).integers(0, CLASSES, (1, 5))


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, INT64) for name in MODELS), ("columns", INT32)]
)
def test_indices_may_be_inputs(name, dtype, tmp_path):
    path, x = _model(name, tmp_path, dtype)
    (want,) = expected(path, {"x": x.astype(np.int32 if dtype == INT32 else np.int64)})
    graph = open_model(path)
    assert graph.value("x").dtype is DType.INT32
    (litert,) = answers_of_litert(graph, {"x": x.astype(np.int32)})
    for found in (Model(graph)(x), litert):
        assert_close(found, want if found.shape == want.shape else channels_last(want))


@pytest.mark.parametrize(("kind", "dtype"), [(INT32, np.int32), (INT64, np.int64)])
def test_a_class_is_answered_by_its_name(kind, dtype, tmp_path):
    m, path = OnnxModel(17), tmp_path / "model.onnx"
    names = m.const([30, -7, 2**31 - 1], dtype)
    found = m.op("ArgMax", m.input(4, 3), axis=1, keepdims=0)
    model = m.model(m.op("Gather", names, found))
    model.graph.output[0].type.tensor_type.elem_type = kind
    path.write_bytes(model.SerializeToString())
    graph, x = open_model(path), np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    (want,) = expected(path, {"x": x})
    answer = Model(graph).run({"x": x})[graph.outputs[0]]
    assert answer.dtype == dtype
    np.testing.assert_array_equal(answer, want)


def test_a_name_of_more_than_32_bits_is_refused(tmp_path):
    m = OnnxModel(17)
    path = m.save(tmp_path, m.op("Gather", m.const([0, 2**31], np.int64), m.input(3, dtype=INT64)))
    refused(path, UnsupportedError, "the constant 'c0' reaches from 0 to 2147483648", "s32")


def test_a_quantised_embedding_equals_tflm(tmp_path):
    path, _ = _model("embedding", tmp_path, INT64)
    graph = open_model(path)
    x = np.random.default_rng(1).integers(0, CLASSES, (64, 5))
    int8 = quantize_graph(graph, x)
    assert [n.op for n in int8.nodes] == ["embedding", "add", "mean", "fully_connected"]
    raw = Model(int8).run_raw({"x": x.astype(np.int32)})[int8.outputs[0]]
    for sample, found in zip(x[:8], raw, strict=False):
        np.testing.assert_array_equal(found[None], run_tflm(int8, [sample[None].astype(np.int32)]))


def test_an_index_beyond_the_table_takes_the_nearest_row(tmp_path):
    graph = open_model(_model("columns", tmp_path, INT32)[0])
    model = Model(graph)
    beyond, ends = (np.array([row], np.int32) for row in ([-10, 99, 0, -9, 2], [0, 8, 0, 0, 2]))
    np.testing.assert_array_equal(model(beyond), model(ends))


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_one_hot_vectors_of_indices_outside(backend, tmp_path):
    """From the last one backwards, and off everywhere beyond: in float, and in C in integers."""
    m = OnnxModel(17)
    hot = m.op("OneHot", m.input(1, 9, dtype=INT64), m.ints(4), m.const([0.5, 2.0]))
    path = m.save(tmp_path, m.op("MatMul", hot, m.weights(4, 3)))
    ids = np.array([[0, 1, 3, 4, -1, -4, -5, 99, -(2**31)]])
    graph = open_model(path)
    (want,) = expected(path, {"x": ids})
    assert_close(Model(graph)(ids.astype(np.int32)), want)
    int8 = quantize_graph(graph, np.random.default_rng(0).integers(-6, 6, (64, 9)))
    found = Model(int8, backend=backend)(ids.astype(np.int32))
    np.testing.assert_allclose(found, want, atol=0.05)


@pytest.mark.parametrize("form", ["as they are", "reshaped"])
def test_one_hot_vectors_of_places_need_no_more_rows(form, tmp_path):
    """ArgMax finds none outside, if there are as many classes."""
    for classes in (5, 4):
        m = OnnxModel(17)
        places = m.op("ArgMax", m.input(2, 5), axis=1, keepdims=int(form == "reshaped"))
        hot = m.op("OneHot", places, m.ints(classes), m.const([0.0, 1.0]))
        graph, _ = assert_matches(m.save(tmp_path, hot))
        ops = [node.op for node in graph.nodes]
        assert ("add" in ops) == (classes == 4)
        assert not {"select_v2", "minimum", "maximum"}.intersection(ops)
        assert ops[0] == "arg_max"


def test_integers_of_two_widths_are_computed_with_in_the_wider_one(tmp_path):
    m = OnnxModel(17)
    x = m.input(1, 5, dtype=INT32)
    y = m.op("Mul", m.op("Cast", x, to=INT64), m.op("Cast", m.op("Add", x, x), to=INT64))
    y = m.op("Cast", m.op("Sub", y, m.const(2**40, np.int64)), to=1)
    path = m.save(tmp_path, m.op("Add", y, m.op("Cast", m.op("Sub", x, m.const(3, "i4")), to=1)))
    ids = np.array([[0, 1, 70_000, 100_000, -5]], np.int32)
    assert_close(Model(open_model(path))(ids), expected(path, {"x": ids})[0])


def test_limits_beyond_32_bits_lie_on_their_side_of_all_indices(tmp_path):
    m = OnnxModel(17)
    x = m.input(1, 4, dtype=INT64)
    sides = [m.op("Less", x, m.const(n, np.int64)) for n in (2**40, -(2**40), 2**32 - 1, -(2**32))]
    path = m.save(tmp_path, *(m.op("Cast", side, to=1) for side in sides))
    ids = np.array([[0, 70_000, -5, -70_000]], np.int64)
    graph = open_model(path)
    found = Model(graph).run(ids.astype(np.int32))
    for name, want in zip(graph.outputs, expected(path, {"x": ids}), strict=True):
        assert_close(found[name], want)


def test_an_index_is_as_wide_as_the_place_that_it_is_added_to(tmp_path):
    m = OnnxModel(17)
    x = m.input(1, 5, dtype=INT64)
    places = m.op("ArgMax", m.op("Cast", x, to=1), axis=1)
    path = m.save(tmp_path, m.op("Cast", m.op("Add", x, places), to=1))
    ids = np.array([[0, 1, 70_000, 100_000, -5]], np.int64)
    assert_close(Model(open_model(path))(ids.astype(np.int32)), expected(path, {"x": ids})[0])


DIVISORS = {
    "a number": lambda m, x: m.ints(2),
    "numbers": lambda m, x: m.const([-3, 7, 1, -1, 5], np.int64),
    "computed": lambda m, x: m.op("Add", m.op("Mul", x, x), m.ints(1)),
}


@pytest.mark.parametrize("divisor", DIVISORS)
def test_quotients_of_indices_are_cut_towards_zero(divisor, tmp_path):
    m = OnnxModel(17)
    x = m.input(1, 5, dtype=INT64)
    path = m.save(tmp_path, m.op("Cast", m.op("Div", x, DIVISORS[divisor](m, x)), to=1))
    ids = np.array([[0, 1, -7, 100, -5]], np.int64)
    graph = open_model(path)
    np.testing.assert_array_equal(Model(graph)(ids.astype(np.int32)), expected(path, {"x": ids})[0])


ARITHMETIC = {
    "Abs": lambda m, x: m.op("Abs", x),
    "Pow": lambda m, x: m.op("Pow", x, m.ints(4)),
    "MatMul": lambda m, x: m.op("MatMul", x, m.const(np.ones((5, 2)), np.int64)),
}


@pytest.mark.parametrize("op", ARITHMETIC)
def test_other_arithmetic_on_indices_is_refused_with_what_to_do(op, tmp_path):
    m = OnnxModel(17)
    path = m.save(tmp_path, m.op("Cast", ARITHMETIC[op](m, m.input(1, 5, dtype=INT64)), to=1))
    says = "'c0' has element type int64" if op == "MatMul" else op
    error = refused(path, UnsupportedError, says)
    assert error.hint.startswith("cast the integers to FLOAT in front of it")
    assert "--value" in error.hint


def test_integers_that_no_input_can_be_are_refused(tmp_path):
    m = OnnxModel(17)
    x = m.op("Add", m.input(1, 5, dtype=INT64), m.const(2**31, np.int64))
    says = "'c0' reaches from 2147483648 to 2147483648"
    error = refused(m.save(tmp_path, m.op("Cast", x, to=1)), UnsupportedError, says)
    assert error.expected == "integers of s32, as which inputs are computed with"


@pytest.mark.parametrize("places", [[[0, 1], [2, 3], [-1, 0]], [[[1]], [[2]]], [[0, 1, 2]]])
def test_places_of_several_dimensions_are_gathered(places, tmp_path):
    m = OnnxModel(17)
    path = m.save(tmp_path, m.op("Relu", m.op("GatherND", m.input(3, 4, 5), m.const(places, "i8"))))
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    graph = open_model(path)
    assert_close(answers_of_litert(graph, {"x": x})[0], expected(path, {"x": x})[0])


@pytest.mark.parametrize("left", [["t0"], ["t0", ""]])
def test_the_places_of_the_largest_may_be_left_out(tmp_path, left):
    m = OnnxModel()
    values = m.op("TopK", m.input(2, 3, 7), m.ints(3), outputs=2)
    m.nodes[-1].output[:] = left
    graph = read_onnx(m.save(tmp_path, values))
    x = np.random.default_rng(5).normal(size=(2, 3, 7)).astype(np.float32)
    (found,) = evaluate(graph, {graph.inputs[0]: x}).values()
    np.testing.assert_array_equal(found, -np.sort(-x)[..., :3])
