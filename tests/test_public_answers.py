"""What the benchmark of public models says of answers beside those of other runtimes."""

import numpy as np
import onnx
import pytest

from benchmarks.public_answers import Gap, Op, Tensor, gap, judge, ops_of, rules_of
from benchmarks.public_model import onnxruntime, read, stored
from tests.convert.onnx_build import OnnxModel
from tests.convert.raw_tflite import Op as RawOp
from tests.convert.raw_tflite import Subgraph, build, scaled
from tests.convert.raw_tflite import Tensor as RawTensor


def ints(*numbers, dtype=np.int8):
    return [[np.array(numbers, dtype)]]


def floats(*numbers):
    return [[np.array(numbers, np.float32)]]


@pytest.mark.parametrize(
    ("found", "expected", "says"),
    [
        (ints(1, 2), ints(1, 2), Gap()),
        (ints(1, -128), ints(3, 127), Gap(steps=255)),
        (ints(0, 3, dtype=np.int32), ints(0, 7, dtype=np.int64), Gap(steps=4)),
        (ints(), ints(), Gap()),
        (floats(1, 2), floats(1, 2.5), Gap(part=0.2)),
        (floats(0, 0), floats(0, 0), Gap()),
        (floats(0.5), floats(0), Gap(part=0.5)),
        (floats(np.nan, 1), floats(np.nan, 2), Gap(part=0.5)),
        (floats(np.inf, 1), floats(np.inf, 1), Gap()),
        (floats(np.nan, 1), floats(0, 1), Gap(part=np.inf)),
        (floats(1, 1), floats(np.inf, 1), Gap(part=np.inf)),
        (floats(np.nan), floats(np.inf), Gap(part=np.inf)),
        (ints(1, 2), ints(1), Gap(shapes="[2], not [1]")),
        ([*ints(1), *ints(5)], [*ints(2), *ints(2)], Gap(steps=3)),
        ([[*ints(1)[0], *floats(1)[0]]], [[*ints(2)[0], *floats(4)[0]]], Gap(1, 0.75)),
    ],
)
def test_the_largest_difference_counts(found, expected, says):
    assert gap(found, expected) == says


@pytest.mark.parametrize(
    ("found", "answers", "rules", "says"),
    [
        (ints(1), {"TFLM": ints(1), "LiteRT": ints(9)}, (), "exact"),
        (ints(1), {}, ("hybrid",), "not compared"),
        (floats(1), {"TFLM": floats(1 + 5e-5)}, (), "float, 5e-05"),
        (floats(1), {"LiteRT": floats(1.001)}, (), "differs: 1e-03 from LiteRT"),
        (ints(1), {"TFLM": ints(2), "LiteRT": ints(1)}, (), "differs: 1 step from TFLM"),
        (ints(1, 1), {"TFLM": ints(1)}, ("hybrid",), "differs: [2], not [1] from TFLM"),
        (
            *(ints(1), {"TFLM": ints(90), "LiteRT": ints(1)}, ("zero points",)),
            "by rule (zero points): 89 steps from TFLM",
        ),
        (
            *(ints(1), {"TFLM": ints(90), "LiteRT": ints(2)}, ("zero points",)),
            "differs: 89 steps from TFLM",
        ),
        (ints(1), {"TFLM": ints(90)}, ("zero points",), "differs: 89 steps from TFLM"),
        (ints(1), {"TFLM": ints(90)}, ("padding", "RELU6"), "differs: 89 steps from TFLM"),
        (
            *(ints(1), {"TFLM": ints(90), "LiteRT": ints(1)}, ("padding",)),
            "by rule (padding): 89 steps from TFLM",
        ),
        (
            *(ints(1), {"TFLM": ints(90), "LiteRT": ints(1)}, ("RELU6",)),
            "by rule (RELU6): 89 steps from TFLM",
        ),
        (
            ints(1),
            {"LiteRT": ints(17)},
            ("one rounding",),
            "by rule (one rounding): 16 steps from LiteRT",
        ),
        (ints(1), {"LiteRT": ints(18)}, ("one rounding",), "differs: 17 steps from LiteRT"),
        (ints(1), {"TFLM": ints(2)}, ("one rounding",), "differs: 1 step from TFLM"),
        (
            *(floats(15 / 16), {"TFLM": floats(1)}, ("hybrid",)),
            "by rule (hybrid): 6e-02 from TFLM",
        ),
        (floats(0.93), {"TFLM": floats(1)}, ("hybrid",), "differs: 7e-02 from TFLM"),
        (
            *(ints(1), {"onnxruntime": ints(2)}, ("ONNX integers",)),
            "by rule (ONNX integers): 1 step from onnxruntime",
        ),
    ],
)
def test_differences_come_under_rules(found, answers, rules, says):
    assert judge(found, answers, rules, near=1e-4).text == says


