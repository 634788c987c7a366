"""What lies at a limit of the ONNX importers is read, and one more is refused."""

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel
from tests.convert.onnx_small import GOES_ON, I64, at, loop, lstm, scan
from tinyrt.convert.onnx import (
    einsum,
    flow,
    lookup,
    nodes,
    proto,
    reader,
    recurrent,
    upsample,
    weights,
)
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import BudgetError, TinyrtError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate


def _product(m, count):
    """By an equation of so many characters."""
    equation = "a,a->a" if count == 6 else "aa,a->a"
    return m.op("Einsum", m.input(2), m.weights(2), equation=equation)


def _chain(m, count):
    y = m.input(2)
    for _ in range(count):
        y = m.op("Tanh", y)
    return y


def _scan(m, count):
    return scan(m, m.input(count, 2))


def _one_hot(m, count):
    table = m.const(count, np.int64), m.const([0, 1])
    return m.op("OneHot", m.input(2, dtype=I64), *table)


def _steps(m, count):
    return lstm(m, m.input(count, 1, 4))


def _norm(m, count):
    return m.op("LpPool", m.input(1, 2, 4, 4), kernel_shape=[2, 2], p=count)


def _rank(m, count):
    return m.op("Add", m.input(1), m.weights(*(1,) * count))


def _long(m, count):
    return m.op("Add", m.input(1), m.weights(count))


