"""Inputs of ONNX models: dimensions left open, types, and values that the user fixes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel, assert_close, expected
from tests.convert.test_onnx_errors import refused
from tinyrt.api import evaluate as evaluate_outputs
from tinyrt.api import open_model, quantize_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import DataError, ModelFormatError, ShapeError, UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

KIND = onnx.TensorProto


def test_an_open_dimension_names_input_dimension_and_remedy(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", m.input("n", 3, "height", 10, name="image")))
    error = refused(path, ShapeError, "'image'", "number 2 ('height')")
    assert "--shape image=1,3,224,10" in error.hint
    assert error.tensor == "'image' float32[n,3,height,10]"
    assert read_onnx(path, shapes={"image": (1, 3, 7, 10)}).value("image").shape == (1, 3, 7, 10)


def test_open_dimensions_without_symbols(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", m.input(None, None)))
    error = refused(path, ShapeError, "number 1 ('?')")
    assert "--shape x=1,16000" in error.hint
    assert read_onnx(path, shapes={"x": (2, 5)}).value("x").shape == (2, 5)


def test_an_input_without_a_rank(tmp_path):
    m = OnnxModel()
    m.inputs.append(helper.make_tensor_value_info("x", KIND.FLOAT, None))
    path = m.save(tmp_path, m.op("Relu", "x"))
    assert refused(path, ShapeError, "has no shape").hint.endswith("--shape x=1,49,10,1")
    m.inputs[0] = helper.make_tensor_value_info("x", KIND.INT64, None)
    assert refused(m.save(tmp_path, "t0"), ShapeError).hint.endswith("--shape x=1,128")
    m.inputs[0] = helper.make_tensor_value_info("x", KIND.FLOAT, None)
    path = m.save(tmp_path, "t0")
    refused(path, ShapeError, "[0, 5] given for 'x'", "float32[any shape]", shapes={"x": (0, 5)})
    assert read_onnx(path, shapes={"x": (2, 5)}).value("x").shape == (2, 5)


def test_the_batch_symbol_is_one_wherever_it_occurs(tmp_path):
    m = OnnxModel()
    y = m.op("Add", m.input("n", 4), m.input(4, "n", name="y"))
    assert read_onnx(m.save(tmp_path, y)).value("y").shape == (4, 1)


def test_given_shapes_bind_their_symbols(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Add", m.input("n", "t"), m.input("n", "t", name="y")))
    assert read_onnx(path, shapes={"y": (3, 5)}).value("x").shape == (3, 5)
    refused(path, ShapeError, "[3, 5, 1]", "contradicts", shapes={"x": (3, 5, 1)})
    refused(path, ShapeError, "contradicts", shapes={"x": (3, 5), "y": (4, 5)})
    refused(path, DataError, "'z'", "'x', 'y'", shapes={"z": (3, 5)})


@pytest.mark.parametrize("symbol", ["?", "", "-1", "None", None])
def test_dimensions_without_a_name_are_not_the_same(symbol, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", m.input(symbol, 3, symbol, symbol)))
    error = refused(path, ShapeError, "open dimensions: number 2 ('?') and number 3 ('?')")
    assert error.tensor == "'x' float32[?,3,?,?]"
    assert "--shape x=1,3,224,224" in error.hint
    assert read_onnx(path, shapes={"x": (1, 3, 7, 5)}).value("x").shape == (1, 3, 7, 5)


SUGGESTED = {
    "tokens": ([("ids", KIND.INT64, ("batch", "seq"))], "--shape ids=1,128"),
    "tokens without names": ([("ids", KIND.INT32, (None, None))], "--shape ids=1,128"),
    "one symbol in two inputs": (
        [("ids", KIND.INT64, ("n", "s")), ("mask", KIND.INT64, ("n", "s"))],
        "--shape ids=1,128",
    ),
    "two symbols": (
        [("audio", KIND.FLOAT, ("n", "samples")), ("mels", KIND.FLOAT, ("n", "frames", 40))],
        "--shape audio=1,16000 --shape mels=1,100,40",
    ),
    "an image": ([("x", KIND.FLOAT, (1, None, None, None))], "--shape x=1,3,224,224"),
    "frames": ([("x", KIND.FLOAT, ("N", "T", "mels"))], "--shape x=1,100,80"),
    "five dimensions": ([("x", KIND.FLOAT, ("a", 3, "p", 4, 5))], "--shape x=1,3,32,4,5"),
}
"""Inputs, and the shapes that the hint suggests."""


@pytest.mark.parametrize("name", SUGGESTED)
def test_the_hint_suggests_what_such_inputs_often_have(name, tmp_path):
    inputs, options = SUGGESTED[name]
    m = OnnxModel()
    parts = [m.op("Cast", m.input(*dims, name=n, dtype=d), to=1) for n, d, dims in inputs]
    y = m.op("Mul", *parts) if len({d for _, d, _ in inputs}) < len(inputs) == 2 else parts[0]
    if name == "two symbols":
        y = m.op("Concat", *(m.op("Flatten", part) for part in parts), axis=1)
    path = m.save(tmp_path, y)
    assert refused(path, ShapeError).hint == f"give it, with your numbers: {options}"
    shapes = dict(option.split("=") for option in options.split() if "=" in option)
    read_onnx(path, shapes={n: tuple(map(int, s.split(","))) for n, s in shapes.items()})


def branching(m: OnnxModel) -> str:
    """A layer that a sampling rate chooses, whose bodies look at shapes."""

    def branch(name: str, weights: np.ndarray) -> onnx.GraphProto:
        w = onnx.numpy_helper.from_array(weights.astype(np.float32), f"{name}_w")
        node = helper.make_node("MatMul", ["x", f"{name}_w"], [name])
        out = helper.make_tensor_value_info(name, KIND.FLOAT, None)
        return helper.make_graph([node], name, [], [out], [w])

    m.input(1, 4)
    rate = m.input(name="sr", dtype=KIND.INT64)
    bodies = {f"{n}_branch": branch(n, m.rng.normal(size=(4, 3))) for n in ("then", "else")}
    return m.op("If", m.op("Equal", rate, m.const(16000, np.int64)), **bodies)


@pytest.mark.parametrize("rate", [16000, 8000, [16000], np.array(8000)])
def test_a_fixed_input_decides_and_is_gone(rate, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", branching(m)))
    graph = open_model(path, values={"sr": rate})
    assert graph.inputs == ("x",)
    assert [node.op for node in graph.nodes] == ["fully_connected"]
    x = np.random.default_rng(0).normal(size=(1, 4)).astype(np.float32)
    feeds = {"x": x, "sr": np.array(np.reshape(rate, ()), np.int64)}
    assert_close(Model(graph)(x), expected(path, feeds)[0])


def test_without_it_the_error_names_the_input_that_decides(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, branching(m))
    error = refused(path, UnsupportedError, "the condition of If depends on the model's input")
    assert "--value sr=NUMBER" in error.hint
    assert "--value x" not in error.hint


def test_another_batch_than_that_of_the_file_is_advised_on(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Relu", m.input(64, 5)))
    for shape in ((1, 5), (64, 4)):
        error = refused(path, ShapeError, "contradicts", "float32[64,5]", shapes={"x": shape})
        assert ("dynamic_axes" in error.hint) == (shape == (1, 5))
        assert "--shape x=64,5" in error.hint


def test_one_number_fills_an_input_of_any_shape_and_type(tmp_path):
    m = OnnxModel()
    x, mask = m.input(1, "s"), m.input(1, "s", name="mask", dtype=KIND.INT64)
    gain, deep = m.input(name="gain"), m.input(1, name="deep", dtype=KIND.DOUBLE)
    y = m.op("Mul", m.op("Mul", x, m.op("Cast", mask, to=1)), gain)
    y = m.op("Add", y, m.op("Cast", deep, to=1))
    path = m.save(tmp_path, m.op("Where", m.input(name="b", dtype=KIND.BOOL), y, x))
    values = {"mask": 1, "gain": 0.5, "deep": 2.5, "b": True}
    graph = read_onnx(path, shapes={"x": (1, 3)}, values=values)
    x = np.array([[1, -2, 3]], np.float32)
    kinds = {"gain": "f4", "deep": "f8", "b": bool}
    feeds = {n: np.array(values[n], kind) for n, kind in kinds.items()}
    feeds |= {"x": x, "mask": np.ones((1, 3), "i8"), "deep": feeds["deep"].reshape(1)}
    (found,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_allclose(found, expected(path, feeds)[0], rtol=1e-6)


MISFITS = {
    "an unknown name": ({"rate": 1}, "a value is given for 'rate', which is no input", "'n', 'x'"),
    "too many": ({"n": (1, 2, 3)}, "'n' has 3 elements", "int64[2], or one number"),
    "a fraction": ({"n": 0.5}, "'n' is no int64", "int64[2]"),
    "text": ({"n": "many"}, "'n' is <U4", "int64[2]"),
    "a complex number": ({"n": 1j}, "'n' is complex128", "int64[2]"),
    "nothing left": ({"n": 1, "x": 0}, "all inputs are fixed", "one input at least"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_values_that_do_not_fit_are_refused(name, tmp_path):
    values, problem, want = MISFITS[name]
    m = OnnxModel()
    n = m.op("Cast", m.input(2, name="n", dtype=KIND.INT64), to=1)
    path = m.save(tmp_path, m.op("Add", n, m.input(2)))
    error = refused(path, DataError, problem, want, values=values)
    assert "--value" in error.hint


def test_truth_values_may_be_inputs(tmp_path):
    m = OnnxModel()
    x, mask = m.input(1, 4), m.input(1, 4, name="mask", dtype=KIND.BOOL)
    path = m.save(tmp_path, m.op("Where", mask, m.op("Exp", x), m.op("Neg", x)))
    graph = open_model(path)
    assert graph.value("mask").dtype is DType.BOOL
    rng = np.random.default_rng(0)
    feeds = {"x": rng.normal(size=(1, 4)).astype(np.float32), "mask": np.array([[1, 0, 0, 1]]) > 0}
    assert_close(Model(graph).run(feeds)[graph.outputs[0]], expected(path, feeds)[0])


def an_image(m: OnnxModel, *readers: str) -> str:
    """An image of bytes, turned, and what reads it."""
    turned = m.op("Transpose", m.input(1, 4, 5, 3, dtype=KIND.UINT8), perm=[0, 3, 1, 2])
    results = [m.op(reader, turned, to=1) if reader == "Cast" else None for reader in readers]
    if "DequantizeLinear" in readers:
        results.append(m.op("DequantizeLinear", turned, m.const(0.1), m.const(3, np.uint8)))
    if "Shape" in readers:
        results.append(m.op("Cast", m.op("Shape", turned), to=1))
    y, *others = (result for result in results if result)
    for other in others:
        y = m.op("Add", y, m.op("ReduceMax", other, keepdims=0))
    return m.op("Mul", y, m.const(1 / 255))


@pytest.mark.parametrize("readers", [("Cast",), ("Cast", "Shape")])
def test_bytes_that_are_cast_are_numbers(readers, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, an_image(m, *readers))
    graph = open_model(path, keep_layout=True)
    assert graph.value("x").dtype is DType.UINT8
    x = np.random.default_rng(0).integers(0, 256, (1, 4, 5, 3)).astype(np.uint8)
    assert_close(Model(graph)(x), expected(path, {"x": x})[0])


def test_bytes_of_which_a_later_part_is_cast_are_numbers(tmp_path):
    m = OnnxModel()
    sizes = m.const([1, 3], np.int64)
    part = m.op("Split", m.input(1, 5, 4, dtype=KIND.UINT8), sizes, outputs=2, axis=2)
    path = m.save(
        tmp_path, m.op("Exp", m.op("Mul", m.op("Cast", f"{part}_1", to=1), m.const(0.01)))
    )
    x = np.random.default_rng(0).integers(0, 256, (1, 5, 4)).astype(np.uint8)
    assert_close(Model(open_model(path))(x), expected(path, {"x": x})[0])


def test_bytes_that_a_scale_belongs_to_are_quantised(tmp_path):
    m = OnnxModel()
    graph = read_onnx(m.save(tmp_path, an_image(m, "DequantizeLinear")))
    assert graph.value("x").dtype is DType.FLOAT32
    m = OnnxModel()
    path = m.save(tmp_path, an_image(m, "DequantizeLinear", "Cast"))
    refused(path, UnsupportedError, "Cast on a tensor of integers")


def test_models_of_bytes_are_quantised_by_samples_of_bytes(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Conv", an_image(m, "Cast"), m.weights(4, 3, 2, 2)))
    x = np.random.default_rng(0).integers(0, 256, (32, 4, 5, 3)).astype(np.uint8)
    quantize_model(path, {"x": x}, tmp_path / "int8.tflite")
    graph = open_model(tmp_path / "int8.tflite")
    assert [node.op for node in graph.nodes] == ["cast", "quantize", "conv2d"]
    report = evaluate_outputs(tmp_path / "int8.tflite", {"x": x}, against=path)
    assert report.sqnr_db > 30


def test_doubles_are_read_as_float32(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Cast", m.op("Exp", m.input(1, 4, dtype=KIND.DOUBLE)), to=1))
    graph = read_onnx(path)
    assert graph.value("x").dtype is DType.FLOAT32
    x = np.array([[0.5, -1, 2, 0]])
    (found,) = evaluate(graph, {"x": x.astype(np.float32)}).values()
    assert_close(found, expected(path, {"x": x})[0])


def test_missing_ops_are_named_before_the_inputs_that_come_with_them(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("StringNormalizer", m.input(None, dtype=KIND.STRING)))
    refused(path, UnsupportedError, "ops that tinyrt does not have: StringNormalizer")
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Cast", m.op("NonZero", m.input(1, 4)), to=1))
    refused(path, UnsupportedError, "ops that tinyrt does not have: NonZero")
    assert refused(path, DataError, "all inputs are fixed", values={"x": 1})


def test_models_of_other_domains_alone(tmp_path):
    m = OnnxModel()
    y = m.op("Scaler", m.input(1, 3), domain="ai.onnx.ml", offset=[1.0], scale=[2.0])
    proto = m.model(y)
    del proto.opset_import[:]
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    path = tmp_path / "scaler.onnx"
    path.write_bytes(proto.SerializeToString())
    (found,) = evaluate(read_onnx(path), {"x": np.array([[1, 2, 4]], np.float32)}).values()
    assert found.tolist() == [[0, 2, 6]]
    proto.graph.node.add(op_type="Relu", input=[y], output=["z"])
    path.write_bytes(proto.SerializeToString())
    refused(path, ModelFormatError, "does not say which of ONNX's operator sets it uses")
