"""TFLite_Detection_PostProcess: the boxes, classes and scores that TFLM gives, in their order."""

from dataclasses import replace

import flatbuffers.flexbuffers as flex
import numpy as np
import pytest

from tests.c.floats import assert_close
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.ops.build import single_op
from tests.ops.cases import CASES, rng_of
from tests.ops.corners.detecting import PLAIN, SQUARES, detecting
from tests.sampling import sampled
from tinyrt.budget import limited
from tinyrt.convert.tflite.detection import BUILTIN
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError, ModelFormatError, ShapeError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.interpreter.model import Model
from tinyrt.ir import BoundNode, DType, Node, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate, folded
from tinyrt.quantize import QuantConfig, quantize_graph

NAMES = ("out", "out1", "out2", "out3")


def all_outputs(built):
    return replace(built.graph, outputs=NAMES)


def run_tflm(graph, feeds):
    """All outputs, as far as there are boxes; None where TFLM stops."""
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    interpreter = tflm.runtime.Interpreter.from_bytes(write_tflite(graph), arena_size=1 << 22)
    for i, name in enumerate(graph.inputs):
        interpreter.set_input(feeds[name], i)
    interpreter.invoke()
    return [interpreter.get_output(i) for i in range(4)]


def found_only(outputs):
    """The number of boxes, and what stands before that place in the others."""
    count = int(outputs[3][0])
    return [outputs[3], *(y[:, :count] for y in outputs[:3])]


