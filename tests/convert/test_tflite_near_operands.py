"""Files whose ops nearly have the operands that the reader asks for: absent, several, of scales."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, single
from tests.convert.test_tflite_near_parts import X, Y, assert_refused, ints
from tests.convert.test_tflite_subgraphs import affine
from tinyrt import Interpreter
from tinyrt.convert.lstm_states import begun_anew, kept_on
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.ops.shared.evaluate import evaluate

T = Tensor
X16, Y16 = T("x", (1, 4), "INT16"), T("y", (1, 4), "INT16")


def file_of(tensors, *ops, inputs=("x",), outputs=("y",)):
    return build(Subgraph(tensors, ops, inputs, outputs))


def stored(name, number=None, scale=0.5):
    """Integers of 32 bits that stand for others."""
    data = None if number is None else np.full(3, number, np.int32)
    return T(name, (3,), "INT32", data, scale)


def ones(name, *shape):
    return T(name, shape, data=np.ones(shape, np.float32))


def beside(op, *tensors):
    """An op on constants, beside one on the model's input."""
    ports = [T("x", (3,)), T("z", (3,))]
    outputs = ["z", *op.outputs]
    return file_of([*tensors, *ports], op, Op("ABS", ["x"], ["z"]), outputs=outputs)


def computed(builtin, scale):
    """2 on a grid of 0.5, and 3 on one of 1 or of none: of integers 4 and 3 it is 7, or 4."""
    table = "AddOptions" if builtin == "ADD" else None
    op = Op(builtin, ["a", "b"], ["y"], table)
    return beside(op, stored("a", 4), stored("b", 3, scale), stored("y"))


def twice(first, second):
    """A tensor that two ops define, each of the input or of constants."""
    tensors = [T("x", (3,), "INT32"), ints("k", 1, 2, 3), T("y", (3,), "INT32")]
    ops = [Op("ADD", [name, "k"], ["y"], "AddOptions") for name in (first, second)]
    return file_of(tensors, *ops)


CELLS = [f"w{i}" for i in range(8)]
LSTM = ["x", *CELLS, "", "", "", "b", "b", "b", "b", "", "", "h", "c"]


def lstm(*more):
    """Of 20 inputs, and these."""
    weights = [ones(name, 2, 3 if i < 4 else 2) for i, name in enumerate(CELLS)]
    states = [T(name, (1, 2), variable=True) for name in "hc"]
    tensors = [T("x", (1, 4, 3)), *weights, ones("b", 2), *states, T("y", (1, 4, 2))]
    fields = {"FusedActivationFunction": 4}
    op = Op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [*LSTM, *more],
        ["y"],
        "UnidirectionalSequenceLSTMOptions",
        fields,
    )
    return file_of(tensors, op)


def looked_up(kind, scale, table=np.int8):
    numbers = np.arange(12, dtype=table).reshape(3, 4)
    tensors = [
        T("x", (2,), "INT32"),
        T("t", (3, 4), f"{numbers.dtype.name.upper()}", numbers, scale),
    ]
    y = T("y", (2, 4), kind, scale=scale if kind == "INT8" else None)
    return file_of([*tensors, y], Op("EMBEDDING_LOOKUP", ["x", "t"], ["y"]))


def called_without_bias():
    """An op inside of a subgraph whose last input is absent, and one whose middle one is."""
    dense = Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnectedOptions")
    inner = Subgraph([T("x", (1, 3)), ones("w", 2, 3), T("y", (1, 2))], [dense], ["x"], ["y"])
    call = Op("CALL", ["x"], ["y"], "CallOptions", {"Subgraph": 1})
    return build(Subgraph([T("x", (1, 3)), T("y", (1, 2))], [call], ["x"], ["y"]), inner)


def split_constants():
    op = Op("SPLIT", ["axis", "k"], ["y", "y1"], "SplitOptions", {"NumSplits": 2})
    halves = [T(name, (2,), "INT32") for name in ("y", "y1")]
    return beside(op, ints("axis", 0, shape=()), ints("k", 1, 2, 3, 4), *halves)


def counted_rows(values):
    """A loop's condition is a constant; a number of those is none."""
    names = [f"t{i}" for i in range(len(values))]
    truths = [
        T(n, (len(v),), "BOOL", np.array(v, np.uint8)) for n, v in zip(names, values, strict=True)
    ]
    condition = Subgraph([T("x", (1, 3)), *truths], [], ["x"], names)
    fields = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    loop = Op("WHILE", ["x"], ["y"], "WhileOptions", fields)
    ports = [T("x", (1, 3)), T("y", (1, 3))]
    return build(Subgraph(ports, [loop], ["x"], ["y"]), condition, affine("MUL", 2))


