"""Models that store weights as integers beside float activations, and other rare forms of files."""

from dataclasses import replace

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, single
from tests.convert.test_tflite_breadth import agree
from tests.graphs import Builder
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, Stage
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.transpose_conv import TransposeConvAttrs

RNG = np.random.default_rng(11)
ROWS = RNG.integers(-127, 128, (4, 6)).astype(np.int8)
X = RNG.normal(size=(3, 6)).astype(np.float32)


def hybrid(scale):
    """y = x @ w.T + b and z = x @ w.T on floats, w in int8."""
    tensors = [
        Tensor("x", (3, 6)),
        Tensor("w", (4, 6), "INT8", ROWS, scale=scale),
        Tensor("b", (4,), data=np.arange(4, dtype=np.float32)),
        *(Tensor(name, (3, 4)) for name in "yz"),
    ]
    ops = [
        Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnectedOptions"),
        Op("FULLY_CONNECTED", ["x", "w"], ["z"], "FullyConnectedOptions"),
    ]
    return build(Subgraph(tensors, ops, ["x"], ["y", "z"]))


@pytest.mark.parametrize("scale", [0.01, (0.01, 0.02, 0.005, 0.1)], ids=["one", "per channel"])
def test_integer_weights_of_float_layers_count_as_the_numbers_that_they_are(scale):
    graph = parse_tflite(hybrid(scale))
    w = ROWS * np.reshape(np.float32(scale), (-1, 1))
    found = evaluate(graph, {"x": X})
    np.testing.assert_allclose(found["z"], X @ w.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["y"], X @ w.T + np.arange(4), rtol=1e-5, atol=1e-5)
    assert [n.op for n in graph.nodes].count("dequantize") == 1  # two layers share their weights


def test_integer_weights_of_float_layers_stay_integers_in_memory_and_in_files(tmp_path):
    data = hybrid(0.01)
    graph = parse_tflite(write_tflite(parse_tflite(data)))
    assert [v.dtype for v in graph.values.values() if v.is_constant and v.shape == (4, 6)] == [
        DType.INT8
    ]
    interpreter = tinyrt.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], X)
    interpreter.invoke()
    (y, z) = (interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details())
    np.testing.assert_allclose(y - z, np.tile(np.arange(4), (3, 1)), atol=1e-5)


def test_names_that_the_reader_needs_may_be_taken():
    """ADD_N becomes sums of two, whose names come from that of its output."""
    names = ["x", "y/sum_1", "y/sum_1_1"]
    tensors = [*(Tensor(n, (2, 3)) for n in names), Tensor("y", (2, 3))]
    agree(build(Subgraph(tensors, [Op("ADD_N", names, ["y"], "AddNOptions")], names, ["y"])))


def test_a_sum_of_one_is_a_copy():
    graph = parse_tflite(single("ADD_N", [Tensor("x", (2, 3)), Tensor("y", (2, 3))], "AddNOptions"))
    (found,) = evaluate(graph, {"x": X[:2, :3]}).values()
    np.testing.assert_array_equal(found, X[:2, :3])


def test_a_variable_that_is_read_again_holds_what_was_assigned():
    kept, options = {"SharedName": "v", "Container": ""}, "ReadVariableOptions"
    ops = [
        Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts=kept),
        Op("READ_VARIABLE", ["h"], ["before"], options),
        Op("ADD", ["before", "x"], ["sum"], "AddOptions"),
        Op("ASSIGN_VARIABLE", ["h", "sum"], [], "AssignVariableOptions"),
        Op("READ_VARIABLE", ["h"], ["now"], options),
        Op("MUL", ["now", "x"], ["y"], "MulOptions"),
    ]
    shapes = dict.fromkeys(("x", "before", "sum", "now", "y"), (1, 2))
    tensors = [Tensor("h", (1,), "RESOURCE"), *(Tensor(n, s) for n, s in shapes.items())]
    model = tinyrt.Model(parse_tflite(build(Subgraph(tensors, ops, ["x"], ["y"]))))
    x = np.array([[2, 3]], np.float32)
    assert [model(x).tolist() for _ in range(3)] == [[[4, 9]], [[8, 18]], [[12, 27]]]


