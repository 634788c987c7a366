"""Parameters that few files have, on which the integers are TFLM's all the same."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.build import build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_litert, run_tflm
from tests.ops.quantised import graph_of, s8, s16
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops import verify
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs


def agree(graph, feeds, peer=run_tflm):
    """The reference's integers are the peer's, and numba's are the reference's."""
    (want,) = evaluate(graph, feeds).values()
    theirs = peer(graph, list(feeds.values()))
    np.testing.assert_array_equal(np.reshape(theirs, want.shape), want)
    interpreter = Interpreter.from_graph(graph, backend="numba")
    interpreter.allocate_tensors()
    for details in interpreter.get_input_details():
        interpreter.set_tensor(details["index"], feeds[details["name"]])
    interpreter.invoke()
    (port,) = interpreter.get_output_details()
    np.testing.assert_array_equal(interpreter.get_tensor(port["index"]), want)
    return want


@pytest.mark.parametrize("op", ["conv2d", "fully_connected"])
def test_int16_layers_with_biases_of_32_bits(op):
    """Accumulators have 32 bits then, and are rounded as those of int8."""
    narrow = 0
    for seed in range(6):
        built = build_s16(CASES[op](rng := rng_of(op, seed)), rng)
        bias = next((v for v in built.graph.values.values() if v.dtype is DType.INT64), None)
        if bias is None:
            continue
        limits = np.iinfo(np.int32)
        data = np.clip(bias.data, limits.min, limits.max).astype(np.int32)
        values = built.graph.values | {bias.name: replace(bias, dtype=DType.INT32, data=data)}
        agree(verify(replace(built.graph, values=values)), built.feeds)
        narrow += 1
    assert narrow >= 3


@pytest.mark.parametrize("alpha", [-0.1, -0.25, -0.5, -1.0, -1.5])
@pytest.mark.parametrize("scale", [0.025, 0.05, 0.0731, 0.4])
def test_negative_slopes_of_int8(alpha, scale):
    """Among the results are many halves, which a negated multiplier would round upwards."""
    x = np.arange(-128, 128).astype(np.int8)[None]
    given, made = s8(*x.shape, scale=0.05, zp=11), s8(*x.shape, scale=scale, zp=-7)
    graph = graph_of("leaky_relu", LeakyReluAttrs(alpha), [given], [made])
    answers = agree(graph, {"a": x})
    assert (answers[x < 11] > -7).any()


@pytest.mark.parametrize("op", ["logistic", "tanh"])
@pytest.mark.parametrize("exponent", [-15, -12, -11, -9, -4])
def test_sigmoids_of_int16_whose_scale_is_a_power_of_two(op, exponent):
    x = np.arange(-(2**15), 2**15, 7).astype(np.int16)[None]
    given = s16(*x.shape, scale=2.0**exponent)
    graph = graph_of(op, NoAttrs(), [given], [s16(*x.shape, scale=2.0**-15)])
    assert len(np.unique(agree(graph, {"a": x}))) > 2


@pytest.mark.parametrize("scale", [0.0999999, 0.1, 2 / 3 * 3 / 128, 0.02343749])
def test_hard_swish_of_scales_just_below_a_power_of_two(scale):
    x = np.arange(-128, 128).astype(np.int8)[None]
    for ratio in (1.0, 1 + 2e-6, 1 - 2e-6):
        y = s8(1, 256, scale=float(np.float32(scale * ratio)), zp=-20)
        agree(graph_of("hard_swish", NoAttrs(), [s8(1, 256, scale=scale)], [y]), {"a": x})


HALVES = [(0.12, -72, 0.16), (0.157, -26, 0.008), (0.142, 86, 0.006), (0.167, -11, 0.008)]
WIDE = [(0.002, 0, 0.0011), (0.0234, 127, 0.05), (0.5, -128, 0.9), (3.0, 5, 0.1), (9.0, -4, 9.0)]


@pytest.mark.parametrize(("scale", "zp", "to"), HALVES + WIDE)
def test_hard_swish_where_negative_products_are_halves_and_where_steps_are_wide(scale, zp, to):
    x = np.arange(-128, 128).astype(np.int8)[None]
    y = s8(1, 256, scale=to, zp=-20)
    graph = graph_of("hard_swish", NoAttrs(), [s8(1, 256, scale=scale, zp=zp)], [y])
    assert len(np.unique(agree(graph, {"a": x}))) > 5


@pytest.mark.parametrize(("scale", "zp"), [(0.05, -7), (0.021, 11), (0.09, -128), (0.001, 3)])
def test_relu6_to_another_scale_is_litert_s(scale, zp):
    """TFLM's kernel does not rescale; where scales are alike, both agree."""
    x = np.arange(-128, 128).astype(np.int8)[None]
    graph = graph_of(
        "relu6", NoAttrs(), [s8(1, 256, scale=0.05, zp=-7)], [s8(1, 256, scale=scale, zp=zp)]
    )
    want = agree(graph, {"a": x}, run_litert)
    assert len(np.unique(want)) > 2
    assert np.array_equal(np.reshape(run_tflm(graph, [x]), want.shape), want) == (scale == 0.05)