def copied(builtin, table, shape, **fields):
    """Integers of two scales that are joined, or the greater ones of them, on a third."""
    words = np.array([[9, -9, 0]], np.int16)
    tensors = [T("x", (1, 3), "INT16", scale=0.25), T("k", (1, 3), "INT16", words, 1.0)]
    y = T("y", shape, "INT16", scale=0.5)
    return file_of([*tensors, y], Op(builtin, ["x", "k"], ["y"], table, fields))


def greatest_of_constants():
    """Of 4, 1, 9, 2 the greatest two, and where they are."""
    op = Op("TOPK_V2", ["k", "n"], ["y", "p"], "TopKV2Options")
    numbers = T("k", (4,), data=np.array([4, 1, 9, 2], np.float32))
    return beside(op, numbers, ints("n", 2, shape=()), T("y", (2,)), T("p", (2,), "INT32"))


ROW = np.arange(3, dtype=np.float32)[None]


WORDS = np.array([[5, -300, 30000]], np.int16)
ANSWERS = {
    "a subgraph's layer without a bias": (called_without_bias(), ROW, [[3, 3]]),
    "rows of integers that stay so": (
        looked_up("INT8", 0.5),
        np.array([2, 0], np.int32),
        [[8, 9, 10, 11], [0, 1, 2, 3]],
    ),
    "rows of integers as floats": (
        looked_up("FLOAT32", 0.5),
        np.array([2, 0], np.int32),
        [[4, 4.5, 5, 5.5], [0, 0.5, 1, 1.5]],
    ),
    "rows of floats": (
        looked_up("FLOAT32", None, np.float32),
        np.array([1, 1], np.int32),
        [[4, 5, 6, 7]] * 2,
    ),
    "a loop that ends before it begins": (counted_rows([[0]]), ROW, ROW.tolist()),
    "a join of int16 of three scales": (
        copied("CONCATENATION", "ConcatenationOptions", (1, 6), Axis=1),
        WORDS,
        [[5, -300, 30000, 9, -9, 0]],
    ),
    "the greater ones of int16 of three scales": (
        copied("MAXIMUM", "MaximumMinimumOptions", (1, 3)),
        WORDS,
        [[9, -9, 30000]],
    ),
    "the greatest of constants": (greatest_of_constants(), ROW[0], [9, 4]),
    "constant parts of constants": (split_constants(), ROW[0], [1, 2]),
}


def branches_of_two_outputs():
    """The halves of a row, or these the other way round."""
    tensors = [ints("axis", 1, shape=()), T("x", (1, 4)), T("a", (1, 2)), T("b", (1, 2))]
    op = Op("SPLIT", ["axis", "x"], ["a", "b"], "SplitOptions", {"NumSplits": 2})
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    choice = Op("IF", ["flag", "x"], ["y", "z"], "IfOptions", fields)
    ports = [T("flag", (1,), "BOOL"), T("x", (1, 4)), T("y", (1, 2)), T("z", (1, 2))]
    main = Subgraph(ports, [choice], ["flag", "x"], ["y", "z"])
    return build(main, *(Subgraph(tensors, [op], ["x"], [*names]) for names in ("ab", "ba")))


@pytest.mark.parametrize("flag", [True, False])
def test_of_branches_all_outputs_are_chosen(flag):
    feeds = {"flag": np.array([flag]), "x": np.arange(4, dtype=np.float32)[None]}
    found = evaluate(parse_tflite(branches_of_two_outputs()), feeds)
    halves = [[0, 1]], [[2, 3]]
    assert [found[name].tolist() for name in "yz"] == [*(halves if flag else halves[::-1])]


@pytest.mark.parametrize("name", ANSWERS)
def test_it_answers(name):
    data, x, wanted = ANSWERS[name]
    found = evaluate(parse_tflite(data), {"x": x})
    assert found["y"].tolist() == wanted


def test_bytes_that_are_an_answer_as_they_come_are_one_port():
    tensors = [T(name, (1, 3), "UINT8", scale=0.5, zero_point=7) for name in "xy"]
    data = file_of(tensors, Op("ABS", ["x"], ["y"]), outputs=("y", "x"))
    x = np.array([[0, 7, 255]], np.uint8)
    found = evaluate(parse_tflite(data), {"x": x})
    assert found["x"].tolist() == x.tolist()


def test_an_lstm_of_20_inputs_is_one_of_24_without_the_last():
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 4, 3)
    feeds = {"x": x, "h": np.zeros((1, 2), np.float32), "c": np.zeros((1, 2), np.float32)}
    short, whole = (
        evaluate(parse_tflite(data), feeds)["y"] for data in (lstm(), lstm("", "", "", ""))
    )
    np.testing.assert_array_equal(short, whole)
    assert short.any()