def same(graph, found, expected):
    for a, b in zip(found_only(found), found_only(expected), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def drawn(seed):
    """Boxes of a few sizes, scores of which many are alike, overlaps that meet the threshold."""
    rng = rng_of("detection", seed)
    case = CASES["detection_postprocess"](rng)
    attrs = replace(case.attrs, use_regular_nms=bool(seed % 2), score_threshold=0.25)
    feeds = [rng.normal(size=shape).astype(np.float32) for shape in case.shapes]
    feeds[1] = (rng.integers(0, 5, case.shapes[1]) / 4).astype(np.float32)
    feeds[2] = np.abs(feeds[2]) + np.float32(0.5)
    if seed % 3 == 0:
        feeds[0] = np.zeros_like(feeds[0])
        feeds[2] = rng.integers(1, 4, case.shapes[2]).astype(np.float32)
    values = [Value(f"in{i}", DType.FLOAT32, x.shape) for i, x in enumerate(feeds)]
    return single_op(replace(case, attrs=attrs), values, [], feeds)


@pytest.mark.parametrize("block", range(4))
def test_random_boxes_equal_tflm(block):
    for seed in range(25 * block, 25 * block + 25):
        built = drawn(seed)
        graph = all_outputs(built)
        same(graph, list(evaluate(graph, built.feeds).values()), run_tflm(graph, built.feeds))


@pytest.mark.parametrize("backend", ["native", "numba"])
def test_corners_equal_the_reference_and_tflm(backend):
    """In all four outputs, behind the boxes, too; TFLM has no answer for boxes without extent."""
    # Each is a library of its own with native.
    step = sampled(5, 1) if backend == "native" else 1
    for name, built in [*detecting().items()][::step]:
        graph = all_outputs(built)
        interpreter = Interpreter.from_graph(graph, backend=backend)
        interpreter.allocate_tensors()
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], built.feeds[detail["name"]])
        interpreter.invoke()
        expected = evaluate(graph, built.feeds)
        found = [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
        for array, wanted in zip(found, expected.values(), strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=name, strict=True)
        if "anchors" not in name or name.endswith("squares"):
            same(graph, found, run_tflm(graph, built.feeds))


def test_boxes_without_extent_or_numbers_overlap_nothing():
    """TFLM stops there: a device that goes on keeps all of them."""
    for kind in ("of which some have no extent", "turned round", "no numbers"):
        built = detecting()[f"detection_postprocess: by box, anchors {kind}"]
        found = evaluate(all_outputs(built), built.feeds)
        assert found["out3"] == 4
        assert np.isnan(found["out"]).any(axis=2).sum() == (kind == "no numbers")


OPTIONS = {
    "max_detections": 4,
    "max_classes_per_detection": 1,
    "num_classes": 2,
    "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.5,
    "y_scale": 1.0,
    "x_scale": 1.0,
    "h_scale": 1.0,
    "w_scale": 1.0,
}


def huge_scale():
    """Options with a float64 that no float32 holds."""
    builder = flex.Builder()
    with builder.Map():
        for name, value in OPTIONS.items():
            if isinstance(value, int):
                builder.Int(name, value)
            else:
                builder.Float(name, 1e60 if name == "y_scale" else value, 8)
    return bytes(builder.Finish())


def file_of(options, dtype="FLOAT32", outputs=4, name=BUILTIN, inputs=3):
    """A file whose op has these options: a map, or any bytes."""
    custom = options if isinstance(options, bytes) else bytes(flex.Dumps(options))
    q = {} if dtype == "FLOAT32" else {"scale": 0.02, "zero_point": 100}
    anchors = SQUARES if dtype == "FLOAT32" else (SQUARES * 20).astype(np.dtype(dtype.lower()))
    a_q = {} if dtype == "FLOAT32" else {"scale": 0.05, "zero_point": 0}
    tensors = [
        Tensor("x", (1, 6, 4), dtype, **q),
        Tensor("s", (1, 6, 3), dtype, **({} if dtype == "FLOAT32" else {"scale": 1 / 256})),
        Tensor("a", (6, 4), dtype, anchors, **a_q),
        *(Tensor("b", (1, 4, 4)), Tensor("c", (1, 4)), Tensor("p", (1, 4)), Tensor("n", (1,))),
    ]
    made = ["b", "c", "p", "n"][:outputs]
    op = Op(name, ["x", "s", "a"][:inputs], made, custom=custom)
    return build(Subgraph(tensors, [op], ["x", "s"], made))


def test_a_file_is_read_and_written_as_it_was():
    graph = parse_tflite(file_of(OPTIONS))
    assert graph.nodes[0].attrs == PLAIN
    again = parse_tflite(write_tflite(graph))
    assert again.nodes == graph.nodes
    assert again.outputs == graph.outputs == ("b", "c", "p", "n")


def test_options_have_the_defaults_of_tflm():
    less = {k: v for k, v in OPTIONS.items() if k != "nms_score_threshold"}
    assert parse_tflite(file_of(less)).nodes[0].attrs == replace(PLAIN, score_threshold=0.0)
    more = OPTIONS | {
        "use_regular_nms": True,
        "detections_per_class": 7,
        "y_scale": 5,
        "other": "x",
    }
    wanted = replace(PLAIN, use_regular_nms=True, detections_per_class=7, y_scale=5.0)
    assert parse_tflite(file_of(more)).nodes[0].attrs == wanted


def test_bytes_are_dequantised_as_in_litert():
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    rng = np.random.default_rng(2)
    for regular in (False, True):
        data = file_of(OPTIONS | {"use_regular_nms": regular}, "UINT8")
        ours, peer = Interpreter(model_content=data), litert.Interpreter(model_content=data)
        for _ in range(10):
            answers = []
            x = [rng.integers(0, 256, shape, np.uint8) for shape in ((1, 6, 4), (1, 6, 3))]
            for interpreter in (ours, peer):
                interpreter.allocate_tensors()
                for detail, array in zip(interpreter.get_input_details(), x, strict=True):
                    interpreter.set_tensor(detail["index"], array)
                interpreter.invoke()
                details = interpreter.get_output_details()
                answers.append([interpreter.get_tensor(d["index"]) for d in details])
            for found, expected in zip(*map(found_only, answers), strict=True):
                assert_close("detection_postprocess", found, expected)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"max_classes_per_detection": 2}, UnsupportedError, "max_classes_per_detection is 2"),
        ({"max_classes_per_detection": None}, UnsupportedError, "max_classes_per_detection is 0"),
        ({"max_detections": 2**40}, ModelFormatError, "option max_detections is 1099511627776"),
        ({"max_detections": 2.5}, ModelFormatError, "option max_detections is 2.5"),
        ({"num_classes": "two"}, ModelFormatError, "option num_classes is no number"),
        ({"y_scale": "one"}, ModelFormatError, "option y_scale is no number"),
        ({"x_scale": float("nan")}, ShapeError, "x_scale is nan"),
        ({"w_scale": None}, ShapeError, "w_scale is 0.0"),
        ({"nms_iou_threshold": -0.5}, ShapeError, "iou_threshold is -0.5"),
        ({"max_detections": -1}, ShapeError, "-1 detections, 100 of a class"),
        ({"num_classes": 1}, ShapeError, "scores f32"),
    ],
)
def test_options_that_make_no_sense_are_refused(changed, error, says):
    options = {k: v for k, v in (OPTIONS | changed).items() if v is not None}
    with pytest.raises(error, match=says) as caught:
        parse_tflite(file_of(options))
    assert caught.value.expected
    assert "detection_post" in caught.value.op.lower()


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (file_of(bytes(flex.Dumps([1, 2]))), ModelFormatError, "the op's options are no map"),
        (file_of(huge_scale()), ShapeError, "y_scale is inf"),
        (file_of(b""), ModelFormatError, "the op has no options"),
        (file_of(b"\0"), ModelFormatError, "options are damaged: buffer is too small"),
        (file_of(OPTIONS, outputs=3), ModelFormatError, "3 inputs and 3 outputs"),
        (file_of(OPTIONS, inputs=2), ModelFormatError, "2 inputs and 4 outputs"),
        (file_of(OPTIONS, "INT8"), UnsupportedError, "the op reads int8"),
        (file_of(OPTIONS, name="CUSTOM (Detection)"), UnsupportedError, r"CUSTOM \(Detection\)"),
    ],
)
def test_ops_that_are_not_what_they_should_be_are_refused(data, error, says):
    with pytest.raises(error, match=says):
        parse_tflite(data)


