"""ONNX models that onnxruntime quantised dynamically: float models with stored weights."""

from itertools import product

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from tests.convert.onnx_build import EXACT, OnnxModel, assert_close, expected
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType

STEPS, INPUTS, HIDDEN = 5, 6, 8
KINDS = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8}
ROUNDED = 0.03
"""Part of the largest answer: onnxruntime rounds what it multiplies to 8 bits, run by run."""


def lstm(m, *outputs, direction="forward", initial=False):
    """A layer with these of its outputs, whose names stand for them."""
    sides = 2 if direction == "bidirectional" else 1
    operands = [m.input(STEPS, 1, INPUTS), m.weights(sides, 4 * HIDDEN, INPUTS)]
    operands += [m.weights(sides, 4 * HIDDEN, HIDDEN), m.weights(sides, 8 * HIDDEN)]
    if initial:
        operands += ["", *(m.input(sides, 1, HIDDEN, name=n) for n in ("first_h", "first_c"))]
    attrs = {"hidden_size": HIDDEN, "direction": direction}
    m.nodes.append(helper.make_node("LSTM", operands, list(outputs), name="lstm", **attrs))
    return [name for name in outputs if name]


def dense(m):
    hidden = m.op("Gemm", m.input(2, INPUTS), m.weights(HIDDEN, INPUTS), m.weights(8), transB=1)
    return [m.op("MatMul", m.op("Relu", hidden), m.weights(HIDDEN, 3))]


def conv(m):
    return [m.op("Conv", m.input(1, 3, 8, 7), m.weights(4, 3, 3, 3), m.weights(4))]


MODELS = {
    "lstm": lambda m: lstm(m, "y", "h", "c"),
    "last step of an lstm": lambda m: lstm(m, "", "h"),
    "both directions": lambda m: lstm(m, "y", "", "c", direction="bidirectional", initial=True),
    "dense": dense,
    "conv": conv,
}


def dynamic(build, folder, kind, *, per_channel=False):
    """The model, quantised by onnxruntime to integers whose products it adds exactly."""
    m = OnnxModel(17, seed=1)
    source, path = m.save(folder, *build(m)), folder / "dynamic.onnx"
    options = {"weight_type": KINDS[kind], "per_channel": per_channel, "reduce_range": True}
    quantize_dynamic(source, path, **options)
    return path


def feeds_of(graph):
    rng = np.random.default_rng(0)
    return {v.name: rng.normal(size=v.shape).astype(np.float32) for v in graph.input_values}


EVERY = [*product(MODELS, KINDS, [False, True])]


@pytest.mark.parametrize(("name", "kind", "per_channel"), sampled(EVERY[::3], EVERY))
def test_answers_are_those_of_the_numbers_that_weights_stand_for(name, kind, per_channel, tmp_path):
    path = dynamic(MODELS[name], tmp_path, kind, per_channel=per_channel)
    graph = open_model(path, keep_layout=True)
    feeds = feeds_of(graph)
    found = [Model(graph).run(feeds)[output] for output in graph.outputs]
    for mine, theirs in zip(found, expected(path, feeds), strict=True):
        assert mine.shape == theirs.shape
        assert np.abs(mine - theirs).max() < ROUNDED * np.abs(theirs).max()


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_looked_up_in_integers(kind, tmp_path):
    def build(m):
        return [m.op("Gather", m.weights(20, 6), m.input(1, 7, dtype=TensorProto.INT64))]

    path = dynamic(build, tmp_path, kind)
    graph = open_model(path)
    (lookup,) = graph.bound()
    assert lookup.op == "embedding"
    picked = np.array([[0, 19, 3, 3, 7, 1, 12]], np.int32)
    (found,) = Model(graph).run({"x": picked}).values()
    np.testing.assert_allclose(found, expected(path, {"x": picked.astype(np.int64)})[0], rtol=1e-6)


def test_rows_of_integers_that_nothing_scales_are_refused(tmp_path):
    m = OnnxModel(17)
    table = m.const(np.arange(12).reshape(4, 3), np.uint8)
    rows = m.op("Gather", table, m.input(1, 2, dtype=TensorProto.INT64))
    path = m.save(tmp_path, m.op("Relu", rows))
    with pytest.raises(UnsupportedError, match="Relu on a tensor of integers"):
        read_onnx(path)


def scaled(m, *shape, low=-EXACT, high=EXACT, dtype=np.int8, zero_point=0):
    """Integers, their scale and their zero point."""
    data = m.rng.integers(low, high, shape)
    return m.const(data, dtype), m.const(0.01), m.const(zero_point, dtype)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("op", ["DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
def test_products_that_onnxruntime_fuses(op, bias, tmp_path):
    m = OnnxModel(17)
    x = m.input(2, 6)
    w, scale, zero_point = scaled(m, 6, 5, zero_point=3)
    added = [m.weights(5)] if bias else []
    if op == "DynamicQuantizeMatMul":
        y = m.op(op, x, w, scale, zero_point, *added, domain="com.microsoft")
    else:
        x_scale, x_zero = m.const(0.02), m.const(100, np.uint8)
        q = m.op("QuantizeLinear", x, x_scale, x_zero)
        inputs = (q, w, x_scale, scale, x_zero, zero_point, *added)
        y = m.op(op, *inputs, domain="com.microsoft")
    proto = m.model(y)
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    path = tmp_path / "fused.onnx"
    path.write_bytes(proto.SerializeToString())
    graph = read_onnx(path)
    feeds = feeds_of(graph)
    (found,) = Model(graph).run(feeds).values()
    (wanted,) = expected(path, feeds)
    assert np.abs(found - wanted).max() < ROUNDED * np.abs(wanted).max()
    stored = [v for v in graph.values.values() if v.is_constant and v.dtype is DType.FLOAT32]
    assert any(v.shape == (5, 6) for v in stored)


@pytest.mark.parametrize("shape", [(1, 3, 5, 4), (2, 3)])
def test_batch_norms_by_what_the_model_computes(shape, tmp_path):
    m = OnnxModel(15)
    x = m.input(*shape)
    rest = [0, *range(2, len(shape))]
    mean = m.op("ReduceMean", x, axes=rest, keepdims=0)
    squares = m.op("ReduceMean", m.op("Mul", x, x), axes=rest, keepdims=0)
    parameters = (m.weights(3), m.weights(3), mean, squares)
    path = m.save(tmp_path, m.op("BatchNormalization", x, *parameters, epsilon=1e-3))
    graph = read_onnx(path)
    feeds = feeds_of(graph)
    (found,) = Model(graph).run(feeds).values()
    assert_close(found, expected(path, feeds)[0])
