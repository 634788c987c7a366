"""Models on uint8, as older converters made them, against LiteRT's kernels for them."""

from itertools import product

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.test_tflite_breadth import both
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.emulate import run_emulated
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType

WINDOW = {"Padding": 0, "StrideH": 1, "StrideW": 2}
LAYERS = {
    "CONV_2D": ((1, 6, 8, 3), (4, 3, 3, 3), (1, 6, 4, 4), "Conv2DOptions"),
    "DEPTHWISE_CONV_2D": ((1, 6, 8, 3), (1, 3, 3, 6), (1, 6, 4, 6), "DepthwiseConv2DOptions"),
    "CONV_2D in groups": ((1, 6, 8, 4), (6, 3, 3, 2), (1, 6, 4, 6), "Conv2DOptions"),
    "FULLY_CONNECTED": ((2, 12), (5, 12), (2, 5), "FullyConnectedOptions"),
}


def u8(name, *shape, scale=0.02, zero_point=127, data=None):
    return Tensor(name, shape, "UINT8", data, scale, zero_point)


def layer(builtin, zero_point, seed=0):
    """One layer whose weights take all of uint8 around a zero point."""
    rng = np.random.default_rng(seed)
    x, w, y, table = LAYERS[builtin]
    channels = y[-1]
    weights = u8("w", *w, scale=0.01, zero_point=zero_point, data=rng.integers(0, 256, w, np.uint8))
    bias = Tensor("b", (channels,), "INT32", rng.integers(-900, 900, channels).astype(np.int32),
                  0.02 * 0.01)  # fmt: skip
    fields = {"FusedActivationFunction": 1}
    if builtin != "FULLY_CONNECTED":
        fields |= {**WINDOW, "DilationHFactor": 1, "DilationWFactor": 1}
    if builtin == "DEPTHWISE_CONV_2D":
        fields["DepthMultiplier"] = 2
    tensors = [u8("x", *x), weights, bias, u8("y", *y, scale=0.1, zero_point=19)]
    op = Op(builtin.split()[0], ["x", "w", "b"], ["y"], table, fields)
    return build(Subgraph(tensors, [op], ["x"], ["y"]))


@pytest.mark.parametrize("zero_point", [0, 100, 128, 131, 255])
@pytest.mark.parametrize("builtin", LAYERS)
def test_weights_of_any_zero_point(builtin, zero_point):
    for seed in range(sampled(1, 4)):
        data = layer(builtin, zero_point, seed)
        for (ours,), (theirs,) in both(data, runs=3):
            np.testing.assert_array_equal(ours, theirs, strict=True)


