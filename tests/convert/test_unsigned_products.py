"""Scales of uint8 layers: their product is a float32, as in LiteRT, wherever the model goes."""

import json

import numpy as np
import pytest
import tflite

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import both
from tinyrt.convert.tflite.products import PRODUCTS, with_products
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError
from tinyrt.fixedpoint import multiply_by_quantized_multiplier, quantize_multiplier

CHANNELS = 24
WINDOW = {"Padding": 1, "StrideH": 1, "StrideW": 1}
DILATION = {"DilationHFactor": 1, "DilationWFactor": 1}
LAYERS = {
    "CONV_2D": ((CHANNELS, 1, 1, 3), "Conv2DOptions", WINDOW | DILATION),
    "DEPTHWISE_CONV_2D": (
        (1, 1, 1, CHANNELS),
        "DepthwiseConv2DOptions",
        WINDOW | DILATION | {"DepthMultiplier": CHANNELS // 3},
    ),
    "TRANSPOSE_CONV": ((CHANNELS, 1, 1, 3), "TransposeConvOptions", WINDOW),
}


def answers(acc, product, y_scale):
    mult, shift = quantize_multiplier(float(product) / float(y_scale))
    return multiply_by_quantized_multiplier(acc, np.int64(mult), np.int64(shift))


def telling(rng):
    """Scales, and sums that come out differently where the product of scales is not rounded.

    They lie half-way between two answers, and are so large that the products' difference tells.
    """
    halves = np.arange(60, 120) + 0.5
    while True:
        x, w, y = rng.uniform((0.01, 0.005, 1000), (0.05, 0.02, 2000)).astype(np.float32)
        exact, rounded = np.float64(x) * np.float64(w), np.float64(x * w)
        acc = np.rint(halves * 2 * y / (exact + rounded)).astype(np.int64)
        acc = np.concatenate([acc, -acc])
        apart = acc[answers(acc, exact, y) != answers(acc, rounded, y)]
        if len(apart) >= CHANNELS and np.abs(apart).max() < 2**31:
            return (float(x), float(w), float(y)), apart[-CHANNELS:].astype(np.int32)


def layer(builtin, seed=0, zero_point=128):
    """A layer on its zero point: the answer is that to its bias alone, which tells."""
    (x, w, y), bias = telling(np.random.default_rng(seed))
    shape, table, fields = LAYERS[builtin]
    tensors = [
        Tensor("x", (1, 1, 1, 3), "UINT8", None, x, 128),
        Tensor("w", shape, "UINT8", np.full(shape, zero_point, np.uint8), w, zero_point),
        Tensor("b", (CHANNELS,), "INT32", bias, float(np.float32(x) * np.float32(w))),
        Tensor("y", (1, 1, 1, CHANNELS), "UINT8", None, y, 128),
        Tensor("s", (4,), "INT32", np.array((1, 1, 1, CHANNELS), np.int32)),
    ]
    inputs = ["s", "w", "x", "b"] if builtin == "TRANSPOSE_CONV" else ["x", "w", "b"]
    return build(Subgraph(tensors, [Op(builtin, inputs, ["y"], table, fields)], ["x"], ["y"]))


def run(data, backend="numba"):
    model = tinyrt.Interpreter(model_content=data, backend=backend)
    model.allocate_tensors()
    model.set_tensor(model.get_input_details()[0]["index"], np.full((1, 1, 1, 3), 128, np.uint8))
    model.invoke()
    return model.get_tensor(model.get_output_details()[0]["index"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("builtin", LAYERS)
def test_answers_are_litert_s(builtin, seed):
    data = layer(builtin, seed)
    peer = [theirs for _, (theirs,) in both(data)]  # its input matters not: weights are zeros
    np.testing.assert_array_equal(run(data), peer[0], strict=True)


@pytest.mark.parametrize("builtin", LAYERS)
def test_converting_changes_no_answer(builtin, tmp_path):
    source, target = tmp_path / "unsigned.tflite", tmp_path / "signed.tflite"
    source.write_bytes(layer(builtin))
    tinyrt.convert_model(source, target)
    before = run(source.read_bytes())
    for backend in ("numba", "reference", "native"):
        np.testing.assert_array_equal(run(target.read_bytes(), backend), before)


def test_weights_in_parts_keep_the_arithmetic():
    data = layer("CONV_2D", zero_point=0)
    weights = parse_tflite(data).producer("y/int8").inputs[1]
    assert parse_tflite(data).value(weights).q.product_f32


def test_weights_are_named_in_the_file():
    data = write_tflite(parse_tflite(layer("CONV_2D")))
    assert json.dumps(["w/int8"]).encode() in data
    assert PRODUCTS.encode() in data


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (b"{", f"metadata '{PRODUCTS}' is not a list of names"),
        (b"7", f"metadata '{PRODUCTS}' is not a list of names"),
        (b'["y", "none"]', f"metadata '{PRODUCTS}' names 'none'"),
    ],
)
def test_an_entry_that_is_wrong_is_refused(entry, text):
    tensors = [Tensor(name, (2,), "INT8", None, 0.1) for name in "xy"]
    graph = Subgraph(tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y"])
    with pytest.raises(ModelFormatError, match=text):
        parse_tflite(build(graph, metadata={PRODUCTS: entry}))


def test_entries_are_about_the_first_subgraph():
    """Tensors of others have names of their own, and are read without them."""
    tensors = [Tensor(name, (2,), "INT8", None, 0.1) for name in "xy"]
    graph = Subgraph(tensors, [Op("RELU", ["x"], ["y"])], ["x"], ["y"])
    model = tflite.Model.GetRootAs(build(graph, metadata={PRODUCTS: b'["x"]'}))
    values = parse_tflite(build(graph)).values
    assert with_products(model, [values["y"]], 1) == [values["y"]]
    with pytest.raises(ModelFormatError, match="names 'x'"):
        with_products(model, [values["y"]], 0)
    marked = with_products(model, list(values.values()), 0)
    assert {v.name for v in marked if v.q.product_f32} == {"x"}