def test_states_that_begin_anew_can_be_kept_again():
    graph = parse_tflite(lstm())
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(1, 4, 3)
    zeros = {name: np.zeros((1, 2), np.float32) for name in "hc"}
    anew = begun_anew(graph)
    assert (anew.inputs, anew.outputs, anew.states) == (("x",), ("y",), ())
    whole = evaluate(graph, {"x": x} | zeros)
    np.testing.assert_array_equal(evaluate(anew, {"x": x})["y"], whole["y"])
    kept = kept_on(anew, graph.states)
    for field in ("inputs", "outputs", "states"):
        assert getattr(kept, field) == getattr(graph, field)
    feeds = {"x": x} | {name: np.ones((1, 2), np.float32) for name in "hc"}
    for name, found in evaluate(kept, feeds).items():
        np.testing.assert_array_equal(found, evaluate(graph, feeds)[name])


def test_scales_without_zero_points_have_zeros():
    """As the reader takes them: the details of a port say so, too."""
    tensors = [T("x", (3,), "INT8", scale=0.5, zero_point=()), T("y", (3,), "INT8", scale=0.5)]
    data = file_of(tensors, Op("RESHAPE", ["x"], ["y"], "ReshapeOptions", lists={"NewShape": [3]}))
    (details,) = Interpreter(model_content=data).get_input_details()
    assert details["quantization"] == (0.5, 0)
    assert details["quantization_parameters"]["zero_points"].tolist() == [0]


OUTPUTS = [T("y", (1, 4, 4)), T("y1", (1, 4)), T("y2", (1, 4)), T("y3", (1,))]


def boxes(kind="FLOAT32", inputs=3, outputs=4, **changed):
    """An SSD's last op."""
    options = {"max_detections": 4, "num_classes": 2, "max_classes_per_detection": 1}
    options |= {f"{axis}_scale": 1.0 for axis in "xywh"} | {"nms_iou_threshold": 0.5} | changed
    given = [T("x", (1, 3, 4), kind), ones("s", 1, 3, 3), ones("a", 3, 4)]
    names = [[t.name for t in given][:inputs], [t.name for t in OUTPUTS][:outputs]]
    op = Op("CUSTOM (TFLite_Detection_PostProcess)", *names, fields=options)
    return file_of([*given, *OUTPUTS], op, outputs=names[1])


def test_options_of_boxes_have_32_bits():
    (node,) = parse_tflite(boxes(detections_per_class=(1 << 31) - 1)).nodes
    assert node.attrs.detections_per_class == (1 << 31) - 1


def joined(x, y):
    tensors = [T("x", (2, 3), "UINT8", scale=x), T("w", (2, 3), "UINT8", scale=0.5)]
    y = T("y", (2, 6), "UINT8", scale=y)
    return single("CONCATENATION", [*tensors, y], "ConcatenationOptions", Axis=1)


def audio(name, *inputs, **fields):
    return file_of([X16, Y16], Op(f"CUSTOM ({name})", inputs, ["y"], fields=fields))


def initial(*tensors, inputs):
    """Variables are filled once, by an op with these inputs."""
    handles = [T("h", (), "RESOURCE"), Op("VAR_HANDLE", [], ["h"], "VarHandleOptions")]
    first = Subgraph(
        [handles[0], *tensors], [handles[1], Op("ASSIGN_VARIABLE", inputs, [])], [], []
    )
    once = Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1})
    main = Subgraph([X, Y], [once, Op("ABS", ["x"], ["y"])], ["x"], ["y"])
    return build(main, first)