@pytest.mark.parametrize(
    ("found", "by_layer", "word"),
    [(0.5, 1e-3, "by rule"), (0.99, 2e-3, "differs"), (0.99, None, "by rule"), (-1, 0, "differs")],
)
def test_hybrid_layers_count_one_by_one_where_that_is_known(found, by_layer, word):
    verdict = judge(floats(found), {"LiteRT": floats(1)}, ("hybrid",), 1e-4, by_layer)
    assert verdict.word == word


def op(name, dtype, constant=None, zero_points=()):
    second = Tensor(constant, True, zero_points) if constant else Tensor("INT8", False, ())
    return Op(name, (Tensor(dtype, False, (3,)), second, None))


@pytest.mark.parametrize(
    ("ops", "says"),
    [
        ([op("CONV_2D", "FLOAT32", "INT8")], ("hybrid",)),
        ([op("FULLY_CONNECTED", "FLOAT32", "INT4")], ("hybrid",)),
        ([op("CONV_2D", "FLOAT32", "FLOAT32")], ()),
        ([op("ADD", "FLOAT32")], ()),
        ([op("ADD", "FLOAT16")], ("16-bit floats",)),
        ([op("CONV_2D", "INT8", "INT8", (0, 0))], ()),
        ([op("DEQUANTIZE", "INT8", "INT8", (0, 1))], ("zero points",)),
        ([op("CONV_2D", "UINT8", "UINT8"), op("FULLY_CONNECTED", "UINT8", "UINT8")], ()),
        ([op("FULLY_CONNECTED", "INT16", "INT8")], ("one rounding",)),
        ([op("FULLY_CONNECTED", "INT8", "INT8")], ("one rounding",)),
        ([Op("FULLY_CONNECTED", ())], ()),
        ([op("SPACE_TO_BATCH_ND", "INT8")], ("padding",)),
        ([op("SPACE_TO_BATCH_ND", "FLOAT32")], ()),
        ([op("PAD", "INT8")], ()),
        ([Op("SPACE_TO_BATCH_ND", (Tensor("INT8", False, (0,)),))], ()),
        ([Op("SPACE_TO_BATCH_ND", ())], ()),
        ([op("RELU6", "INT8"), op("RELU6", "INT16")], ("RELU6",)),
        ([op("RELU6", "FLOAT32"), op("RELU", "INT8")], ()),
    ],
)
def test_rules_follow_from_ops(ops, says):
    assert tuple(rule for rule in rules_of(ops) if rule != "ONNX integers") == says


def test_ops_are_read_as_files_have_them(tmp_path):
    weights = np.zeros((2, 3), np.int8)
    tensors = [
        RawTensor("x", (1, 3)),
        RawTensor("w", (2, 3), "INT8", weights, (0.5, 0.25), [1, 2]),
        RawTensor("y", (1, 2)),
    ]
    ops = [RawOp("FULLY_CONNECTED", ["x", "w", ""], ["y"])]
    main = Subgraph(tensors, ops, ["x"], ["y"])
    (tmp_path / "net.tflite").write_bytes(build(main, scaled(2.0), old_byte=False))
    first, second = ops_of(tmp_path / "net.tflite")
    stored_weights = Tensor("INT8", True, (1, 2))
    assert first == Op("FULLY_CONNECTED", (Tensor("FLOAT32", False, ()), stored_weights, None))
    assert second.name == "MUL"
    assert second.inputs[1] == Tensor("FLOAT32", True, ())


def test_archives_hold_inputs_and_answers(tmp_path):
    model = tmp_path / "net.tflite"
    assert stored(model) == ([], {})
    arrays = {f"in{k}_{i}": np.array([k, i]) for k in (10, 9) for i in (1, 0)}
    arrays |= {"tflm9_0": np.array(1), "tflm10_0": np.array(2), "litert9_0": np.array(3)}
    np.savez(tmp_path / "net.npz", golden=np.array(4), in0=np.array(5), **arrays)
    inputs, answers = stored(model)
    assert [[list(x) for x in sample] for sample in inputs] == [
        [[9, 0], [9, 1]],
        [[10, 0], [10, 1]],
    ]
    assert answers == {"TFLM": [[1], [2]]}
    np.savez(tmp_path / "net.npz", in0=np.array(5), tflm0_0=np.array(6))
    assert stored(model) == ([], {})
    np.savez(tmp_path / "net.npz", in0=np.array(5))
    assert stored(model) == ([], {})


