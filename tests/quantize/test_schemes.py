"""Schemes: which dtypes the written model has, where tensors change theirs, and what it answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_litert, run_tflm
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import DataError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.metrics import sqnr_db
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.config import configure
from tinyrt.quantize.ranges import BIAS_MAX
from tinyrt.quantize.schemes import MAX_PATTERN, named_schemes, pattern_for

CONV, DEPTHWISE, DENSE = "first", "depthwise", "logits"


def net(seed: int = 0) -> Graph:
    """A residual block with a depthwise layer, pooled, dense, softmax."""
    rng = np.random.default_rng(seed)

    def weights(name: str, *shape: int) -> Value:
        fan = np.prod(shape[1:])
        return Value.constant(name, (rng.normal(size=shape) / np.sqrt(fan)).astype(np.float32))

    shapes = {
        "x": (1, 8, 8, 3),
        CONV: (1, 8, 8, 4),
        DEPTHWISE: (1, 8, 8, 4),
        "sum": (1, 8, 8, 4),
        "pooled": (1, 2, 2, 4),
        "flat": (1, 16),
        DENSE: (1, 5),
        "y": (1, 5),
    }
    values = {name: Value(name, DType.FLOAT32, shape) for name, shape in shapes.items()}
    for value in (
        weights("w1", 4, 3, 3, 3),
        weights("b1", 4),
        weights("w2", 1, 3, 3, 4),
        weights("w3", 5, 16),
        weights("b3", 5),
    ):
        values[value.name] = value
    nodes = (
        Node("conv2d", "conv_1", ("x", "w1", "b1"), (CONV,), Conv2dAttrs(activation="RELU")),
        Node("depthwise_conv2d", "conv_2", (CONV, "w2"), (DEPTHWISE,), DepthwiseConv2dAttrs()),
        Node("add", "add_3", (CONV, DEPTHWISE), ("sum",), AddAttrs()),
        Node("average_pool2d", "pool_4", ("sum",), ("pooled",), Pool2dAttrs((4, 4), (4, 4))),
        Node("reshape", "reshape_5", ("pooled",), ("flat",), ReshapeAttrs((-1, 16))),
        Node("fully_connected", "dense_6", ("flat", "w3", "b3"), (DENSE,), FullyConnectedAttrs()),
        Node("softmax", "softmax_7", (DENSE,), ("y",), SoftmaxAttrs()),
    )
    return verify(Graph("net", ("x",), ("y",), values, nodes))


def samples(count: int = 40, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 8, 8, 3)).astype(np.float32)


def quantized(**choices) -> Graph:
    return quantize_graph(net(), samples(), QuantConfig(**choices))


def db(graph: Graph) -> float:
    """SQNR of the logits against float, on other samples than those of the calibration."""
    x = samples(20, seed=2)
    return float(sqnr_db(logits(net())(x), logits(graph)(x)).mean())


def logits(graph: Graph) -> Model:
    """The model as far as its logits."""
    (last,) = (i for i, node in enumerate(graph.nodes) if node.outputs[0] == DENSE)
    return Model(verify(replace(graph, outputs=(DENSE,), nodes=graph.nodes[: last + 1])))


def kinds(graph: Graph) -> Counter:
    return Counter(node.op for node in graph.nodes)


def dtypes(graph: Graph) -> dict[str, DType]:
    return {node.op: node.input(0).dtype for node in graph.bound()}


@pytest.mark.parametrize(
    ("scheme", "least"),
    [
        (Scheme.INT16X8, 35),
        (Scheme.INT8, 25),
        (Scheme.INT4, 8),
        (Scheme.WEIGHTS_INT8, 35),
        (Scheme.WEIGHTS_FLOAT16, 60),
    ],
)
def test_every_scheme_comes_near_and_survives_the_file(scheme, least):
    graph = quantized(scheme=scheme)
    assert db(graph) > least
    read = parse_tflite(write_tflite(graph))
    x = samples(4, seed=3)
    np.testing.assert_array_equal(Model(read)(x), Model(graph)(x))


def test_int16x8_and_int4_store_what_they_say():
    wide, narrow = quantized(scheme=Scheme.INT16X8), quantized(scheme=Scheme.INT4)
    assert set(dtypes(wide).values()) == {DType.INT16}
    assert wide.value("b1").dtype is DType.INT64
    assert wide.value("x").q.zero_point == 0
    assert {narrow.value(w).dtype for w in ("w1", "w2", "w3")} == {DType.INT4}
    assert np.abs(narrow.value("w1").data).max() == 7
    assert set(dtypes(narrow).values()) == {DType.INT8}
    plain = len(write_tflite(quantized())) - len(write_tflite(narrow))
    assert plain >= sum(narrow.value(w).size // 2 for w in ("w1", "w2", "w3")) - 64


@pytest.mark.parametrize("scheme", [Scheme.INT16X8, Scheme.INT4])
def test_the_device_answers_the_same(scheme):
    graph = quantized(scheme=scheme)
    raw = Model(graph).stored_inputs(samples(1, seed=4))
    (expected,) = Model(graph).run_raw(raw).values()
    np.testing.assert_array_equal(run_tflm(graph, list(raw.values())), expected)


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_INT8, Scheme.WEIGHTS_FLOAT16])
def test_stored_weights_need_no_data_and_equal_litert(scheme):
    graph = quantize_graph(net(), None, QuantConfig(scheme=scheme))
    x = samples(1, seed=5)
    np.testing.assert_allclose(run_litert(graph, [x]), Model(graph)(x), rtol=1e-5, atol=1e-6)
    stored = {w: graph.value(f"{w}/stored").nbytes for w in ("w1", "w2", "w3")}
    size = 1 if scheme is Scheme.WEIGHTS_INT8 else 2
    assert stored == {w: size * net().value(w).size for w in stored}
    interpreter = Interpreter.from_graph(graph)
    interpreter.allocate_tensors()
    assert interpreter.packed_bytes >= 4 * (net().value("w1").size + net().value("w3").size)


def test_data_are_asked_for_where_ranges_are_needed():
    with pytest.raises(DataError, match="needs calibration data"):
        quantize_graph(net(), None, QuantConfig())


def test_float_ports_put_one_op_at_each_end():
    graph = quantized(float_io=True)
    assert kinds(graph) == kinds(net()) + Counter(quantize=1, dequantize=1)
    assert [graph.value(n).dtype for n in ("x", "y")] == [DType.FLOAT32] * 2
    np.testing.assert_array_equal(Model(graph)(samples(3)), Model(quantized())(samples(3)))


def test_borders_only_where_dtypes_meet():
    graph = quantized(scheme_for=(("conv_2", Scheme.INT16X8),))
    found = {node.output.name: (node.input(0).dtype, node.output.dtype) for node in graph.bound()}
    assert found[DEPTHWISE] == (DType.INT16, DType.INT16)
    # The first layer's output goes up for the depthwise layer, whose output comes down for the sum.
    assert kinds(graph)["quantize"] == 2
    assert kinds(graph)["dequantize"] == 0
    raw = Model(graph).stored_inputs(samples(1, seed=6))
    np.testing.assert_array_equal(
        run_tflm(graph, list(raw.values())), next(iter(Model(graph).run_raw(raw).values()))
    )


def test_ops_between_ops_in_float_stay_in_float():
    graph = quantized(keep_float=("conv_*", "fully_connected"))
    kept = {node.op for node in graph.bound() if node.output.dtype is DType.FLOAT32}
    assert kept == {"conv2d", "depthwise_conv2d", "add", "average_pool2d", "reshape"} | {
        "fully_connected",
        "dequantize",
    }
    assert kinds(graph)["dequantize"] == 1
    assert kinds(graph)["quantize"] == 1  # the logits, for the softmax
    assert db(graph) > 40


def test_the_last_pattern_counts():
    graph = quantized(scheme_for=(("*", Scheme.INT16X8), (DENSE, Scheme.INT4)))
    assert graph.value("w3").dtype is DType.INT4
    assert dtypes(graph)["conv2d"] is DType.INT16


def test_a_pattern_that_matches_nothing_is_refused():
    with pytest.raises(TinyrtError, match="no op matches 'conv9'") as refusal:
        quantized(keep_float=("conv9",))
    said = "an op's name or kind, or its output's name, with * and ?: "
    names = [node.output for node in net().nodes]
    assert len(names) < 8
    assert refusal.value.expected == said + ", ".join(names)
    for count, more in ((8, ""), (9, ", ... (9 in all)")):
        b = Builder((1, 4))
        names = ["x"]
        for _ in range(count):
            names.append(b.op("tanh", names[-1:]))
        with pytest.raises(TinyrtError) as refusal:
            named_schemes(b.graph(names[-1]), QuantConfig(keep_float=("conv9",)))
        assert refusal.value.expected == said + ", ".join(names[1:9]) + more


def test_the_preset_is_that_of_the_scheme():
    """Unless it is named, or the scheme is none."""
    assert configure(None) == PRESETS[Preset.BALANCED]
    narrow = replace(PRESETS[Preset.BEST], scheme=Scheme.INT4)
    assert configure(None, scheme=Scheme.INT4, tables=None) == narrow
    assert configure(Preset.FAST, scheme=Scheme.INT4) == QuantConfig(scheme=Scheme.INT4)
    with pytest.raises(TinyrtError, match="the default scheme is float") as refusal:
        QuantConfig(scheme=Scheme.FLOAT)
    assert refusal.value.expected.split(", ") == [s for s in Scheme if s != Scheme.FLOAT]


@pytest.mark.parametrize("length", [MAX_PATTERN - 1, MAX_PATTERN, MAX_PATTERN + 1, 1000])
def test_a_pattern_for_an_op_matches_it_and_is_no_longer_than_allowed(length):
    graph = net()
    name = "n" * length
    (last,) = graph.outputs
    nodes = [replace(n, outputs=(name,)) if n.outputs == (last,) else n for n in graph.nodes]
    values = {v.name: v for v in graph.values.values() if v.name != last}
    values[name] = replace(graph.value(last), name=name)
    graph = replace(graph, outputs=(name,), nodes=tuple(nodes), values=values)
    pattern = pattern_for(graph, name)
    assert len(pattern) == min(length, MAX_PATTERN) + (length > MAX_PATTERN)
    assert set(named_schemes(graph, QuantConfig(keep_float=(pattern,)))) == {name}


def test_an_op_without_the_form_is_refused_with_a_way_out():
    graph = net()
    values = dict(graph.values) | {"z": Value("z", DType.FLOAT32, (1, 5))}
    nodes = (*graph.nodes, Node("hard_swish", "swish", ("y",), ("z",), NoAttrs()))
    swish = verify(Graph("net", ("x",), ("z",), values, nodes))
    with pytest.raises(UnsupportedError, match="hard_swish has no int16x8 form") as refusal:
        quantize_graph(swish, samples(), QuantConfig(scheme=Scheme.INT16X8))
    assert "--keep-float 'hard_swish'" in refusal.value.hint
    kept = QuantConfig(scheme=Scheme.INT16X8, keep_float=("hard_swish",))
    assert kinds(quantize_graph(swish, samples(), kept))["dequantize"] == 1


def test_rounding_and_scales_of_int4_lower_the_error():
    assert db(quantized(scheme=Scheme.INT4, optimize_rounding=True)) > db(
        quantized(scheme=Scheme.INT4)
    )


def test_same_data_same_bytes():
    choices = {"scheme": Scheme.INT4, "optimize_rounding": True, "equalize": True}
    assert write_tflite(quantized(**choices)) == write_tflite(quantized(**choices))


def test_biases_of_channels_without_weights_fit_four_bit_layers():
    graph = net()
    w, b = (graph.values[name].data.copy() for name in ("w1", "b1"))
    w[1:] *= np.array([1e-7, 3e-7, 1e-6])[:, None, None, None]
    b[1:] = 2.0
    values = graph.values | {"w1": Value.constant("w1", w), "b1": Value.constant("b1", b)}
    config = replace(PRESETS[Preset.BEST], scheme=Scheme.INT4)
    narrow = quantize_graph(replace(graph, values=values), samples(), config)
    conv = next(node for node in narrow.nodes if node.op == "conv2d")
    assert np.abs(narrow.values[conv.inputs[2]].data).max() <= BIAS_MAX * 1.1


@pytest.mark.parametrize("op", ["add", "sub"])
def test_zeros_are_added_to_in_int16(op):
    """As the first step of a recurrence has them, whose state begins at zero."""
    values = {
        "x": Value("x", DType.FLOAT32, (1, 6)),
        "zeros": Value.constant("zeros", np.zeros((1, 6), np.float32)),
        "y": Value("y", DType.FLOAT32, (1, 6)),
    }
    node = Node(op, "y", ("zeros", "x"), ("y",), AddAttrs())
    graph = verify(Graph("net", ("x",), ("y",), values, (node,)))
    x = np.random.default_rng(0).normal(0, 0.1, (50, 6)).astype(np.float32)
    small = quantize_graph(graph, x, QuantConfig(scheme=Scheme.INT16X8))
    sign = 1 if op == "add" else -1
    np.testing.assert_allclose(Model(small)(x), sign * x, atol=2 * np.abs(x).max() / 2**15)
