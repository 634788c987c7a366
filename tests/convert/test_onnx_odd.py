"""Models that are whole, but not as exporters usually write them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel, assert_close, expected, feeds_for
from tests.ops.peers import answers_of_litert
from tinyrt.api import open_model
from tinyrt.convert.onnx.bodies import in_order
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.ops.shared.evaluate import evaluate

ODD_NAMES = ("a/b:0", "späß", "x y", "%s", "\\n", "q\"t'", "-1", "longer " * 9)


def scalar(m):
    x = m.op("Mul", m.op("Reshape", m.input(1), m.const(np.zeros(0), np.int64)), m.const([2.0]))
    return [m.op("Reshape", m.op("Erf", x), m.ints(1))]


def scalar_input(m):
    return [m.op("Erf", m.op("Mul", m.input(), m.const(0.5)))]


def smaller_operand(m):
    """A constant of more dimensions than its operand has, once a reshape has moved."""
    x = m.op("Reshape", m.input(6), m.ints(1, 6))
    return [m.op("Sub", x, m.const([[0.5]])), m.op("Sub", x, m.weights(1, 6))]


def dead_branch(m):
    x = m.input(2, 3)
    m.op("Hardmax", x)
    return [m.op("Relu", x)]


def shared_weights(m):
    x, w = m.input(2, 4, 4), m.weights(4, 4)
    y = m.op("MatMul", m.op("Relu", m.op("MatMul", x, w)), w)
    return [m.op("Add", y, m.op("MatMul", w, x))]


def long_integers(m):
    x = m.input(2, 3, 4)
    count = m.op("ReduceProd", m.op("Shape", x), keepdims=1)
    half = m.op("Div", m.op("Mul", count, m.ints(2**33)), m.ints(2**34))
    return [m.op("Reshape", x, m.op("Concat", half, m.ints(-1), axis=0))]


def asymmetric(m):
    x = m.op("Conv", m.input(1, 4, 9), m.weights(6, 2, 3), group=2, dilations=[2], pads=[2, 1])
    return [m.op("ConvTranspose", x, m.weights(6, 1, 3), group=6, strides=[2], pads=[1, 0])]


def transposed_rank_5(m):
    x = m.op("Transpose", m.input(1, 2, 3, 4, 5), perm=[0, 4, 2, 1, 3])
    return [m.op("Sub", x, m.weights(5, 1, 1, 1))]


def blocks_of_one(m):
    y = m.op("SpaceToDepth", m.input(1, 3, 4, 6), blocksize=1)
    return [m.op("Relu", m.op("DepthToSpace", y, blocksize=1))]


ODD = {
    build.__name__: build
    for build in (
        asymmetric,
        blocks_of_one,
        dead_branch,
        long_integers,
        scalar,
        scalar_input,
        shared_weights,
        smaller_operand,
        transposed_rank_5,
    )
}


def check(path):
    """Beside onnxruntime, from the graph, from the file read again, and by LiteRT."""
    graph = open_model(path, keep_layout=True)
    feeds = feeds_for(graph)
    wanted = expected(path, feeds)
    again = parse_tflite(write_tflite(graph))
    answers = (
        evaluate(graph, feeds).values(),
        evaluate(again, feeds).values(),
        answers_of_litert(graph, feeds),
    )
    for found in answers:
        for y, want in zip(found, wanted, strict=True):
            assert_close(np.reshape(y, want.shape), want)
    return graph


@pytest.mark.parametrize("name", ODD)
def test_it_equals_onnxruntime(name, tmp_path):
    m = OnnxModel(13)
    check(m.save(tmp_path, *ODD[name](m)))


def test_an_output_that_is_an_input_gets_a_name_of_its_own(tmp_path):
    m = OnnxModel(13)
    x = m.input(2, 3)
    graph = check(m.save(tmp_path, m.op("Relu", x), x))
    assert graph.outputs == ("t0", "x.output")


def test_names_may_be_anything_and_those_of_nodes_nothing(tmp_path):
    m = OnnxModel(13)
    x = m.input(2, 3, name="0")
    for name in ODD_NAMES:
        m.nodes.append(onnx.helper.make_node("Elu", [x], [name]))
        x = name
    graph = check(m.save(tmp_path, x))
    assert [node.outputs[0] for node in graph.nodes] == list(ODD_NAMES)


def test_nodes_may_stand_in_any_order(tmp_path):
    m = OnnxModel(13)
    x = m.input(2, 3)
    branch = onnx.helper.make_graph(
        [onnx.helper.make_node("Neg", ["t1"], ["negated"])],
        *("branch", [], [onnx.helper.make_tensor_value_info("negated", 1, None)]),
    )
    left, right = m.op("Relu", x), m.op("Elu", x)
    chosen = m.op("If", m.const(True, bool), then_branch=branch, else_branch=branch)
    y = m.op("Add", m.op("Sub", left, chosen), right)
    ordered = list(m.nodes)
    names = {tuple(n.name for n in check(m.save(tmp_path, y)).nodes)}
    for seed in range(8):
        m.nodes = [ordered[i] for i in np.random.default_rng(seed).permutation(len(ordered))]
        names.add(tuple(sorted(n.name for n in check(m.save(tmp_path, y)).nodes)))
    assert len({frozenset(some) for some in names}) == 1


def test_absent_inputs_and_outputs_are_no_tie_between_nodes():
    """Names of length 0: nodes that leave out an output make none that others read."""
    first = onnx.helper.make_node("Dropout", ["x"], ["a", ""])
    second = onnx.helper.make_node("Clip", ["a", "", "most"], ["y"])
    third = onnx.helper.make_node("Dropout", ["y"], ["z", ""])
    for nodes in permutations((first, second, third)):
        ordered = [nodes[i] for i in in_order(nodes)]
        assert ordered == [first, second, third]