def test_onnx_models_keep_their_layout(tmp_path):
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    x, y = (make.make_tensor_value_info(name, kind, [1, 2, 3, 3]) for name in "xy")
    node = make.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1, 3], pads=[0, 1, 0, 1])
    graph = make.make_graph([node], "net", [x], [y])
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    onnx.save(made, tmp_path / "net.onnx")
    image = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    ((answer,),) = read(tmp_path / "net.onnx", [[image]], "cortex-m4").outputs
    np.testing.assert_array_equal(answer, image[..., [1, 2, 2]])


@pytest.mark.parametrize(("dtype", "offset"), [("float32", 0), ("uint8", 128), ("int8", 0)])
def test_quantised_onnx_models_are_fed_and_read_as_their_files_have_it(dtype, offset, tmp_path):
    """Both ends in real numbers, or in the file's integers; 3 is the zero point, 0.5 the scale."""
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, {"float32": 1, "uint8": 2, "int8": 3}
    x, y = (make.make_tensor_value_info(name, kinds[dtype], [1, 4]) for name in "xy")
    zero_point = make.make_tensor("zero", kinds["int8"], [], [3])
    if offset:
        zero_point = make.make_tensor("zero", kinds["uint8"], [], [3 + offset])
    scale = make.make_tensor("scale", 1, [], [0.5])
    ends = ("QuantizeLinear", "DequantizeLinear")
    middle = [("DequantizeLinear", "x"), ("Neg", "a"), ("QuantizeLinear", "b")]
    ops = [(ends[0], "x"), (ends[1], "q"), ("Neg", "a"), (ends[0], "b"), (ends[1], "c")]
    nodes, names = (ops, "qabcy") if dtype == "float32" else (middle, "aby")
    made = [
        make.make_node(op, [source, *(() if op == "Neg" else ("scale", "zero"))], [output])
        for (op, source), output in zip(nodes, names, strict=True)
    ]
    graph = make.make_graph(made, "net", [x], [y], [scale, zero_point])
    path = tmp_path / "net.onnx"
    opsets = [make.make_opsetid("", 13)]
    onnx.save(make.make_model(graph, opset_imports=opsets, ir_version=8), path)
    given = np.array([[-128, -20, 3, 127]], np.int16)
    negated = np.array([[127, 26, 3, -121]], np.int16)
    if dtype == "float32":
        sample, wanted = ((part - 3) * np.float32(0.5) for part in (given, negated))
    else:
        sample, wanted = ((part + offset).astype(dtype) for part in (given, negated))
    found = read(path, [[sample]], "cortex-m4")
    assert found.rules == ("ONNX integers",)
    ((answer,),) = found.outputs
    np.testing.assert_array_equal(answer, wanted, strict=True)
    drawn = read(path, [], "cortex-m4")
    assert all(x.dtype == dtype for (x,) in drawn.inputs)
    for (x,), (y,) in zip(drawn.inputs, drawn.outputs, strict=True):
        numbers = x.astype(np.float64) if dtype == "float32" else x.astype(np.int16) - offset - 3
        ends = (-65.5, 62.0) if dtype == "float32" else (-131, 124)
        shift = 0 if dtype == "float32" else offset + 3
        np.testing.assert_array_equal(y, np.clip(-numbers, *ends) + shift)


def test_onnx_files_in_halves_are_compared_with_their_rounding_in_mind(tmp_path):
    model = OnnxModel(13)
    half = onnx.TensorProto.FLOAT16
    scale = model.const([0.1, 0.7, -3.3], np.float16)
    y = model.op("Mul", model.input(1, 3, dtype=half), scale)
    proto = model.model(y)
    proto.graph.output[0].type.tensor_type.elem_type = half
    path = tmp_path / "halves.onnx"
    path.write_bytes(proto.SerializeToString())
    found = read(path, [], "cortex-m4")
    assert found.rules == ("16-bit floats",)
    answers = {"onnxruntime": onnxruntime(path, found.inputs)}
    verdict = judge(found.outputs, answers, found.rules, found.near)
    assert verdict.text.startswith("by rule (16-bit floats): ")
    assert 0 < verdict.gap.part < 1e-3
    off = [[x * np.float32(1.02) for x in sample] for sample in found.outputs]
    assert judge(off, answers, found.rules, found.near).word == "differs"
