"""Numbers without dimensions in ONNX models, computed with constants, stay without."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tinyrt.api import open_model
from tinyrt.interpreter.model import Model

TWO = np.float32(2)
CASES = {
    "Neg": ((), -3.0),
    "Mul": ((TWO,), 6.0),
    "Add": ((TWO,), 5.0),
    "Max": ((TWO,), 3.0),
    "Reciprocal": ((), 1 / 3),
    "Softsign": ((), 0.75),
}


def number_model(tmp_path, nodes, constants, result, shape):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [])
    y = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
    stored = [numpy_helper.from_array(np.asarray(c), name) for name, c in constants.items()]
    graph = helper.make_graph(nodes, "number", [x], [y], stored)
    path = tmp_path / "number.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return open_model(path)


def answer(graph):
    (name,) = graph.outputs
    return Model(graph).run_raw({"x": np.full((1,), 3, np.float32)})[name][0]


@pytest.mark.parametrize("op", CASES)
def test_what_is_computed_of_a_number_is_one(op, tmp_path):
    constants, expected = CASES[op]
    named = {f"c{i}": c for i, c in enumerate(constants)}
    graph = number_model(tmp_path, [helper.make_node(op, ["x", *named], ["y"])], named, "y", [])
    (y,) = graph.output_values
    assert y.shape == ()
    assert answer(graph) == pytest.approx(expected, rel=1e-6)


def test_ops_behind_see_no_dimension_either(tmp_path):
    nodes = [
        helper.make_node("Mul", ["x", "c"], ["twice"]),
        helper.make_node("Unsqueeze", ["twice", "axes"], ["row"]),
        helper.make_node("Concat", ["row", "row"], ["y"], axis=0),
    ]
    constants = {"c": TWO, "axes": np.array([0], np.int64)}
    graph = number_model(tmp_path, nodes, constants, "y", [2])
    (y,) = graph.output_values
    assert y.shape == (2,)
    np.testing.assert_array_equal(answer(graph), [6, 6])


@pytest.mark.parametrize("constant", [np.full(1, 2, np.float32), np.full((1, 1), 2, np.float32)])
def test_a_constant_with_dimensions_brings_them(constant, tmp_path):
    node = helper.make_node("Mul", ["x", "c"], ["y"])
    graph = number_model(tmp_path, [node], {"c": constant}, "y", list(constant.shape))
    (y,) = graph.output_values
    assert y.shape == constant.shape


def test_a_dimension_that_is_asked_for_stays(tmp_path):
    node = helper.make_node("Unsqueeze", ["x", "axes"], ["y"])
    constants = {"axes": np.array([0], np.int64)}
    graph = number_model(tmp_path, [node], constants, "y", [1])
    assert graph.output_values[0].shape == (1,)
