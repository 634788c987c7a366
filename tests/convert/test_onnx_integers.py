"""Ops that move integers, choose among them or store them: the same integers as onnxruntime's."""

import numpy as np
import pytest
from onnx import TensorProto

from tests.convert.onnx_build import OnnxModel, expected
from tests.convert.test_onnx_quantised import on_grid, real, saved, scalar
from tinyrt.api import open_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.interpreter import Model
from tinyrt.ir import DType, RewriteLog
from tinyrt.ops.shared.evaluate import evaluate

SCALE, SHAPE = 0.03, (1, 4, 7, 9)
X = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def answers(path, x=X):
    """Of onnxruntime, of the graph as it is read, and of the int8 model, channels last."""
    (wanted,) = expected(path, {"x": x})
    (found,) = evaluate(read_onnx(path), {"x": x}).values()
    graph = open_model(path)
    turned = x if graph.input_values[0].shape == x.shape else np.moveaxis(x, 1, -1)
    (int8,) = Model(graph, backend="reference").run({"x": turned}).values()
    if int8.shape != wanted.shape:
        int8 = np.moveaxis(int8, -1, 1)
    return wanted, found, int8


def border(m, value):
    return m.ints(0, 0, 1, 1, 0, 0, 1, 2), m.const(value, np.uint8)


MOVES = {
    "a border of zeros": lambda m, x: m.op("Pad", x, *border(m, 121)),
    "a border of another number": lambda m, x: m.op("Pad", x, *border(m, 7)),
    "a border of the edge": lambda m, x: m.op(
        "Pad", x, m.ints(0, 0, 1, 1, 0, 0, 1, 2), mode="edge"
    ),
    "two parts joined": lambda m, x: m.op(
        "Concat", m.op("MaxPool", x, kernel_shape=[1, 1]), m.op("ReduceMax", x, axes=[1]), axis=1
    ),
    "a part": lambda m, x: m.op("Split", x, axis=1, outputs=2),
    "repeated": lambda m, x: m.op("Tile", x, m.ints(1, 2, 1, 1)),
}


@pytest.mark.parametrize("move", MOVES)
def test_moved_integers_are_the_same(tmp_path, move):
    m = OnnxModel(13)
    grid = scalar(m, SCALE, 121)
    x = m.op("QuantizeLinear", m.input(*SHAPE), *grid)
    wanted, *found = answers(saved(m, tmp_path, real(m, MOVES[move](m, x), *grid)))
    for moved in found:
        np.testing.assert_allclose(moved, wanted, atol=1e-6)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_places_among_integers_are_the_same(tmp_path, op):
    m = OnnxModel(13)
    x = m.op("QuantizeLinear", m.input(*SHAPE), *scalar(m, SCALE, 121))
    place = m.op(op, x, axis=1)
    path = saved(m, tmp_path, m.op("Cast", place, to=TensorProto.FLOAT))
    wanted, *found = answers(path)
    for places in found:
        np.testing.assert_array_equal(places, wanted)
    assert len(np.unique(wanted)) == 4


def layer(m, weights):
    return on_grid(m, m.op("Conv", on_grid(m, m.input(*SHAPE), SCALE), weights), 0.2)


def constant_on_grid(m, scale, zero_point, dtype, axis=None):
    """Float weights that the file rounds itself; per channel with an axis."""
    w = m.const(m.rng.uniform(-0.3, 0.3, (5, 4, 3, 3)))
    grid = m.const(scale), m.const(zero_point, dtype)
    attrs = {} if axis is None else {"axis": axis}
    return m.op("DequantizeLinear", m.op("QuantizeLinear", w, *grid, **attrs), *grid, **attrs)


STORED = {
    "one scale": (0.002, 0, np.int8, None),
    "one scale that clips": (0.001, 0, np.int8, None),
    "a scale per channel": (np.linspace(0.001, 0.003, 5), [0] * 5, np.int8, 0),
}


@pytest.mark.parametrize("grid", STORED)
def test_weights_that_the_file_rounds_are_stored_in_int8(tmp_path, grid):
    m = OnnxModel(13)
    path = saved(m, tmp_path, layer(m, constant_on_grid(m, *STORED[grid])))
    wanted, found, int8 = answers(path)
    np.testing.assert_allclose(found, wanted, atol=0.2001)
    assert np.mean(np.abs(found - wanted) > 1e-5) < 0.01  # a step of rounding decides
    assert np.abs(int8 - wanted).max() < 0.2001
    (conv,) = open_model(path).nodes
    assert open_model(path).value(conv.inputs[1]).dtype is DType.INT8


def test_weights_are_stored_in_int8_though_the_file_shapes_them_anew(tmp_path):
    m = OnnxModel(13)
    rows = m.const(m.rng.integers(-128, 128, (5, 36)), np.int8)
    real = m.op("DequantizeLinear", rows, *scalar(m, 0.002, 0, np.int8))
    path = saved(m, tmp_path, layer(m, m.op("Reshape", real, m.ints(5, 4, 3, 3))))
    (conv,) = open_model(path).nodes
    assert open_model(path).value(conv.inputs[1]).dtype is DType.INT8
    wanted, _, int8 = answers(path)
    assert np.abs(int8 - wanted).max() < 0.2001


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_weights_of_several_zero_points_are_counted_from_them(tmp_path, dtype):
    """Int8 kernels have no zero points of weights: what is wider than int8 is a sum of parts."""
    m = OnnxModel(13)
    zero_points = np.array([0, 3, -5, 0, 1]) + (0 if dtype is np.int8 else 128)
    grid = m.const(np.linspace(0.001, 0.003, 5)), m.const(zero_points, dtype)
    steps = m.rng.integers(-128, 128, (5, 4, 3, 3)) + (0 if dtype is np.int8 else 128)
    w = m.op("DequantizeLinear", m.const(steps, dtype), *grid, axis=0)
    path, log = saved(m, tmp_path, layer(m, w)), RewriteLog()
    graph = open_model(path, log=log)
    assert [n.op for n in graph.nodes] == ["slice", "slice", "concatenation", "conv2d"]
    assert all(n.output.dtype is DType.INT8 for n in graph.bound())
    (reason,) = (r for (step, _), r in log.reasons.items() if step == "weights_in_parts")
    assert reason == "its weights are wider than int8, and so sums of 2 parts"
    wanted, found, int8 = answers(path)
    assert np.abs(found - wanted).max() < 0.2001
    assert np.abs(int8 - wanted).max() < 0.2001
    assert np.mean(np.abs(int8 - wanted) > 1e-5) < 0.01


def test_a_type_of_integers_may_be_an_attribute(tmp_path):
    """In place of a zero point, which is 0 then."""
    found = []
    for given in (True, False):
        m = OnnxModel(21)
        m.input(*SHAPE)
        zero = (m.const(0, np.int8),) if given else ()
        attrs = {} if given else {"output_dtype": TensorProto.INT8}
        grid = m.const(SCALE)
        y = m.op("DequantizeLinear", m.op("QuantizeLinear", "x", grid, *zero, **attrs), grid, *zero)
        path = saved(m, tmp_path, y)
        (answer,) = evaluate(read_onnx(path), {"x": X}).values()
        found.append(answer)
    np.testing.assert_array_equal(*found)
    assert found[0].min() < 0