@pytest.mark.parametrize("value", [0.0, -2.5])
def test_a_border_of_any_number_comes_back(value):
    b = Builder((1, 2, 3, 1))
    graph = b.graph(b.op("pad", ("x",), PadAttrs(((0, 0), (1, 0), (0, 2), (0, 0)), value)))
    data = write_tflite(graph)
    agree(bytes(data))
    x = np.ones((1, 2, 3, 1), np.float32)
    (found,) = evaluate(parse_tflite(data), {"x": x}).values()
    assert found.sum() == 6 + 9 * value


def test_a_dense_layer_without_a_bias_comes_back():
    b = Builder((3, 6))
    w = b.constant(RNG.normal(size=(4, 6)).astype(np.float32))
    data = write_tflite(b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs())))
    agree(bytes(data), atol=1e-5)


def test_a_transposed_convolution_that_clamps_comes_back():
    b = Builder((1, 3, 3, 2))
    w = b.constant(RNG.normal(size=(4, 2, 2, 2)).astype(np.float32))
    attrs = TransposeConvAttrs((6, 6), (2, 2), activation="RELU")
    data = write_tflite(b.graph(b.op("transpose_conv", ("x", w), attrs)))
    agree(bytes(data), atol=1e-5)
    assert parse_tflite(data).nodes[0].attrs == attrs


def test_a_transposed_convolution_takes_a_computed_shape_from_the_output():
    """As in TFLM, which never reads it."""
    weights = Tensor("w", (2, 2, 2, 3), "FLOAT32", np.ones((2, 2, 2, 3), np.float32))
    shape = Tensor("n", (4,), "INT32")
    tensors = [shape, weights, Tensor("x", (1, 2, 3, 3)), Tensor("y", (1, 4, 6, 2))]
    fields = {"Padding": 1, "StrideH": 2, "StrideW": 2}
    op = Op("TRANSPOSE_CONV", ["n", "w", "x"], ["y"], "TransposeConvOptions", fields)
    graph = parse_tflite(build(Subgraph(tensors, [op], ["n", "x"], ["y"])))
    assert graph.nodes[0].attrs.size == (4, 6)
    assert graph.inputs == ("n", "x")


def svdf(bias):
    rng = np.random.default_rng(3)
    tensors = [
        Tensor("x", (1, 4)),
        Tensor("f", (6, 4), data=rng.standard_normal((6, 4)).astype(np.float32)),
        Tensor("t", (6, 3), data=rng.standard_normal((6, 3)).astype(np.float32)),
        Tensor("s", (1, 18), variable=True),
        Tensor("y", (1, 3)),
    ]
    if bias:
        tensors.append(Tensor("b", (3,), data=np.zeros(3, np.float32)))
    operands = ["x", "f", "t", "b" if bias else "", "s"]
    op = Op("SVDF", operands, ["y"], "SVDFOptions", {"Rank": 2})
    return build(Subgraph(tensors, [op], ["x"], ["y"]))


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
def test_a_dense_layer_over_time_may_have_no_bias(backend, tmp_path):
    answers = []
    for bias in (True, False):
        read, written = (tmp_path / f"{bias}{i}.tflite" for i in range(2))
        read.write_bytes(svdf(bias))
        tinyrt.convert_model(read, written)
        for path in (read, written):
            model = tinyrt.load(path, backend=backend)
            steps = np.random.default_rng(4).standard_normal((5, 4)).astype(np.float32)
            answers.append(model(steps))
    assert np.abs(answers[0]).max() > 0.1
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])


def test_other_inputs_of_a_dense_layer_over_time_are_needed(tmp_path):
    path = tmp_path / "model.tflite"
    whole = svdf(bias=False)
    path.write_bytes(whole)
    graph = parse_tflite(whole)
    (node,) = graph.nodes
    for place in (0, 1, 2, 4):
        inputs = tuple("" if i == place else name for i, name in enumerate(node.inputs))
        broken = graph.with_nodes([replace(node, inputs=inputs)])
        with pytest.raises(TinyrtError, match=r"missing|absent|needs|tensor"):
            verify(broken, Stage.FLOAT)
