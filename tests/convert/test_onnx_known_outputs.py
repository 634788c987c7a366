"""ONNX outputs that nothing computes: constants, what folds to one, and the model's own inputs."""

import numpy as np
import pytest
from onnx import TensorProto

import tinyrt
from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.errors import UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate


def folded(m: OnnxModel) -> str:
    anchors = m.weights(2, 3)
    return m.op("Add", anchors, anchors)


def shared(m: OnnxModel) -> str:
    weights = m.weights(4)
    m.op("Add", "x", weights)
    return weights


CONSTANTS = {
    "a constant": lambda m: m.weights(2, 3),
    "a constant of doubles": lambda m: m.const([[1.5, 2.5]], np.float64),
    "a number": lambda m: m.const(3.5),
    "truth values": lambda m: m.const([True, False], np.bool_),
    "integers": lambda m: m.ints(3, -4),
    "a shape": lambda m: m.op("Cast", m.op("Shape", "x"), to=TensorProto.FLOAT),
    "what folds to a constant": folded,
    "a constant that a layer reads": shared,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_answered(name, tmp_path):
    m = OnnxModel()
    y = m.op("Relu", m.input(2, 4))
    known = CONSTANTS[name](m)
    both = m.op("Add", y, known) if name == "a constant that a layer reads" else y
    path = m.save(tmp_path, both, known)
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)}
    wanted = expected(path, feeds)
    raw = read_onnx(path)
    for graph in (raw, optimize(raw)):
        assert graph.outputs == (both, known)
        for found, want in zip(evaluate(graph, feeds).values(), wanted, strict=True):
            assert_close(found, want)


def test_they_are_written_and_quantised(tmp_path):
    m = OnnxModel()
    y = m.op("Relu", m.input(1, 4))
    path = m.save(tmp_path, y, m.const([[1.5, 2.5]]), "x")
    x = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    np.savez(tmp_path / "calibration.npz", x=x)
    tinyrt.convert_model(path, tmp_path / "float.tflite")
    tinyrt.quantize_model(path, tmp_path / "calibration.npz", tmp_path / "int8.tflite")
    for name, tolerance in (("float.tflite", 0), ("int8.tflite", 0.05)):
        positive, known, same = tinyrt.load(tmp_path / name)(x[:1]).values()
        np.testing.assert_allclose(positive, x[:1].clip(0), atol=tolerance)
        np.testing.assert_array_equal(known, [[1.5, 2.5]])
        np.testing.assert_allclose(same, x[:1], atol=tolerance)


REFUSED = {
    "constants alone": (
        lambda m: [m.weights(2)],
        r"no output depends on the model's input: \[c0\]",
    ),
    "no elements": (lambda m: [m.op("Relu", "x"), m.const([])], r"a constant, float32\[0\]"),
    "a type of integers that there is not": (
        lambda m: [m.op("Relu", "x"), m.const([1, 2], np.uint16)],
        r"a constant, uint16\[2\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_answered_is_refused(name, tmp_path):
    build, says = REFUSED[name]
    m = OnnxModel()
    m.input(2, 3)
    with pytest.raises(UnsupportedError, match=says):
        read_onnx(m.save(tmp_path, *build(m)))
