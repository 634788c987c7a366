"""Float models whose weights are stored in fewer bits: float16, or integers that ops widen."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.api import debug_model
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import UnsupportedError

SHAPE = (6, 3, 3, 4)
"""Of the weights: output channels, height, width, input channels."""


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.fixture
def samples(rng):
    return rng.normal(size=(16, 8, 8, 4)).astype(np.float32)


def convolution(weights, *before, read="w"):
    """A float convolution; ops before it make the weights that it reads."""
    fields = {"Padding": 0, "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    tensors = [
        Tensor("x", (1, 8, 8, 4)),
        weights,
        Tensor("b", (6,), data=np.linspace(-1, 1, 6, dtype=np.float32)),
        Tensor("y", (1, 8, 8, 6)),
        Tensor("wide", SHAPE),
    ]
    ops = [*before, Op("CONV_2D", ["x", read, "b"], ["y"], "Conv2DOptions", fields)]
    return build(Subgraph(tensors, ops, ["x"], ["y"]))


def quantised(data, samples, folder):
    """The graph after quantising with plain rounding."""
    from tinyrt.quantize import PRESETS, Preset

    folder.mkdir(exist_ok=True)
    (folder / "net.tflite").write_bytes(data)
    out = folder / "q.tflite"
    tinyrt.quantize_model(folder / "net.tflite", samples, out, config=PRESETS[Preset.FAST])
    return out


def contents(path):
    return {v.name: v.data for v in read_tflite(path).values.values() if v.data is not None}


def test_float16_weights_are_those_that_they_widen_to(rng, samples, tmp_path):
    half = rng.normal(size=SHAPE).astype(np.float16)
    stored = Tensor("w", SHAPE, "FLOAT16", half)
    narrow = convolution(stored, Op("DEQUANTIZE", ["w"], ["wide"]), read="wide")
    wide = convolution(Tensor("w", SHAPE, data=half.astype(np.float32)))
    files = [quantised(d, samples, tmp_path / n) for d, n in ((narrow, "a"), (wide, "b"))]
    outputs = [tinyrt.load(path)(samples) for path in files]
    np.testing.assert_array_equal(*outputs)
    found, expected = (sorted(d.tobytes() for d in contents(p).values()) for p in files)
    assert found == expected


def test_hybrid_weights_come_back_on_their_grid(rng, samples, tmp_path):
    """Each channel has an integer of 127: its scale, and so all of its integers, are the same."""
    integers = rng.integers(-127, 128, SHAPE).astype(np.int8)
    integers[:, 1, 1, 1] = 127
    scales = rng.uniform(0.001, 0.02, 6).astype(np.float32)
    data = convolution(Tensor("w", SHAPE, "INT8", integers, scales.tolist(), [0] * 6))
    graph = read_tflite(quantised(data, samples, tmp_path))
    weights = graph.value(next(n for n in graph.nodes if n.op == "conv2d").inputs[1])
    np.testing.assert_array_equal(weights.data, integers, strict=True)
    np.testing.assert_allclose(weights.q.scales, scales, rtol=2e-7)


def test_a_model_in_integers_is_not_quantised_again(rng, samples, tmp_path):
    float_model = convolution(Tensor("w", SHAPE, data=rng.normal(size=SHAPE).astype(np.float32)))
    path = quantised(float_model, samples, tmp_path)
    with pytest.raises(UnsupportedError, match="quantised already") as caught:
        tinyrt.quantize_model(path, samples, tmp_path / "again.tflite")
    assert (
        caught.value.expected == "activations in float32; weights may be in float16, int8 or int4"
    )
    assert "use this one as it is" in caught.value.hint


def test_float16_weights_of_onnx(rng, tmp_path):
    half = rng.normal(size=(5, 12)).astype(np.float16)
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Gemm", ["x", "wide"], ["y"], transB=1),
    ]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
             for n, s in (("x", (1, 12)), ("y", (1, 5)))]  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", ports[:1], ports[1:], [numpy_helper.from_array(half, "w")]
    )
    source = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), source)
    x = rng.normal(size=(40, 12)).astype(np.float32)
    tinyrt.quantize_model(source, x, tmp_path / "q.tflite")
    expected = x @ half.astype(np.float32).T
    error = tinyrt.load(tmp_path / "q.tflite")(x) - expected
    assert 10 * np.log10(np.mean(expected**2) / np.mean(error**2)) > 30


@pytest.mark.parametrize("dtype", ["FLOAT16", "INT8"])
def test_such_models_are_compared_with_what_they_became(dtype, rng, samples, tmp_path):
    stored = {
        "FLOAT16": Tensor("w", SHAPE, "FLOAT16", rng.normal(size=SHAPE).astype(np.float16)),
        "INT8": Tensor("w", SHAPE, "INT8", rng.integers(-127, 128, SHAPE).astype(np.int8), 0.01),
    }
    narrow = convolution(stored[dtype], Op("DEQUANTIZE", ["w"], ["wide"]), read="wide")
    quantised_file = quantised(narrow, samples, tmp_path)
    report = debug_model(tmp_path / "net.tflite", quantised_file, samples)
    assert {layer.op for layer in report.layers} == {"input", "conv2d"}
    assert min(layer.accumulated_db for layer in report.layers) > 30