def depthwise(zero_point, size, stride, kernel, same, channels=8):
    """A depthwise layer whose weights take all of uint8."""
    rng = np.random.default_rng(zero_point)
    out = [
        -(-n // stride) if same else (n - k) // stride + 1
        for n, k in zip(size, kernel, strict=True)
    ]
    w = rng.integers(0, 256, (1, *kernel, channels), np.uint8)
    fields = {"Padding": 0 if same else 1, "StrideH": stride, "StrideW": stride}
    fields |= {"DilationHFactor": 1, "DilationWFactor": 1, "DepthMultiplier": 1}
    tensors = [
        u8("x", 1, *size, channels),
        u8("w", *w.shape, scale=0.01, zero_point=zero_point, data=w),
        Tensor("b", (channels,), "INT32", rng.integers(-900, 900, channels).astype(np.int32),
               0.02 * 0.01),
        u8("y", 1, *out, channels, scale=0.1, zero_point=19),
    ]  # fmt: skip
    op = Op("DEPTHWISE_CONV_2D", ["x", "w", "b"], ["y"], "DepthwiseConv2DOptions", fields)
    return build(Subgraph(tensors, [op], ["x"], ["y"]))


ROWS = [*product([(3, 3), (2, 5), (5, 1)], [1, 2, 3], [0, 100, 128, 255])]


@pytest.mark.parametrize(("kernel", "stride", "zero_point"), sampled(ROWS[::3], ROWS))
def test_rows_of_depthwise_layers_that_are_read_twice(zero_point, stride, kernel):
    for same in (True, False):
        for height in sampled((5, 8), (5, 6, 7, 8)):
            data = depthwise(zero_point, (height, 6), stride, kernel, same)
            for (ours,), (theirs,) in both(data):
                np.testing.assert_array_equal(ours, theirs, strict=True)


CORES = ("cortex-m0", "cortex-m4", "cortex-m55")


@pytest.mark.device
@pytest.mark.whole
@pytest.mark.parametrize(("core", "stride"), [*product(CORES, (1, 2))])
def test_a_zero_point_of_weights_costs_four_times_at_most(tmp_path, core, stride):
    """On the device. A convolution in groups in its place takes 35 times on a Cortex-M4."""
    x = {"x": np.random.default_rng(3).integers(0, 256, (2, 16, 16, 8), np.uint8)}
    path, instructions = tmp_path / "net.tflite", {}
    for zero_point in (100, 128):
        path.write_bytes(depthwise(zero_point, (16, 16), stride, (3, 3), same=True))
        expected = Model(parse_tflite(path.read_bytes())).run_raw(x)
        place = tmp_path / str(zero_point)
        report = run_emulated(path, core=core, inputs=x, expected=expected, build_dir=place)
        assert report.bit_exact
        instructions[zero_point] = report.instructions
    assert instructions[100] <= 4 * instructions[128]


def test_a_single_number_is_a_constant_like_others():
    half = u8("half", data=np.array(200, np.uint8))
    tensors = [u8("x", 6, 40), half, u8("y", 6, 40, scale=0.05)]
    data = build(Subgraph(tensors, [Op("ADD", ["x", "half"], ["y"], "AddOptions")], ["x"], ["y"]))
    for (ours,), (theirs,) in both(data):
        np.testing.assert_array_equal(ours, theirs, strict=True)


@pytest.mark.parametrize("builtin", ["EQUAL", "NOT_EQUAL", "LESS", "GREATER_EQUAL"])
@pytest.mark.parametrize("scale", [0.02, 0.013, 0.0007])
def test_comparisons_and_choices_by_them(builtin, scale):
    tensors = [
        u8("x", 6, 40),
        u8("limit", 40, scale=scale, zero_point=30),
        Tensor("above", (6, 40), "BOOL"),
        u8("other", 6, 1),
        u8("y", 6, 40),
    ]
    ops = [
        Op(builtin, ["x", "limit"], ["above"]),
        Op("SELECT_V2", ["above", "x", "other"], ["y"]),
    ]
    data = build(Subgraph(tensors, ops, ["x", "limit", "other"], ["above", "y"]))
    for ours, theirs in both(data, runs=4):
        for found, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("builtin", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("dtype", ["INT32", "INT64"])
def test_places_of_extrema(builtin, dtype):
    """Of few values, so that many are equal; the output has no integers to shift."""
    axis = Tensor("axis", (), "INT32", np.array(1, np.int32))
    tensors = [u8("x", 5, 300), axis, Tensor("y", (5,), dtype)]
    table = "ArgMaxOptions" if builtin == "ARG_MAX" else "ArgMinOptions"
    fields = {"OutputType": {"INT32": 2, "INT64": 4}[dtype]}
    data = build(
        Subgraph(tensors, [Op(builtin, ["x", "axis"], ["y"], table, fields)], ["x"], ["y"])
    )
    for (ours,), (theirs,) in both(data, runs=4):
        np.testing.assert_array_equal(ours, theirs, strict=True)


def network():
    """Padding, a convolution, a sum, a pool, a join, a dense layer and softmax."""
    rng = np.random.default_rng(4)

    def weights(name, *shape):
        return u8(name, *shape, scale=0.01, zero_point=120,
                  data=rng.integers(0, 256, shape, np.uint8))  # fmt: skip

    zeros = np.zeros(4, np.int32)
    tensors = [
        u8("x", 1, 6, 6, 3),
        Tensor("p", (4, 2), "INT32", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32)),
        u8("padded", 1, 8, 8, 3),
        weights("w", 4, 3, 3, 3),
        Tensor("b", (4,), "INT32", zeros, 0.02 * 0.01),
        u8("c", 1, 6, 6, 4, scale=0.05, zero_point=110),
        u8("s", 1, 6, 6, 4, scale=0.08, zero_point=130),
        u8("m", 1, 3, 3, 4, scale=0.08, zero_point=130),
        u8("j", 1, 3, 3, 8, scale=0.08, zero_point=130),
        weights("d", 4, 72),
        Tensor("e", (4,), "INT32", zeros, 0.08 * 0.01),
        u8("l", 1, 4, scale=0.1, zero_point=128),
        u8("y", 1, 4, scale=1 / 256, zero_point=0),
    ]
    pool = {"Padding": 1, "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    conv = {"Padding": 1, "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    ops = [
        Op("PAD", ["x", "p"], ["padded"], "PadOptions"),
        Op("CONV_2D", ["padded", "w", "b"], ["c"], "Conv2DOptions", conv),
        Op("ADD", ["c", "c"], ["s"], "AddOptions"),
        Op("MAX_POOL_2D", ["s"], ["m"], "Pool2DOptions", pool),
        Op("CONCATENATION", ["m", "m"], ["j"], "ConcatenationOptions", {"Axis": 3}),
        Op("FULLY_CONNECTED", ["j", "d", "e"], ["l"], "FullyConnectedOptions"),
        Op("SOFTMAX", ["l"], ["y"], "SoftmaxOptions", {"Beta": 1.0}),
    ]
    return build(Subgraph(tensors, ops, ["x"], ["y"]))


def test_a_network_on_uint8():
    for (ours,), (theirs,) in both(network(), runs=20):
        np.testing.assert_array_equal(ours, theirs, strict=True)


def test_only_ports_stay_unsigned():
    graph = parse_tflite(network())
    kept = [v.name for v in graph.values.values() if v.dtype is DType.UINT8]
    assert sorted(kept) == ["x", "y"]
    assert graph.value("c").q.zero_point == 110 - 128


@pytest.mark.parametrize("backend", ["reference", "native"])
def test_backends_agree(backend):
    data = network()
    interpreters = [tinyrt.Interpreter(model_content=data, backend=b) for b in (backend, "numba")]
    x = np.random.default_rng(1).integers(0, 256, (1, 6, 6, 3), np.uint8)
    found = []
    for interpreter in interpreters:
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    np.testing.assert_array_equal(*found)


def test_floats_are_quantised_to_the_ports(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(network())
    x = np.random.default_rng(2).normal(size=(5, 6, 6, 3)).astype(np.float32)
    y = tinyrt.load(path)(x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y.sum(axis=1), 1, atol=0.02)


@pytest.mark.device
@pytest.mark.slow
def test_the_device_answers_on_uint8(tmp_path):
    path = save_tflite(parse_tflite(network()), tmp_path / "net.tflite")
    model = Model(parse_tflite(write_tflite(parse_tflite(path.read_bytes()))))
    x = {"x": np.random.default_rng(3).integers(0, 256, (2, 6, 6, 3), np.uint8)}
    report = run_emulated(path, inputs=x, expected=model.run_raw(x), build_dir=tmp_path / "b")
    assert report.bit_exact
