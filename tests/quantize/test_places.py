"""Ops that read quantised data and answer with places or truth values, which no scale describes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_litert
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph


def conv(b: Builder, rng: np.random.Generator, x: str = "x", channels: int = 5) -> str:
    c = b.values[x].shape[-1]
    w = rng.normal(size=(channels, 3, 3, c)).astype(np.float32)
    return b.op("conv2d", (x, b.constant(w)), Conv2dAttrs())


def segmentation(dtype: DType = DType.INT64) -> Graph:
    b = Builder((1, 8, 8, 3))
    return b.graph(b.op("arg_max", (conv(b, np.random.default_rng(0)),), ArgAttrs(-1, dtype)))


def samples(n: int = 16) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 8, 8, 3)).astype(np.float32)


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8, Scheme.INT4])
@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
def test_a_model_that_ends_in_places_is_integer_from_end_to_end(scheme, dtype):
    x = samples()
    quantized = quantize_graph(segmentation(dtype), x, QuantConfig(scheme=scheme))
    assert [n.op for n in quantized.nodes] == ["conv2d", "arg_max"]
    last = quantized.value(quantized.outputs[0])
    assert (last.dtype, last.q) == (dtype, None)
    file = write_tflite(quantized)
    again = parse_tflite(file)
    assert [n.op for n in again.nodes] == ["conv2d", "arg_max"]
    (name,) = again.inputs
    stored = Model(again).stored_inputs({name: x[:1]})
    found = Model(again).run_raw(stored)[again.outputs[0]]
    np.testing.assert_array_equal(found, run_litert(quantized, [stored[name]]))
    assert np.mean(Model(again)(x) == Model(segmentation(dtype))(x)) > 0.9


def test_logic_and_choices_need_no_scales():
    """Truth values go through logic, and a cast back to numbers computes in float by itself."""
    b = Builder((1, 8, 8, 3))
    y = conv(b, np.random.default_rng(0))
    places = b.op("arg_max", (y,), ArgAttrs(-1, DType.INT32))
    limit = b.constant(np.array(2, np.int32))
    beside = b.op("logical_or", [b.op(op, (places, limit)) for op in ("less", "greater")])
    mask = b.op("cast", (b.op("logical_not", (beside,)),), CastAttrs(DType.FLOAT32))
    image = b.op("reshape", (mask,), ReshapeAttrs((1, 8, 8, 1)))
    graph = b.graph(conv(b, np.random.default_rng(2), image))
    quantized = quantize_graph(graph, samples(), QuantConfig())
    ops = [n.op for n in quantized.nodes]
    assert ops[:2] == ["conv2d", "arg_max"]
    assert "dequantize" not in ops
    assert ops.count("quantize") == 1
    for value in quantized.values.values():
        assert value.q is None or value.dtype in (DType.INT8, DType.INT32)
    parse_tflite(write_tflite(quantized))


def behind_dequantize(dtype: DType, scale: float, more: tuple[str, ...] = ()) -> Graph:
    """Places among the real values of integers; ``more`` are further outputs of the model."""
    values = (
        Value("x", dtype, (3, 7), QParams((scale,), 5 if dtype is DType.INT8 else 0)),
        Value("real", DType.FLOAT32, (3, 7)),
        Value("y", DType.INT32, (3,)),
    )
    nodes = (
        Node("dequantize", "real", ("x",), ("real",), NoAttrs()),
        Node("arg_min", "y", ("real",), ("y",), ArgAttrs(-1)),
    )
    return verify(Graph("net", ("x",), ("y", *more), {v.name: v for v in values}, nodes))


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize("scale", [2.0**-126, 0.013, 2.0**110])
def test_the_order_of_real_values_is_that_of_the_integers(dtype, scale):
    graph = behind_dequantize(dtype, scale)
    read = parse_tflite(write_tflite(graph))
    assert [n.op for n in read.nodes] == ["arg_min"]
    assert read.values.keys() == {"x", "y"}
    limits = np.iinfo(dtype.numpy)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        least = limits.min if seed % 2 else limits.max - 3
        x = rng.integers(least, limits.max, (3, 7), dtype.numpy, endpoint=True)
        expected = evaluate(graph, {"x": x})["y"]
        np.testing.assert_array_equal(evaluate(read, {"x": x})["y"], expected, strict=True)


@pytest.mark.parametrize(
    "graph",
    [
        behind_dequantize(DType.INT16, 2.0**-140),  # some products are no floats
        behind_dequantize(DType.INT16, 2.0**120),
        behind_dequantize(DType.INT8, 0.1, ("real",)),
    ],
)
def test_real_values_that_others_read_or_that_tie_stay(graph):
    assert [n.op for n in parse_tflite(write_tflite(graph)).nodes] == ["dequantize", "arg_min"]
