"""Forms of ONNX ops that few exporters write, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from tests.convert.onnx_build import OnnxModel, assert_close, assert_matches, expected
from tests.convert.onnx_small import GOES_ON, loop, untyped
from tests.convert.test_onnx_forms import body
from tinyrt.convert.onnx import weights
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.onnx.weights import WeightsReader
from tinyrt.ops.shared.evaluate import evaluate

CASES = {}


def case(opset=18):
    def register(build):
        CASES[build.__name__] = (build, opset)
        return build

    return register


@case()
def einsum_with_a_number(m):
    return m.op("Einsum", m.const(0.5), m.input(3, 4), equation=",ij->ji")


@case()
def one_constant_in_two_shapes(m):
    """As rows for Gemm, as columns for MatMul, and as it is."""
    w, x = m.weights(4, 6), m.input(3, 4)
    y = m.op("Gemm", m.op("MatMul", x, w), w, transB=1)
    return m.op("Add", m.op("MatMul", y, w), m.op("MatMul", x, w))


@case()
def comparisons_with_one_constant(m):
    limit, x = m.const([0.5, -0.5, 0.0]), m.input(2, 3)
    counted = m.op("ArgMax", x, axis=1)
    few = m.const(1, np.int64)
    both = m.op("Or", m.op("Less", counted, few), m.op("Equal", counted, few))
    inside = m.op("And", both, m.op("Greater", x, limit))
    return m.op("Cast", m.op("Or", inside, m.op("Less", x, limit)), to=TensorProto.FLOAT)


@case()
def a_scan_over_a_constant(m):
    x, rows = m.input(2, 3), m.weights(4, 3)
    nodes = [helper.make_node("Add", ["s", "e"], ["next"])]
    state, element = ("s", TensorProto.FLOAT, [2, 3]), ("e", TensorProto.FLOAT, [3])
    scanned = body([state, element], nodes, [("next", TensorProto.FLOAT, [2, 3])])
    return m.op("Scan", x, rows, body=scanned, num_scan_inputs=1)


@case(7)
def upsample_by_an_attribute(m):
    return m.op("Upsample", m.input(1, 2, 3, 5), mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])


@case()
def a_signal_that_is_repeated(m):
    return m.op("Resize", m.input(1, 2, 5), "", m.const([1, 1, 2]), mode="nearest")


@case()
def sparse_constants_that_nothing_reads(m):
    return m.op("Relu", m.input(2, 3))


@case()
def zeros_around_what_is_never_negative(m):
    """Borders of zeros that maxima never choose."""
    x = m.op("Transpose", m.op("Relu", m.input(1, 4, 6, 5)), perm=[0, 2, 1, 3])
    y = m.op("Concat", x, m.op("Sigmoid", x), axis=1)
    return m.op("MaxPool", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])


@case()
def zeros_around_what_may_be_negative(m):
    x = m.op("Transpose", m.op("Tanh", m.input(1, 4, 6, 5)), perm=[0, 2, 1, 3])
    return m.op("MaxPool", x, kernel_shape=[3, 3], pads=[2, 1, 0, 1])


@pytest.mark.parametrize("name", CASES)
def test_it_equals_onnxruntime(name, tmp_path):
    build, opset = CASES[name]
    model = OnnxModel(opset)
    proto = model.model(build(model))
    if "sparse" in name:
        values = numpy_helper.from_array(np.ones(1, np.float32), "unread")
        places = numpy_helper.from_array(np.array([2], np.int64), "places")
        proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4]))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert_matches(path)


def test_a_function_leaves_what_its_call_leaves_out_to_the_op(tmp_path):
    m = OnnxModel(18)
    y = m.op("Leaky", m.op("Leaky", m.input(2, 3), domain="mine", slope=0.5), domain="mine")
    proto = m.model(y)
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    attribute = node.attribute.add()
    attribute.name, attribute.ref_attr_name = "alpha", "slope"
    attribute.type = onnx.AttributeProto.FLOAT
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    proto.functions.append(
        helper.make_function("mine", "Leaky", ["a"], ["b"], [node], opsets, ["slope"])
    )
    proto.opset_import.append(opsets[1])
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    graph, _ = assert_matches(path)
    assert sorted(round(n.attrs.alpha, 3) for n in graph.nodes) == [0.01, 0.5]


@pytest.mark.parametrize("given", [[True, True], [True, False], [False, True]])
def test_a_function_may_be_called_without_inputs_that_its_ops_do_not_need(given, tmp_path):
    m = OnnxModel(18)
    x = m.input(3, 4)
    limits = [
        m.const(limit) if is_given else ""
        for limit, is_given in zip((-0.5, 0.5), given, strict=True)
    ]
    proto = m.model(m.op("Bounded", x, *limits, domain="mine"))
    nodes = [helper.make_node("Clip", ["a", "low", "high"], ["b"])]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    formals = ["a", "low", "high"]
    proto.functions.append(helper.make_function("mine", "Bounded", formals, ["b"], nodes, opsets))
    proto.opset_import.append(opsets[1])
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    (found,) = evaluate(
        read_onnx(path), {"x": (x := np.float32([[-2, -0.2, 0.2, 2]] * 3))}
    ).values()
    low, high = (
        limit if is_given else None for limit, is_given in zip((-0.5, 0.5), given, strict=True)
    )
    np.testing.assert_array_equal(found, np.clip(x, low, high))


def test_a_loop_without_a_condition_runs_its_trips(tmp_path):
    m = OnnxModel()
    graph = untyped([GOES_ON, ("Add", ["s0", "s0"], ["t"])], ["i", "c", "s0"], ["d", "t"])
    path = m.save(tmp_path, m.op("Loop", m.const(3, np.int64), "", m.input(2), body=graph))
    (found,) = evaluate(read_onnx(path), {"x": np.float32([1.5, -2])}).values()
    np.testing.assert_array_equal(found, [12, -16])


def test_a_constant_in_the_body_of_a_loop_is_read_once(tmp_path, monkeypatch):
    step, asked = numpy_helper.from_array(np.float32([1.5, -2.0])), []
    m = OnnxModel()
    y = loop(m, 3, [GOES_ON, ("Add", ["s0", "k"], ["t"])], ["t"], [m.input(2)])
    graph = next(a.g for a in m.nodes[-1].attribute if a.name == "body")
    graph.node.insert(0, helper.make_node("Constant", [], ["k"], value=step))
    path = m.save(tmp_path, y)
    decoded = WeightsReader._decoded
    monkeypatch.setattr(
        WeightsReader, "_decoded", lambda self, t: asked.append(t) or decoded(self, t)
    )
    (found,) = evaluate(read_onnx(path), {"x": np.zeros(2, np.float32)}).values()
    np.testing.assert_array_equal(found, [4.5, -6.0])
    assert asked.count(step) == 1


def test_constants_may_share_a_file_which_is_opened_once(tmp_path, monkeypatch):
    arrays, opened = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32), []
    m = OnnxModel()
    factor, term = map(m.const, arrays)
    proto = m.model(m.op("Add", m.op("Mul", m.input(2, 3), factor), term))
    (tmp_path / "w.bin").write_bytes(arrays.tobytes())
    for i, tensor in enumerate(proto.graph.initializer):
        set_external_data(tensor, "w.bin", offset=12 * i, length=12)
        tensor.ClearField("raw_data")
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert_matches(path)
    mapped = weights._map_regular
    monkeypatch.setattr(weights, "_map_regular", lambda path: opened.append(path) or mapped(path))
    read_onnx(path)
    assert opened == [str(tmp_path / "w.bin")]


def test_swish_of_a_scaled_gate(tmp_path):
    """By its formula: onnxruntime may not have the op yet."""
    m = OnnxModel(24)
    graph = read_onnx(m.save(tmp_path, m.op("Swish", m.input(2, 5), alpha=1.7)))
    x = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    (found,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_allclose(found, x / (1 + np.exp(-1.7 * x)), rtol=1e-5)


def test_halves_are_read_from_numbers_as_from_bytes(tmp_path):
    halves = np.array([[1.5, -2.25], [0.0, 65504.0], [6e-8, -0.0]], np.float16)
    found = []
    for raw in (True, False):
        m = OnnxModel(18)
        w = m.const(halves, np.float16)
        path = tmp_path / "model.onnx"
        proto = m.model(m.op("Mul", m.input(3, 2), m.op("Cast", w, to=TensorProto.FLOAT)))
        if not raw:
            numbers = halves.reshape(-1).view(np.uint16).tolist()
            tensor = proto.graph.initializer[0]
            tensor.ClearField("raw_data")
            tensor.int32_data.extend(numbers)
        path.write_bytes(proto.SerializeToString())
        graph = read_onnx(path)
        x = np.ones((3, 2), np.float32)
        (y,) = evaluate(graph, {"x": x}).values()
        assert_close(y, expected(path, {"x": x})[0])
        found.append(y)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("computed", [(1,), (2,), (1, 2)])
def test_limits_of_clip_may_be_computed(computed, tmp_path):
    m = OnnxModel(13)
    x = m.input(1, 3, 4)
    ends = [
        m.op("ReduceMin", x, axes=[0, 1, 2], keepdims=0),
        m.op("ReduceMax", m.op("Neg", x), axes=[0, 1, 2], keepdims=0),
    ]
    limits = [ends[i - 1] if i in computed else "" for i in (1, 2)]
    assert_matches(m.save(tmp_path, m.op("Clip", m.op("Mul", x, m.const(2.0)), *limits)))


def test_doubles_are_computed_with_as_float32(tmp_path):
    m = OnnxModel(13)
    wide = m.op("Cast", m.input(1, 4), to=onnx.TensorProto.DOUBLE)
    scale = m.op("Cast", m.op("Sqrt", m.const([2, 3, 5, 7], np.float64)), to=11)
    y = m.op("Add", m.op("Mul", wide, scale), m.const(0.1, np.float64))
    path = m.save(tmp_path, m.op("Cast", m.op("Sub", y, m.const(1.0, np.float64)), to=1))
    graph, _ = assert_matches(path)
    assert [node.op for node in graph.nodes] == ["mul", "add"]