ABS = Op("ABS", ["x"], ["y"])
REFUSED = {
    "a sum of stored integers of 32 bits": ("takes one dtype", computed("ADD", 0.5)),
    "a sum of those of other scales": ("takes one dtype", computed("ADD", 1.0)),
    "the greater ones of these": ("takes one dtype", computed("MAXIMUM", 1.0)),
    "a tensor that is computed, and constant": ("'y' is defined twice", twice("x", "k")),
    "a tensor that is constant, and computed": ("'y' is defined twice", twice("k", "x")),
    "a tensor of two ops and two shapes": (
        "'y' is defined twice",
        file_of(
            [T("x", (3,), "INT32"), ints("k", 1, 2, 3, shape=(3, 1)), T("y", (3,), "INT32")],
            Op("ABS", ["x"], ["y"]),
            Op("ADD", ["x", "k"], ["y"], "AddOptions"),
        ),
    ),
    "boxes without anchors": ("2 inputs and 4 outputs", boxes(inputs=2)),
    "boxes without their number": ("3 inputs and 3 outputs", boxes(outputs=3)),
    "boxes of int16": ("the op reads int16", boxes("INT16")),
    "boxes of bytes without a scale": ("the op reads uint8", boxes("UINT8")),
    "half a box": ("option max_detections is 4.5", boxes(max_detections=4.5)),
    "classes of 33 bits": ("option num_classes is 2147483648", boxes(num_classes=1 << 31)),
    "fewer than no boxes": (
        "option detections_per_class is -2147483649",
        boxes(detections_per_class=-(1 << 31) - 1),
    ),
    "a turned convolution of nothing": (
        "an output shape [1, 4, 4, 2]",
        file_of(
            [ints("s", 1, 4, 4, 2), ones("w", 2, 2, 2, 3), X, Y, T("z", (1, 4, 4, 2))],
            Op("TRANSPOSE_CONV", ["s", "w"], ["z"], "TransposeConvOptions"),
            ABS,
            outputs=["y", "z"],
        ),
    ),
    "a computed part of another rank": (
        "(-1, 3, 1) elements of f32[2,3]",
        file_of(
            [X, T("b", (2,), "INT32"), ints("s", -1, 3, 1), Y],
            Op("SLICE", ["x", "b", "s"], ["y"]),
            inputs=["x", "b"],
        ),
    ),
    "a join of nothing": (
        "the op has no output",
        file_of([X, Y], Op("CONCATENATION", ["x"], []), ABS),
    ),
    "bytes without a scale that are joined": ("input 1 is s8[2,3]", joined(None, 0.5)),
    "a join of bytes without a scale": ("output is u8[2,6]", joined(0.5, None)),
    "rows of plain integers as floats": ("output is f32[2,4]", looked_up("FLOAT32", None)),
    "a variable that nobody gets": (
        "the op has no output",
        file_of([X, Y], Op("VAR_HANDLE", [], [], "VarHandleOptions"), ABS),
    ),
    "a variable that is read for nobody": (
        "the op has no output",
        file_of(
            [X, Y, T("h", (), "RESOURCE")],
            Op("VAR_HANDLE", [], ["h"], "VarHandleOptions"),
            Op("READ_VARIABLE", ["h"], []),
            ABS,
        ),
    ),
    "places that are absent": (
        "input 1 is missing",
        file_of([X, Y], Op("GATHER", ["x", ""], ["y"], "GatherOptions")),
    ),
    "a sum with nothing": ("1 inputs", file_of([X, Y], Op("ADD", ["x", ""], ["y"], "AddOptions"))),
    "a sum of nothing": (
        "input 0 is missing",
        file_of([X, Y], Op("ADD", ["", "x"], ["y"], "AddOptions")),
    ),
    "parts of nothing": (
        "input 1 is missing",
        file_of(
            [ints("axis", 0, shape=()), X, Y], Op("SPLIT", ["axis", ""], ["y"], "SplitOptions")
        ),
    ),
    "bytes that lose their scale": (
        "quantisation parameters on every int8",
        single(
            "MAXIMUM",
            [
                T("x", (3,), "INT8", scale=0.5),
                T("z", (3,), "INT8", scale=0.5),
                T("y", (3,), "INT8"),
            ],
            "MaximumMinimumOptions",
        ),
    ),
    "no variable that is read": (
        "the op's variable has no handle",
        file_of([X, Y], Op("READ_VARIABLE", [], ["y"])),
    ),
    "a first value of no variable": ("CALL_ONCE runs more", initial(inputs=["h"])),
    "a first value that is computed": (
        "CALL_ONCE runs more",
        initial(T("k", (3,)), inputs=["h", "k"]),
    ),
    "an op without its state": (
        "the op's state is no variable",
        file_of(
            [T("x", (1, 3)), ones("f", 4, 3), ones("t", 4, 2), T("y", (1, 4))],
            Op("SVDF", ["x", "f", "t", "", ""], ["y"], "SVDFOptions", {"Rank": 1}),
        ),
    ),
    "a window of nothing": ("1 inputs", audio("SignalWindow", "", "x", shift=1)),
    "a delay of nothing": ("0 inputs", audio("SignalDelay", delay_length=0)),
    "a delay of what is behind nothing": (
        "1 inputs",
        audio("SignalDelay", "", "x", delay_length=0),
    ),
    "two conditions": ("WHILE without a condition", counted_rows([[0], [0]])),
    "a condition of two truths": ("WHILE without a condition", counted_rows([[0, 1]])),
    "an LSTM with layer normalisation": ("layer normalisation", lstm("b", "b", "b", "b")),
    "two borders": (
        "what to pad with is computed",
        file_of(
            [X, ints("p", 0, 0, 0, 0, shape=(2, 2)), T("v", (1,)), Y, T("y1", (2, 3))],
            Op("PADV2", ["x", "p", "v"], ["y", "y1"]),
            inputs=["x", "v"],
            outputs=["y", "y1"],
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    assert_refused(*REFUSED[name])
