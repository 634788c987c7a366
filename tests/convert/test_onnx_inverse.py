"""ONNX's inverse functions of angles and hyperbolas: over all they take, in float and as tables."""

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel, expected
from tinyrt.convert.onnx.inverse import INVERSE
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.interpreter import Model
from tinyrt.quantize import quantize_graph

AROUND_ZERO = np.concatenate([np.linspace(-1, 1, 201), np.logspace(-20, 0, 50)])
FAR = np.concatenate([AROUND_ZERO, np.logspace(0, 18, 60), -np.logspace(-20, 18, 60)])
TAKEN = {
    "Acos": AROUND_ZERO,
    "Acosh": np.concatenate([1 + np.logspace(-6, 0, 50), np.logspace(0, 38, 60)]),
    "Asin": AROUND_ZERO,
    "Asinh": FAR,
    "Atan": np.concatenate([FAR, [3e38, -3e38]]),
    "Atanh": np.concatenate([AROUND_ZERO[np.abs(AROUND_ZERO) < 1], [-1, 1]]),
}
NARROW = {"Acosh": (1, 6), "Asinh": (-9, 9), "Atan": (-9, 9), "Atanh": (-0.95, 0.95)}


def model_of(op: str, count: int, folder):
    m = OnnxModel(13)
    return m.save(folder, m.op(op, m.input(1, count)))


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
@pytest.mark.parametrize("op", INVERSE)
def test_answers_are_those_of_onnxruntime(op, backend, tmp_path):
    x = TAKEN[op].astype(np.float32)[None]
    path = model_of(op, x.size, tmp_path)
    (want,) = expected(path, {"x": x})
    found = Model(optimize(read_onnx(path)), backend=backend)(x)
    np.testing.assert_allclose(found, want, rtol=2e-6, atol=5e-7)


@pytest.mark.parametrize("op", ["Acos", "Acosh", "Asin", "Atanh"])
def test_there_is_no_answer_beyond_what_it_takes(op, tmp_path):
    x = np.array([[-1.5, 0.5 if op == "Acosh" else 1.5]], np.float32)
    path = model_of(op, 2, tmp_path)
    assert np.isnan(expected(path, {"x": x})).all()
    assert np.isnan(Model(optimize(read_onnx(path)))(x)).all()


@pytest.mark.parametrize("op", INVERSE)
def test_in_int8_it_is_one_table(op, tmp_path):
    low, high = NARROW.get(op, (-1, 1))
    x = np.linspace(low, high, 256, dtype=np.float32).reshape(16, 16)
    path = model_of(op, 16, tmp_path)
    graph = quantize_graph(optimize(read_onnx(path)), x)
    assert [node.op for node in graph.nodes] == ["pointwise"]
    want = np.concatenate([expected(path, {"x": row[None]})[0] for row in x])
    step = graph.value(graph.outputs[0]).q.scale
    slope = np.abs(np.gradient(want.ravel(), x.ravel())).max()
    found = Model(graph)(x)
    assert np.abs(found - want).max() <= step + slope * (high - low) / 255
