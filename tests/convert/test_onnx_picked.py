"""Elements picked at computed places, the first of the largest: beside onnxruntime."""

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches, expected
from tests.convert.test_onnx_errors import refused
from tinyrt.api import open_model
from tinyrt.convert.onnx.lookup import MAX_CLASSES
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.quantize import quantize_graph

SHAPE = (3, 4, 5)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("whole", [True, False])
def test_elements_are_picked_at_computed_places(axis, whole, tmp_path):
    """All along the other dimensions, or only the first ones."""
    m = OnnxModel(18)
    x = m.input(*SHAPE)
    few = (2, 3, 4)
    m.op("TopK", m.op("Neg", x), m.ints(few[axis]), axis=axis, outputs=2)
    places = "t1_1"
    if not whole:
        places = m.op("Slice", places, m.ints(0, 0, 0), m.ints(*few), m.ints(0, 1, 2))
    table = m.op("Mul", x, m.weights(*SHAPE))
    graph, _ = assert_matches(m.save(tmp_path, m.op("GatherElements", table, places, axis=axis)))
    assert "embedding" in [node.op for node in graph.nodes]


def test_places_in_32_bits_are_taken_as_they_are(tmp_path):
    m = OnnxModel(18)
    x = m.input(2, 4, 5)
    places = m.op("Cast", m.op("ArgMax", x, axis=1), to=onnx.TensorProto.INT32)
    path = m.save(tmp_path, m.op("GatherElements", m.op("Relu", x), places, axis=1))
    assert_matches(path)
    (picked,) = (node for node in read_onnx(path).bound() if node.op == "embedding")
    assert picked.input(1).dtype is DType.INT32
    assert not picked.input(1).name.endswith(".index")


def test_elements_that_are_picked_quantise(tmp_path):
    m = OnnxModel(18)
    x = m.input(1, 6, 5)
    places = m.op("ArgMax", x, axis=2)
    path = m.save(tmp_path, m.op("Relu", m.op("GatherElements", x, places, axis=2)))
    data = np.random.default_rng(0).normal(size=(40, 6, 5)).astype(np.float32)
    wanted = np.concatenate([expected(path, {"x": sample[None]})[0] for sample in data])
    np.testing.assert_allclose(
        Model(quantize_graph(open_model(path), data))(data), wanted, atol=0.03
    )


@pytest.mark.parametrize("rows", [(4, 4), (2, 6, 1)])
def test_computed_places_that_do_not_fit_are_refused(rows, tmp_path):
    m = OnnxModel(18)
    places = m.op("ArgMax", m.input(*rows, 7, name="other"), axis=-1, keepdims=0)
    error = refused(
        m.save(tmp_path, m.op("GatherElements", m.input(2, 3), places)), ModelFormatError
    )
    assert "into f32[2,3]" in error.problem
    assert "none larger but the one that is picked from" in error.expected


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_the_first_of_the_largest(opset, axis, tmp_path):
    """Among rounded numbers, of which many are equal; along one dimension, or all from there on."""
    m = OnnxModel(opset)
    x = m.op("Floor", m.input(*SHAPE))
    attrs = {} if axis is None else {"axis": axis}
    assert_matches(m.save(tmp_path, m.op("Hardmax", x, **attrs)))


def test_the_first_of_too_many_is_refused(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Hardmax", m.input(1, MAX_CLASSES + 1)))
    error = refused(path, UnsupportedError)
    assert error.problem == "Hardmax of 4,097 elements"
    assert error.expected == "at most 4,096"
    assert "ArgMax" in error.hint
    m = OnnxModel()
    assert read_onnx(m.save(tmp_path, m.op("Hardmax", m.input(1, MAX_CLASSES)))).nodes
