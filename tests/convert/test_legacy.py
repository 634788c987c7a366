"""Layers that LiteRT rounds in ways of their own on uint8: the same answers from the file, from the
one that it is converted to, and from every backend. tests/ops/corners/legacy.py has the corners."""

import json

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, single
from tests.convert.test_tflite_breadth import both
from tests.ops.build import Case, single_op
from tests.ops.corners.legacy import legacy
from tinyrt.convert.tflite.products import LEGACY_RESULTS
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.convert.unsigned import ROUNDED
from tinyrt.convert.values.bounds import bounds_of
from tinyrt.errors import ModelFormatError, VerifyError
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs

POOL = {"Padding": 0, "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}


def u8(name, *shape, scale=0.02, zero_point=127, data=None):
    return Tensor(name, shape, "UINT8", data, scale, zero_point)


def network():
    """An image is resized and averaged; its pixels get slopes and the length 1; a dense layer."""
    rng = np.random.default_rng(11)
    tensors = [
        u8("x", 2, 5, 4, 3),
        Tensor("size", (2,), "INT32", np.array([7, 9], np.int32)),
        u8("resized", 2, 7, 9, 3),
        u8("means", 2, 4, 5, 3),
        u8("slopes", 1, 1, 3, scale=0.01, data=rng.integers(0, 256, (1, 1, 3), np.uint8)),
        u8("sloped", 2, 4, 5, 3, scale=0.003, zero_point=90),
        u8("normal", 2, 4, 5, 3, scale=1 / 128, zero_point=128),
        u8("w", 6, 60, scale=0.01, data=rng.integers(0, 256, (6, 60), np.uint8)),
        u8("y", 2, 6, scale=0.05, zero_point=128),
    ]
    ops = [
        Op("RESIZE_BILINEAR", ["x", "size"], ["resized"], "ResizeBilinearOptions"),
        Op("AVERAGE_POOL_2D", ["resized"], ["means"], "Pool2DOptions", POOL),
        Op("PRELU", ["means", "slopes"], ["sloped"]),
        Op("L2_NORMALIZATION", ["sloped"], ["normal"], "L2NormOptions"),
        Op("FULLY_CONNECTED", ["normal", "w"], ["y"], "FullyConnectedOptions"),
    ]
    return build(Subgraph(tensors, ops, ["x"], ["resized", "means", "sloped", "normal", "y"]))


def answers(data, x, backend):
    model = tinyrt.Interpreter(model_content=data, backend=backend)
    model.allocate_tensors()
    model.set_tensor(model.get_input_details()[0]["index"], x)
    model.invoke()
    return [model.get_tensor(d["index"]) for d in model.get_output_details()]


def test_a_network_answers_as_litert():
    for ours, theirs in both(network(), runs=30):
        for found, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("backend", ["reference", "native"])
def test_converting_changes_no_answer_on_any_backend(backend, tmp_path):
    source, target = tmp_path / "unsigned.tflite", tmp_path / "signed.tflite"
    source.write_bytes(network())
    tinyrt.convert_model(source, target)
    for seed in range(5):
        x = np.random.default_rng(seed).integers(0, 256, (2, 5, 4, 3), np.uint8)
        before = answers(source.read_bytes(), x, "numba")
        for found, expected in zip(answers(target.read_bytes(), x, backend), before, strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def test_marks_are_in_the_attributes_and_in_the_file():
    graph = parse_tflite(network())
    written = write_tflite(graph)
    names = [n.outputs[0] for n in graph.nodes if n.op in ROUNDED]
    assert len(names) == 4
    assert json.dumps(names).encode() in written
    for made in (graph, parse_tflite(written)):
        assert all(n.attrs.legacy for n in made.nodes if n.op in ROUNDED)
        assert not any(n.attrs.legacy for n in made.nodes if n.op == "quantize")


def test_int8_layers_have_no_marks():
    graph = parse_tflite(dense(np.int8))
    assert not graph.nodes[0].attrs.legacy
    assert LEGACY_RESULTS.encode() not in write_tflite(graph)


def test_int8_layers_beside_uint8_have_none():
    """One input of each; slopes of int8 are scaled in float64, as in TFLM."""
    s8 = {"dtype": "INT8", "scale": 0.02}
    tensors = [
        *(u8("x", 1, 4, 4, 1), u8("y", 1, 2, 2, 1)),
        *(Tensor("a", (1, 4, 4, 1), **s8), Tensor("m", (1, 2, 2, 1), **s8)),
        Tensor("s", (1, 1, 1), data=np.ones((1, 1, 1), np.int8), **s8),
        Tensor("b", (1, 2, 2, 1), **s8),
    ]
    ops = [
        Op("AVERAGE_POOL_2D", ["x"], ["y"], "Pool2DOptions", POOL),
        Op("AVERAGE_POOL_2D", ["a"], ["m"], "Pool2DOptions", POOL),
        Op("PRELU", ["m", "s"], ["b"]),
    ]
    graph = parse_tflite(build(Subgraph(tensors, ops, ["x", "a"], ["y", "b"])))
    marks = {n.outputs[0]: n.attrs.legacy for n in graph.nodes if n.op == "average_pool2d"}
    assert marks == {"y/int8": True, "m": False}
    assert not graph.value("s").q.product_f32


def test_a_mean_of_the_whole_image_is_not_added_up_row_by_row():
    """The sums' kernel rounds as on int8."""
    x = Value("in0", DType.INT8, (1, 4, 4, 2), QParams((0.1,)))
    for mark in (False, True):
        case = Case("average_pool2d", Pool2dAttrs((4, 4), legacy=mark), (x.shape,))
        node = single_op(case, [x], [x.q], [np.zeros(x.shape, np.int8)]).graph.bind(0)
        assert (OPS["average_pool2d"].row_op(node) is None) == mark


def dense(dtype, metadata=None):
    kind = np.dtype(dtype).name.upper()
    weights = Tensor("w", (2, 3), "INT8", np.ones((2, 3), np.int8), 0.1)
    scale = None if kind == "FLOAT32" else 0.1
    if kind == "FLOAT32":
        weights = Tensor("w", (2, 3), kind, np.ones((2, 3), np.float32))
    tensors = [
        Tensor("x", (1, 3), kind, None, scale),
        weights,
        Tensor("y", (1, 2), kind, None, scale),
    ]
    ops = [
        Op("FULLY_CONNECTED", ["x", "w"], ["y"], "FullyConnectedOptions"),
        Op("RELU", ["y"], ["z"]),
        Op("QUANTIZE", ["f"], ["q"]),
    ]
    tensors.append(Tensor("z", (1, 2), kind, None, scale))
    tensors += [Tensor("f", (1, 2)), Tensor("q", (1, 2), "INT8", None, 0.1)]
    return build(Subgraph(tensors, ops, ["x", "f"], ["z", "q"]), metadata=metadata)


@pytest.mark.parametrize(
    ("dtype", "entry", "text"),
    [
        (np.int8, b"{", f"metadata '{LEGACY_RESULTS}' is not a list of names"),
        (np.int8, b'["none"]', f"metadata '{LEGACY_RESULTS}' names 'none'"),
        (np.int8, b'["z"]', f"metadata '{LEGACY_RESULTS}' names 'z'"),
        (np.int16, b'["y"]', f"metadata '{LEGACY_RESULTS}' names 'y'"),
        (np.int8, b'["q"]', f"metadata '{LEGACY_RESULTS}' names 'q'"),
        (np.float32, b'["y"]', "int8 results of average_pool2d, fully_connected, l2_norm"),
    ],
)
def test_an_entry_that_is_wrong_is_refused(dtype, entry, text):
    with pytest.raises(ModelFormatError, match=text):
        parse_tflite(dense(dtype, {LEGACY_RESULTS: entry}))


def test_an_entry_marks_the_layers_that_it_names():
    assert parse_tflite(dense(np.int8, {LEGACY_RESULTS: b'["y"]'})).nodes[0].attrs.legacy


def test_weights_with_scales_of_their_own_are_refused():
    """uint8 has one scale for all; only an entry in a strange file asks for more."""
    q = QParams((0.1, 0.2), 0, 0)
    w = Value.constant("in1", np.ones((2, 3), np.int8), q)
    x = Value("in0", DType.INT8, (1, 3), QParams((0.1,)))
    case = Case("fully_connected", FullyConnectedAttrs(legacy=True), ((1, 3), (2, 3)))
    node = single_op(case, [x, w], [QParams((0.1,))], [None, None]).graph.bind(0)
    with pytest.raises(VerifyError, match="takes one scale for all weights"):
        OPS["fully_connected"].prepared(node)


def test_bounds_of_a_layer_hold_its_answers():
    for name, built in legacy().items():
        if not name.startswith(("fully_connected", "quantize")):
            continue
        found = evaluate(built.graph, built.feeds)["out"]
        bounds = bounds_of(built.graph)["out"]
        channels = found.reshape(-1, found.shape[-1])
        assert (bounds.low <= channels).all(), name
        assert (channels <= bounds.high).all(), name


def test_bounds_of_a_dense_layer_are_reached():
    """A bias of 10^8 and a scale of 10^-6: far from what the input adds, and from the limits."""
    x = Value("in0", DType.INT8, (1, 1), QParams((1e-3,)))
    w = Value.constant("in1", np.full((1, 1), 127, np.int8), QParams((1e-3,)))
    b = Value.constant("in2", np.array([10**8 - 500_000], np.int32), QParams((1e-6,)))
    case = Case("fully_connected", FullyConnectedAttrs(legacy=True), ((1, 1), (1, 1), (1,)))
    graph = single_op(case, [x, w, b], [QParams((1.0,))], [None] * 3).graph
    found = [evaluate(graph, {"in0": np.array([[v]], np.int8)})["out"] for v in (-128, 127)]
    bounds = bounds_of(graph)["out"]
    assert (bounds.low, bounds.high) == tuple(found) == (99, 100)


TELLING = (0.0117, 0.0271, 0.00031)
"""Scales of an input, of slopes and of an output whose float32 products differ from float64."""


def slopes(**constant):
    x, a, y = TELLING
    tensors = [
        u8("x", 1, 1, 1, 64, scale=x),
        u8("a", 1, 1, 64, scale=a, zero_point=3, **constant),
        u8("y", 1, 1, 1, 64, scale=y, zero_point=250),
    ]
    return single("PRELU", tensors)


@pytest.mark.parametrize("stored", [True, False])
def test_slopes_are_scaled_in_float32(stored):
    """Whether they are constants or an input; in int8, they are scaled in float64."""
    data = np.arange(64, dtype=np.uint8).reshape(1, 1, 64)
    model = slopes(data=data) if stored else slopes()
    for ours, theirs in both(model, runs=20):
        np.testing.assert_array_equal(ours[0], theirs[0], strict=True)
    node = next(n for n in parse_tflite(model).bound() if n.op == "prelu")
    found = OPS["prelu"].prepared(node)
    x, a, y = (np.float32(s) for s in TELLING)
    real = found.neg_mult * 2.0 ** (found.neg_shift - 31)
    assert abs(real / float(x * a / y) - 1) < 2**-31
    assert float(x * a / y) != float(x) * float(a) / float(y)


def test_float_slopes_in_a_file_of_uint8_stay_as_they_are():
    tensors = [
        u8("x", 1, 1, 1, 4),
        Tensor("f", (1, 1, 1, 4)),
        Tensor("a", (1, 1, 4), data=np.ones((1, 1, 4), np.float32)),
        Tensor("y", (1, 1, 1, 4)),
    ]
    ops = [Op("DEQUANTIZE", ["x"], ["f"]), Op("PRELU", ["f", "a"], ["y"])]
    for ours, theirs in both(build(Subgraph(tensors, ops, ["x"], ["y"]))):
        np.testing.assert_array_equal(ours[0], theirs[0], strict=True)
