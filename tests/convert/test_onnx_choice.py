"""Branches of ONNX's If that are chosen by what the model computes, beside onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tinyrt.api import open_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.interpreter.model import Model
from tinyrt.ops.shared.evaluate import evaluate

SHAPE = (1, 4)
OUTER = np.array([[1, -2, 3, -4]], np.float32)


def body(nodes, *outputs, shape=SHAPE, constants=()):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs]
    return helper.make_graph(nodes, "body", [], infos, list(constants))


def known(name, data):
    """A body that answers what is known."""
    return body([helper.make_node("Identity", ["k"], [name])], name, constants=[data])


def computed(op, name, *inputs):
    return body([helper.make_node(op, ["x", *inputs], [name])], name)


THEN = computed("Neg", "t")
BRANCHES = {
    "both are computed": (THEN, computed("Exp", "e")),
    "one is known": (THEN, known("e", numpy_helper.from_array(OUTER, "k"))),
    "one is the input": (THEN, computed("Identity", "e")),
    "both are the input": (computed("Identity", "t"), computed("Identity", "e")),
}


def model_of(folder, then, otherwise, keepdims=0, outputs=1):
    m = OnnxModel()
    mean = m.op("ReduceMean", m.input(*SHAPE), axes=[0, 1], keepdims=keepdims)
    condition = m.op("Greater", mean, m.const(0.0))
    first = m.op("If", condition, then_branch=then, else_branch=otherwise, outputs=outputs)
    results = [first, *(f"{first}_{i}" for i in range(1, outputs))]
    return m.save(folder, *(m.op("Abs", result) for result in results))


def assert_either_way(path):
    graph = open_model(path)
    model = Model(graph)
    for sign in (1, -1):
        x = sign * np.arange(1, 5, dtype=np.float32).reshape(SHAPE)
        answers = model.run_raw({"x": x})
        for name, want in zip(graph.outputs, expected(path, {"x": x}), strict=True):
            assert_close(answers[name].reshape(SHAPE), want)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("branches", BRANCHES)
def test_both_run_and_one_is_chosen(branches, keepdims, tmp_path):
    assert_either_way(model_of(tmp_path, *BRANCHES[branches], keepdims))


def test_each_output_is_chosen(tmp_path):
    nodes = {
        which: [helper.make_node(op, ["x"], [f"{which}{i}"]) for i, op in enumerate(ops)]
        for which, ops in (("then", ("Neg", "Exp")), ("else", ("Relu", "Tanh")))
    }
    then, otherwise = (body(made, f"{which}0", f"{which}1") for which, made in nodes.items())
    assert_either_way(model_of(tmp_path, then, otherwise, outputs=2))


def test_the_number_of_dimensions_is_that_of_the_branches(tmp_path):
    graph = read_onnx(model_of(tmp_path, *BRANCHES["both are computed"], keepdims=1))
    assert graph.output_values[0].shape == SHAPE
    (choice,) = (node for node in graph.bound() if node.op == "select_v2")
    assert choice.input(0).shape == ()


def test_integers_may_decide_beside_numbers(tmp_path):
    m = OnnxModel()
    mean = m.op("ReduceMean", m.input(*SHAPE), axes=[0, 1], keepdims=0)
    asked = m.op("Equal", m.input(1, name="n", dtype=TensorProto.INT64), m.ints(3))
    condition = m.op("And", m.op("Greater", mean, m.const(0.0)), asked)
    then, otherwise = BRANCHES["both are computed"]
    y = m.op("If", condition, then_branch=then, else_branch=otherwise)
    model = Model(open_model(m.save(tmp_path, y)))
    for n, sign in ((3, 1), (3, -1), (2, 1)):
        x = sign * np.arange(1, 5, dtype=np.float32).reshape(SHAPE)
        answers = model.run_raw({"x": x, "n": np.array([n], np.int32)})
        assert_close(*answers.values(), -x if (n, sign) == (3, 1) else np.exp(x))


def test_a_branch_around_a_branch(tmp_path):
    inner = helper.make_node(
        "If", ["positive"], ["t"], then_branch=computed("Exp", "t2"), else_branch=THEN
    )
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "two"], ["positive"]),
        inner,
    ]
    two = numpy_helper.from_array(np.float32(2), "two")
    assert_either_way(model_of(tmp_path, body(nodes, "t", constants=[two]), computed("Neg", "e")))


def test_a_branch_may_answer_what_lies_around_it(tmp_path):
    m = OnnxModel()
    around = m.op("Exp", m.input(*SHAPE))
    y = m.op("If", m.const(True, bool), then_branch=body([], around), else_branch=THEN)
    graph = read_onnx(m.save(tmp_path, m.op("Neg", y)))
    x = np.arange(4, dtype=np.float32).reshape(SHAPE)
    (found,) = evaluate(graph, {"x": x}).values()
    assert_close(found, -np.exp(x))
