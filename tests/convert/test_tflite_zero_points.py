"""Zero points that differ between the slices of a constant, and scales of biases: as in LiteRT."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import agree
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops.shared.evaluate import evaluate

runtime = pytest.importorskip("tflite_micro", reason="needs tflite-micro").runtime

EDGES = np.array([[-128, -127, 0, 126, 127, 1]] * 2, np.int8)


def stored(dtype="INT8", data=EDGES, zero_points=(-128, 127), axis=0, outputs=("y",), more=()):
    """x plus a constant that is dequantised; its slices along the axis have scales of their own."""
    scale = (0.25, 0.7, 3.0, 1.0, 0.1, 0.3)[: len(zero_points)]
    tensors = [
        Tensor("x", data.shape),
        Tensor("k", data.shape, dtype, data, scale=scale, zero_point=zero_points, axis=axis),
        Tensor("w", data.shape),
        Tensor("y", data.shape),
    ]
    ops = [Op("DEQUANTIZE", ["k"], ["w"]), Op("ADD", ["x", "w"], ["y"], "AddOptions"), *more]
    return build(Subgraph(tensors, ops, ["x"], list(outputs)))


@pytest.mark.parametrize(
    "file",
    [
        stored(),
        stored(zero_points=(3, -3, 0, 5, 127, -128), axis=1),
        stored("UINT8", EDGES.view(np.uint8), zero_points=(255, 0)),
    ],
    ids=["rows", "columns", "unsigned"],
)
def test_slices_have_zero_points_of_their_own(file):
    agree(file)
    constant = parse_tflite(file).value("k")
    assert constant.dtype is DType.INT16
    assert constant.q.zero_point == 0


@pytest.mark.parametrize(
    "file",
    [
        stored(outputs=("y", "k")),
        stored(more=[Op("RESHAPE", ["k"], ["y"])]),
        stored("INT16", EDGES.astype(np.int16), zero_points=(1, 2)),
    ],
    ids=["an output", "read by another op", "of 16 bits"],
)
def test_they_are_refused_where_something_else_reads_them(file):
    with pytest.raises(UnsupportedError, match="zero points differ between channels"):
        parse_tflite(file)


@pytest.mark.parametrize("zero_points", [(-129, 0), (0, 128)])
def test_each_is_a_value_of_the_dtype(zero_points):
    with pytest.raises(ModelFormatError, match="quantization has zero_point") as caught:
        parse_tflite(stored(zero_points=zero_points))
    assert caught.value.expected == "-128 to 127"


def test_one_is_that_of_all_scales():
    constant = Tensor("k", (2, 3), "INT8", EDGES[:, :3], scale=(0.5, 2.0), zero_point=(3,))
    ports = [Tensor("x", (3,)), Tensor("y", (3,)), constant]
    file = build(Subgraph(ports, [Op("ABS", ["x"], ["y"])], ["x"], ["y"]))
    details = Interpreter(model_content=file).get_tensor_details()
    (found,) = (d["quantization_parameters"] for d in details if d["name"] == "k")
    assert (found["scales"].tolist(), found["zero_points"].tolist()) == ([0.5, 2.0], [3, 3])


def test_scales_of_a_bias_lie_along_its_only_dimension():
    """Some files give it the quantised dimension of the filter that it belongs to."""
    ramp = np.arange(-6, 6, dtype=np.int8).reshape(3, 1, 1, 4)
    scale = (0.5, 0.25, 0.125)
    tensors = [
        Tensor("x", (1, 2, 2, 4), "INT8", scale=0.5),
        Tensor("w", (3, 1, 1, 4), "INT8", ramp, scale=scale, zero_point=(0, 0, 0)),
        Tensor("b", (3,), "INT32", np.array([9, -7, 5], np.int32), axis=3, zero_point=(0, 0, 0),
               scale=tuple(s / 2 for s in scale)),
        Tensor("y", (1, 2, 2, 3), "INT8", scale=1.0, zero_point=4),
    ]  # fmt: skip
    op = Op("CONV_2D", ["x", "w", "b"], ["y"], "Conv2DOptions", {"StrideW": 1, "StrideH": 1})
    graph = parse_tflite(build(Subgraph(tensors, [op], ["x"], ["y"])))
    assert graph.value("b").q.axis == 0


def test_zero_points_without_scales_say_nothing():
    tensors = [Tensor("x", (2,), zero_point=(1, 2), scale=()), Tensor("y", (2,))]
    file = build(Subgraph(tensors, [Op("ADD", ["x", "x"], ["y"], "AddOptions")], ["x"], ["y"]))
    assert parse_tflite(file).value("x").q is None


@pytest.mark.parametrize("zero_point", [-128, -1, 5, 127])
def test_dense_layers_compute_with_the_zero_point_of_their_weights(zero_point):
    """As TFLM does; weights of all int8 become wider than that."""
    rng = np.random.default_rng(zero_point + 200)
    w = rng.integers(-128, 128, (6, 11)).astype(np.int8)
    tensors = [
        Tensor("x", (4, 11), "INT8", scale=0.05, zero_point=-30),
        Tensor("w", w.shape, "INT8", w, 0.01, zero_point),
        Tensor("b", (6,), "INT32", rng.integers(-900, 900, 6).astype(np.int32)),
        Tensor("y", (4, 6), "INT8", scale=0.4, zero_point=9),
    ]
    op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnectedOptions")
    data = build(Subgraph(tensors, [op], ["x"], ["y"]))
    graph = parse_tflite(data)
    for read in (data, write_tflite(graph)):
        tflm = runtime.Interpreter.from_bytes(read)
        for _ in range(3):
            x = rng.integers(-128, 128, (4, 11), np.int8)
            tflm.set_input(x, 0)
            tflm.invoke()
            np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], tflm.get_output(0))


def test_weights_of_a_dense_layer_with_a_scale_for_each_output_have_none():
    tensors = [
        Tensor("x", (4, 11), "INT8", scale=0.05, zero_point=-30),
        Tensor("w", (6, 11), "INT8", np.ones((6, 11), np.int8), [0.01] * 6, zero_point=5),
        Tensor("y", (4, 6), "INT8", scale=0.4, zero_point=9),
    ]
    op = Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions")
    with pytest.raises(TinyrtError, match="weights have zero point 5"):
        parse_tflite(build(Subgraph(tensors, [op], ["x"], ["y"])))


@pytest.mark.parametrize("zero_point", [0, 5])
def test_computed_weights_of_a_dense_layer_may_have_one(zero_point):
    """As TFLM does."""
    tensors = [
        Tensor("x", (4, 11), "INT8", scale=0.05, zero_point=-30),
        Tensor("w", (6, 11), "INT8", None, 0.01, zero_point),
        Tensor("y", (4, 6), "INT8", scale=0.4, zero_point=9),
    ]
    op = Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions")
    data = build(Subgraph(tensors, [op], ["x", "w"], ["y"]))
    graph, tflm = parse_tflite(data), runtime.Interpreter.from_bytes(data)
    rng = np.random.default_rng(zero_point)
    for _ in range(3):
        x, w = (rng.integers(-128, 128, shape, np.int8) for shape in ((4, 11), (6, 11)))
        for i, operand in enumerate((x, w)):
            tflm.set_input(operand, i)
        tflm.invoke()
        found = evaluate(graph, {"x": x, "w": w})["y"]
        np.testing.assert_array_equal(found, tflm.get_output(0))
