"""Every backend against the reference, op by op and bit for bit."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.test_conformance import CNN
from tests.sampling import sampled
from tinyrt.backends.numba.choice import KERNELS
from tinyrt.backends.numba.elementwise import MIN_LINEAR
from tinyrt.interpreter import BACKENDS, Interpreter
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form

INT8_OPS = sorted(op for op, spec in OPS.items() if Form.INT8 in spec.forms)
COMPILED_S16_OPS = sorted(op for op, packers in KERNELS.items() if packers.get(Form.INT16X8))
FAST = sorted(set(BACKENDS) - {"native", "reference"})
"""Backends whose kernels need no building per case; tests/c checks those of native."""
CNN_CASES = sampled(20, 200)
OTHER_CASES = sampled(6, 60)


def run(graph, feeds, backend):
    interpreter = Interpreter.from_graph(graph, backend=backend)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def check(graph, feeds, backend):
    expected = evaluate(graph, feeds)[graph.outputs[0]]
    np.testing.assert_array_equal(run(graph, feeds, backend), expected)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("op", INT8_OPS)
def test_random_cases(op, backend):
    for seed in range(CNN_CASES if op in CNN else OTHER_CASES):
        rng = rng_of(op, seed)
        built = build_s8(CASES[op](rng), rng)
        check(built.graph, built.feeds, backend)


@pytest.mark.slow
@pytest.mark.parametrize("op", COMPILED_S16_OPS)
def test_random_cases_on_int16(op):
    for seed in range(CNN_CASES if op in CNN else OTHER_CASES):
        rng = rng_of(op, seed)
        built = build_s16(CASES[op](rng), rng)
        check(built.graph, built.feeds, "numba")


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize("op", ["add", "sub"])
def test_long_sums_on_int16(op, activation):
    """So long that sums of int8 take another kernel."""
    rng = np.random.default_rng(0)
    shape = (1, 2, 2, MIN_LINEAR)
    for b_scale, y_scale in ((3e-4, 4e-4), (4e-5, 6e-4)):
        scales = {"a": 2e-4, "b": b_scale, "y": y_scale}
        values = {n: Value(n, DType.INT16, shape, QParams((s,))) for n, s in scales.items()}
        node = Node(op, op, ("a", "b"), ("y",), AddAttrs(activation))
        feeds = {n: rng.integers(-(2**15), 2**15, shape).astype(np.int16) for n in "ab"}
        check(Graph("long", ("a", "b"), ("y",), values, (node,)), feeds, "numba")


def weighted(op, attrs, shapes, rng, real=None):
    """A node whose output scale makes its multipliers about ``real``."""
    axis = 3 if op == "depthwise_conv2d" else 0
    channels = shapes[1][axis]
    w_scales = tuple(float(np.float32(s)) for s in rng.uniform(0.5, 2.0, channels) * 1e-3)
    w = rng.integers(-128, 128, shapes[1]).astype(np.int8)
    bias = rng.integers(-(2**31), 2**31, channels).astype(np.int32)
    if real is None:
        bias, real = bias >> 14, 2e-3
    x = Value("x", DType.INT8, shapes[0], QParams((0.05,), int(rng.integers(-128, 128))))
    constants = (
        Value.constant("w", w, QParams(w_scales, 0, axis)),
        Value.constant("b", bias, QParams(tuple(0.05 * s for s in w_scales), 0, 0)),
    )
    (type_,) = OPS[op].infer(attrs, [v.type for v in (x, *constants)])
    y_q = QParams((float(np.float32(0.05 * 1e-3 / real)),), int(rng.integers(-128, 128)))
    values = {v.name: v for v in (x, *constants, Value("y", type_.dtype, type_.shape, y_q))}
    graph = Graph("case", ("x",), ("y",), values, (Node(op, "op", ("x", "w", "b"), ("y",), attrs),))
    return graph, {"x": rng.integers(-128, 128, shapes[0]).astype(np.int8)}


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("channels", [1, 7, 16, 17, 31, 32, 33, 40, 64, 129, 257])
def test_every_split_of_channels_and_pixels_into_tiles(channels, backend):
    rng = np.random.default_rng(channels)
    for pixels in (1, 2, 7, 8, 9, 15, 16, 21):
        c_in = int(rng.integers(1, 70))
        shapes = ((pixels, c_in), (channels, c_in))
        check(*weighted("fully_connected", FullyConnectedAttrs(), shapes, rng), backend)
        shapes = ((2, 1, pixels, c_in), (channels, 1, 1, c_in))
        check(*weighted("conv2d", Conv2dAttrs(), shapes, rng), backend)
        shapes = ((2, pixels, 1, channels), (1, 3, 1, channels))
        check(*weighted("depthwise_conv2d", DepthwiseConv2dAttrs(), shapes, rng), backend)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("exponent", [-31, -30, -17, -8, -1, 0, 1, 7, 20, 28])
def test_accumulators_and_multipliers_at_their_limits(exponent, backend):
    rng = np.random.default_rng(exponent + 64)
    attrs = FullyConnectedAttrs()
    for _ in range(5):
        shapes = ((8, 3), (48, 3))
        check(*weighted("fully_connected", attrs, shapes, rng, 1.3 * 2.0**exponent), backend)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("real", [0.02, 0.9, 1.0, 3.7, 40.0])
def test_products_are_scaled_down_and_up(real, backend):
    rng = np.random.default_rng(0)
    shapes, scales = {"a": (3, 37), "b": (3, 37), "y": (3, 37)}, {"a": 0.5, "b": 2.0, "y": 1 / real}
    values = {
        n: Value(n, DType.INT8, shape, QParams((float(np.float32(scales[n])),), i - 1))
        for i, (n, shape) in enumerate(shapes.items())
    }
    node = Node("mul", "mul", ("a", "b"), ("y",), MulAttrs())
    feeds = {n: rng.integers(-9, 10, shapes[n]).astype(np.int8) for n in "ab"}
    check(Graph("products", ("a", "b"), ("y",), values, (node,)), feeds, backend)


@pytest.mark.parametrize("backend", FAST)
def test_filters_without_a_bias(backend):
    for seed in range(4):
        rng = rng_of("svdf", seed)
        built = build_s8(CASES["svdf"](rng), rng)
        (node,) = built.graph.nodes
        bare = replace(node, inputs=(*node.inputs[:3], "", *node.inputs[4:]))
        check(replace(built.graph, nodes=(bare,)), built.feeds, backend)


@pytest.mark.whole
@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
def test_kernels_for_cpus_without_vector_extensions(op):
    """The same cases, compiled for the plainest CPU of this architecture."""
    test = f"{__file__}::test_random_cases[{op}-numba]"
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", test]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stdout