def test_damaged_options_give_named_errors_only():
    """Each byte of the map in turn, in three ways, or in one of them."""
    whole = bytes(flex.Dumps(OPTIONS | {"use_regular_nms": True}))
    for at in range(len(whole)):
        ways = (0, 255, whole[at] ^ 4)
        for value in sampled((ways[at % 3],), ways):
            options = whole[:at] + bytes([value]) + whole[at + 1 :]
            try:
                parse_tflite(file_of(options))
            except (ModelFormatError, UnsupportedError, ShapeError, BudgetError):
                continue
            except TinyrtError as error:
                raise AssertionError(f"byte {at} as {value}") from error


def apart(attrs, boxes):
    """The op on constants: boxes of which none overlap."""
    anchors = np.ones((boxes, 4), np.float32)
    anchors[:, 0] = 2 * np.arange(boxes)
    scores = np.ones((1, boxes, attrs.num_classes), np.float32)
    data = [np.zeros((1, boxes, 4), np.float32), scores, anchors]
    constants = [Value.constant(f"in{i}", x) for i, x in enumerate(data)]
    outputs = OPS["detection_postprocess"].infer(attrs, [value.type for value in constants])
    values = [Value(n, t.dtype, t.shape) for n, t in zip(NAMES, outputs, strict=True)]
    names = tuple(value.name for value in constants)
    node = Node("detection_postprocess", "d", names, NAMES, attrs)
    return BoundNode(0, node, tuple(constants), tuple(values))


@pytest.mark.parametrize(
    ("attrs", "boxes"),
    [
        (replace(PLAIN, use_regular_nms=True), 1_000),
        (replace(PLAIN, use_regular_nms=True, detections_per_class=10**9), 20_000),
        (replace(PLAIN, max_detections=50_000), 20_000),
    ],
)
def test_constants_are_compared_ahead_within_the_budget(attrs, boxes):
    """Each box is compared with all that follow."""
    node = apart(attrs, boxes)
    with limited():
        if boxes == 1_000:
            assert folded(node)[3] == attrs.max_detections
            return
        with pytest.raises(BudgetError, match="takes more work than"):
            folded(node)


@pytest.mark.parametrize("regular", [True, False])
def test_boxes_are_compared_once_or_once_for_each_class(regular):
    plain = replace(PLAIN, use_regular_nms=regular)
    one, three = (apart(replace(plain, num_classes=n), 5) for n in (1, 3))
    work = OPS["detection_postprocess"].work
    assert work(three) == work(one) * (3 if regular else 1)


def network():
    """Encodings behind a function, so that there is something to quantise."""
    tensors = [
        *(Tensor("x", (1, 6, 4)), Tensor("s", (1, 6, 2)), Tensor("e", (1, 6, 4))),
        Tensor("a", (6, 4), data=SQUARES),
        *(Tensor("b", (1, 4, 4)), Tensor("c", (1, 4)), Tensor("p", (1, 4)), Tensor("n", (1,))),
    ]
    made = ["b", "c", "p", "n"]
    detection = Op(BUILTIN, ["e", "s", "a"], made, custom=bytes(flex.Dumps(OPTIONS)))
    ops = [Op("TANH", ["x"], ["e"]), detection]
    return parse_tflite(build(Subgraph(tensors, ops, ["x", "s"], made)))


def samples(count):
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(count, 6, 4)), "s": rng.random((count, 6, 2))}
    return {name: array.astype(np.float32) for name, array in data.items()}


def test_a_model_in_int8_keeps_the_op_in_float():
    """The op has no integers, as the error says; then its inputs are dequantised."""
    with pytest.raises(UnsupportedError, match="as in TFLM") as caught:
        quantize_graph(network(), samples(8), QuantConfig())
    assert caught.value.hint == "--keep-float 'detection_postprocess'"
    config = QuantConfig(keep_float=("detection_postprocess",), float_io=True)
    graph = quantize_graph(network(), samples(8), config)
    assert {node.op for node in graph.nodes} > {"dequantize", "detection_postprocess"}
    for i in range(4):
        feeds = {name: x[i : i + 1] for name, x in samples(4).items()}
        same(graph, list(evaluate(graph, feeds).values()), run_tflm(graph, feeds))


def test_images_are_run_one_by_one():
    found = Model(network())(samples(5))
    for i in range(5):
        one = evaluate(network(), {name: x[i : i + 1] for name, x in samples(5).items()})
        for name, expected in one.items():
            np.testing.assert_array_equal(found[name][i : i + 1], expected)