@pytest.mark.parametrize(
    ("module", "name", "most", "build"),
    [
        (einsum, "LONGEST_EQUATION", 6, _product),
        (nodes, "MAX_NODES", 2, _chain),
        (flow, "MAX_ITERATIONS", 3, _scan),
        (lookup, "MAX_CLASSES", 3, _one_hot),
        (recurrent, "MAX_STEPS", 3, _steps),
        (upsample, "MAX_EXPONENT", 3, _norm),
        (weights, "MAX_DIMENSIONS", 4, _rank),
        (weights, "LONGEST_DIMENSION", 5, _long),
    ],
)
def test_as_many_as_allowed_and_one_more(module, name, most, build, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, most)
    m = OnnxModel()
    assert read_onnx(m.save(tmp_path, build(m, most))).nodes
    m = OnnxModel()
    with pytest.raises(TinyrtError) as caught:
        read_onnx(m.save(tmp_path, build(m, most + 1)))
    assert f"{most}" in caught.value.expected


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (-1, False)])
def test_files_of_the_largest_size(more, is_read, monkeypatch, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Tanh", m.input(2)))
    monkeypatch.setattr(proto, "LARGEST", path.stat().st_size + more)
    if is_read:
        assert read_onnx(path).nodes
    else:
        with pytest.raises(TinyrtError, match="bytes, more than"):
            read_onnx(path)


@pytest.mark.parametrize(
    ("opset", "is_read"),
    [
        (reader.OLDEST_OPSET - 1, False),
        (reader.OLDEST_OPSET, True),
        (reader.NEWEST_OPSET, True),
        (reader.NEWEST_OPSET + 1, False),
    ],
)
def test_the_oldest_and_the_newest_operator_set(opset, is_read, tmp_path):
    m = at(OnnxModel(), opset)
    path = m.save(tmp_path, m.op("Tanh", m.input(2)))
    if is_read:
        assert read_onnx(path).nodes
    else:
        with pytest.raises(TinyrtError, match=f"operator set {opset}"):
            read_onnx(path)


@pytest.mark.parametrize(("depth", "is_read"), [(3, True), (4, False)])
def test_functions_that_call_functions(depth, is_read, monkeypatch, tmp_path):
    monkeypatch.setattr(nodes, "DEEPEST", 3)
    m = OnnxModel(18)
    model = m.model(m.op("F0", m.input(2), domain="mine"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    for i in range(depth):
        last = i == depth - 1
        call = helper.make_node(
            "Tanh" if last else f"F{i + 1}", ["a"], ["b"], domain="" if last else "mine"
        )
        model.functions.append(helper.make_function("mine", f"F{i}", ["a"], ["b"], [call], opsets))
    model.opset_import.append(opsets[1])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    if is_read:
        assert [node.op for node in read_onnx(path).nodes] == ["tanh"]
    else:
        with pytest.raises(TinyrtError, match="lie 3 deep"):
            read_onnx(path)


@pytest.mark.parametrize("count", [1, 3])
def test_a_loop_of_as_many_turns_as_allowed(count, monkeypatch, tmp_path):
    monkeypatch.setattr(flow, "MAX_ITERATIONS", 3)
    m = OnnxModel()
    y = loop(m, count, [GOES_ON, ("Tanh", ["s0"], ["t"])], ["t"], [m.input(2)])
    assert [node.op for node in read_onnx(m.save(tmp_path, y)).nodes] == ["tanh"] * count


def of_old(
    opset: int, *nodes: onnx.NodeProto, domain: str = "", **constants: np.ndarray
) -> onnx.ModelProto:
    """A model of x (2, 3, 4) and y, whose shape is the same."""
    ends = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3, 4]) for n in "xy"]
    weights = [onnx.numpy_helper.from_array(data, name) for name, data in constants.items()]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, data.shape)
        for name, data in constants.items()
    ]
    graph = helper.make_graph(list(nodes), "old", [ends[0], *inputs], [ends[1]], weights)
    opsets = [helper.make_opsetid(domain, opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=3)


@pytest.mark.parametrize("domain", ["", "ai.onnx"], ids=["unnamed", "named"])
def test_older_operator_sets_become_the_oldest_one(domain, tmp_path):
    """Set 6 has the axis at which the smaller operand begins, and the mode of a dropout."""
    path = tmp_path / "old.onnx"
    bias = np.array([1, 10, 100, 1000], np.float32)
    shifted = helper.make_node("Add", ["x", "b"], ["s"], axis=2, broadcast=1)
    dropped = helper.make_node("Dropout", ["s"], ["y"], is_test=1)
    path.write_bytes(of_old(6, shifted, dropped, domain=domain, b=bias).SerializeToString())
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    (found,) = evaluate(read_onnx(path), {"x": x}).values()
    np.testing.assert_array_equal(found, x + bias)


def _inside(model: onnx.ModelProto) -> None:
    del model.graph.node[:]
    branch = helper.make_graph([], "branch", [], [])
    model.graph.node.append(helper.make_node("If", ["x"], ["y"], then_branch=branch))


def _several_inside(model: onnx.ModelProto) -> None:
    branches = [helper.make_graph([], "branch", [], [])]
    model.graph.node[0].attribute.append(helper.make_attribute("branches", branches))


def _becomes(op: str) -> Callable[[onnx.ModelProto], None]:
    return lambda model: setattr(model.graph.node[0], "op_type", op)


NOT_CONVERTED: dict[str, tuple[Callable[[onnx.ModelProto], object], str]] = {
    "no shape": (lambda m: m.graph.output[0].type.tensor_type.ClearField("shape"), "onnx says"),
    "an op that the converter does not know": (_becomes("Tile"), "onnx says"),
    "functions": (lambda m: m.functions.add(), "drops its functions"),
    "sparse constants": (lambda m: m.graph.sparse_initializer.add(), "sparse constants"),
    "another file": (
        lambda m: m.graph.initializer.add(name="w", data_location=onnx.TensorProto.EXTERNAL),
        "other files",
    ),
    "a graph inside": (_inside, "the graphs inside of If"),
    "graphs inside": (_several_inside, "the graphs inside of Relu"),
    "slopes": (_becomes("PRelu"), "slopes of PRelu"),
    "learning": (_becomes("BatchNormalization"), "training mode"),
}


@pytest.mark.parametrize("flaw", NOT_CONVERTED)
def test_old_models_that_onnx_does_not_convert_faithfully_are_refused(flaw, tmp_path):
    path = tmp_path / "old.onnx"
    change, reason = NOT_CONVERTED[flaw]
    model = of_old(5, helper.make_node("Relu", ["x"], ["y"], consumed_inputs=[0]))
    change(model)
    path.write_bytes(model.SerializeToString())
    says = rf"the model uses ONNX operator set 5, which .* set 7\n(.*\n)*.*try.*opset 18.*{reason}"
    with pytest.raises(UnsupportedError, match=says):
        read_onnx(path)


@pytest.mark.parametrize(
    "error", [ValueError("\n"), KeyError(), onnx.version_converter.ConvertError]
)
def test_whatever_onnx_raises_while_it_converts_is_a_refusal(error, tmp_path):
    path = tmp_path / "old.onnx"
    path.write_bytes(of_old(6, helper.make_node("Relu", ["x"], ["y"])).SerializeToString())
    with (
        patch("onnx.version_converter.convert_version", side_effect=error),
        pytest.raises(UnsupportedError, match="is not brought to set 7"),
    ):
        read_onnx(path)


def test_a_batch_norm_that_was_for_inference_stays_one(tmp_path):
    path = tmp_path / "old.onnx"
    parts = {name: np.full(3, i + 1, np.float32) for i, name in enumerate("abcd")}
    node = helper.make_node("BatchNormalization", list("xabcd"), ["y"], is_test=1)
    path.write_bytes(of_old(6, node, **parts).SerializeToString())
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    (found,) = evaluate(read_onnx(path), {"x": x}).values()
    np.testing.assert_allclose(found, (x - 3) / np.sqrt(4 + 1e-5) + 2, rtol=1e-5, atol=1e-6)


def test_bringing_a_model_to_a_later_set_counts_its_size(tmp_path):
    path = tmp_path / "old.onnx"
    node = helper.make_node("Mul", ["x", "w"], ["y"])
    weights = np.ones((2, 3, 4), np.float32)
    path.write_bytes(of_old(6, node, w=weights).SerializeToString())
    with (
        patch.object(reader, "COPIES", 1 << 40),
        pytest.raises(BudgetError, match="a later operator set"),
    ):
        read_onnx(path)
