"""What random cases rarely meet: every table entry, last bits of multipliers, bad parameters."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.build import ROOTS, Case, build_s8
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_peer, run_tflm
from tinyrt.errors import ShapeError, VerifyError
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import OPS, TABLES
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.reshape import ReshapeAttrs, rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.lut import LutS8
from tinyrt.ops.shared.spec import Form, NoAttrs

EVERY_INT8 = np.arange(-128, 128).astype(np.int8)
EVERYWHERE = sorted({*TABLES, "quantize"} - {"pointwise", *ROOTS})
"""Ops whose int8 form is a table, and that are defined for all inputs."""


def s8(name, shape, scale, zp, data=None):
    return Value(name, DType.INT8, shape, QParams((float(np.float32(scale)),), zp), data)


def one_op(op, attrs, inputs, output):
    values = {v.name: v for v in (*inputs, output)}
    node = Node(op, "op", tuple(v.name for v in inputs), (output.name,), attrs)
    free = tuple(v.name for v in inputs if not v.is_constant)
    return Graph("exact", free, (output.name,), values, (node,))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("op", EVERYWHERE)
def test_every_entry_of_a_table(op, seed):
    rng = rng_of(op, 1000 + seed)
    built = build_s8(Case(op, OPS[op].attrs(), (EVERY_INT8.shape,)), rng)
    np.testing.assert_array_equal(
        evaluate(built.graph, {"in0": EVERY_INT8})["out"],
        run_peer(op, built.graph, [EVERY_INT8]),
    )


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_every_pair_of_inputs(op, seed):
    built = build_s8(Case(op, OPS[op].attrs(), ((256, 1), (1, 256))), rng_of(op, 1000 + seed))
    feeds = {"in0": EVERY_INT8[:, None], "in1": EVERY_INT8[None, :]}
    np.testing.assert_array_equal(
        evaluate(built.graph, feeds)["out"], run_tflm(built.graph, list(feeds.values()))
    )


@pytest.mark.parametrize("ratio", [64.0, 128.0, 80.0])
def test_every_quotient_rounds_as_on_the_device(ratio):
    """Many are ties; from such a ratio on, TFLM's shifts are below 32 bits."""
    inputs = [s8("a", (256, 1), ratio, 111), s8("b", (1, 256), 1.0, 8)]
    graph = one_op("div", OPS["div"].attrs(), inputs, s8("y", (256, 256), 1.0, -37))
    b = np.where(EVERY_INT8 == 8, np.int8(9), EVERY_INT8)
    feeds = {"a": EVERY_INT8[:, None], "b": b[None, :]}
    np.testing.assert_array_equal(
        evaluate(graph, feeds)["y"], run_tflm(graph, list(feeds.values()))
    )


def test_tables_are_indexed_by_the_unsigned_byte():
    table = LutS8.of(EVERY_INT8).table
    assert (table[0], table[127], table[128], table[255]) == (0, 127, -128, -1)


@pytest.mark.parametrize("scale", [1e-7, 1e-4, 30.0, 1e4])
@pytest.mark.parametrize("op", ["logistic", "tanh"])
def test_extreme_scales_stay_exact(op, scale):
    fixed, fixed_zp = OPS[op].forms[Form.INT8].fixed_output
    x, y = s8("x", (256,), scale, 5), s8("y", (256,), fixed, fixed_zp)
    graph = one_op(op, NoAttrs(), [x], y)
    np.testing.assert_array_equal(
        evaluate(graph, {"x": EVERY_INT8})["y"], run_tflm(graph, [EVERY_INT8])
    )


def test_dense_scales_are_multiplied_in_float64():
    """A sum that another last bit of the multiplier would round to another output."""
    x_scale, w_scale, y_scale = 0.044623441994190216, 0.012130722403526306, 0.24319903552532196
    product = float(np.float32(x_scale) * np.float32(w_scale))
    assert product != x_scale * w_scale
    sums = np.array([-31673, 31673], np.int32)
    bias = Value("b", DType.INT32, (2,), QParams((product,)), sums)
    w = s8("w", (2, 1), w_scale, 0, np.zeros((2, 1), np.int8))
    inputs = [s8("x", (1, 1), x_scale, 0), w, bias]
    graph = one_op("fully_connected", FullyConnectedAttrs(), inputs, s8("y", (1, 2), y_scale, 0))
    x = np.zeros((1, 1), np.int8)
    found = evaluate(graph, {"x": x})["y"]
    np.testing.assert_array_equal(found, [[-70, 70]])
    np.testing.assert_array_equal(found, run_tflm(graph, [x]))


@pytest.mark.parametrize("zp", [-128, 0, 127])
def test_quantize_saturates_and_rounds_halves_away_from_zero(zp):
    x = np.array([0.25, -0.25, 0.75, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    steps = np.array([1, -1, 2, 1000, -1000, 1000, -1000, 0])
    found = quantize_array(x, np.float32(0.5), zp)
    np.testing.assert_array_equal(found, np.clip(steps + zp, -128, 127))


def test_steps_that_float32_cannot_hold_are_whole_in_32_bits():
    x = np.array([8388609, -8388609, 1e30, -1e30], np.float32)
    found = quantize_array(x, np.float32(1), 1, DType.INT32)
    assert found.tolist() == [8388610, -8388608, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16, DType.INT32])
def test_numbers_beside_a_half_are_rounded_to_the_nearer_step(dtype, sign):
    halves = np.arange(0.5, 120).astype(np.float32)
    below, above = (np.nextafter(halves, np.float32(end)) for end in (0, np.inf))
    for x, steps in ((below, halves - 0.5), (halves, halves + 0.5), (above, halves + 0.5)):
        found = quantize_array(sign * x, np.float32(1), 0, dtype)
        np.testing.assert_array_equal(found, sign * steps)


@pytest.mark.parametrize("difference", range(132, 142))
def test_a_long_tail_counts_as_much_as_on_the_device(difference):
    """3,100 shares that round to the last bit of the sum's format take one step off the first."""
    x, y = s8("x", (1, 3101), 0.1, 0), s8("y", (1, 3101), 1 / 256, -128)
    graph = one_op("softmax", OPS["softmax"].attrs(), [x], y)
    row = np.full((1, 3101), 127 - difference, np.int8)
    row[0, 0] = 127
    found = evaluate(graph, {"x": row})["y"]
    np.testing.assert_array_equal(found, run_tflm(graph, [row]))
    assert found[0, 0] == (126 if difference < 139 else 127)


def test_uniform_rows_of_a_thousand_classes():
    """Each share is 0.256 of a step: all outputs are the least value."""
    x, y = s8("x", (1, 1000), 0.1, 0), s8("y", (1, 1000), 1 / 256, -128)
    graph = one_op("softmax", OPS["softmax"].attrs(), [x], y)
    found = evaluate(graph, {"x": np.full((1, 1000), 7, np.int8)})["y"]
    assert (found == -128).all()


@pytest.mark.parametrize("op", ["concatenation", "max_pool2d", "pad", "reshape"])
def test_scales_that_must_be_shared_are_checked(op):
    rng = rng_of(op, 1)
    built = build_s8(CASES[op](rng), rng)
    values = dict(built.graph.values)
    y = values["out"]
    values["out"] = Value("out", y.dtype, y.shape, QParams((y.q.scale * 2,), y.q.zero_point))
    graph = Graph("other", built.graph.inputs, ("out",), values, built.graph.nodes)
    with pytest.raises(VerifyError, match="differ from"):
        OPS[op].check_quant(graph.bind(0))


@pytest.mark.parametrize("op", ["softmax", "logistic", "tanh"])
def test_prescribed_outputs_are_checked(op):
    shape = (1, 4)
    graph = one_op(op, OPS[op].attrs(), [s8("x", shape, 0.1, 0)], s8("y", shape, 0.5, 0))
    with pytest.raises(VerifyError, match="scale and zero point"):
        OPS[op].check_quant(graph.bind(0))


@pytest.mark.parametrize(("scale", "zp"), [(1e-60, 0), (1e300, 0), (0.1, 128), (0.1, -129)])
def test_impossible_parameters_are_refused(scale, zp):
    x = Value("x", DType.INT8, (2,), QParams((scale,), zp))
    graph = one_op("relu", NoAttrs(), [x], s8("y", (2,), 0.1, 0))
    with pytest.raises(VerifyError, match="zero point"):
        OPS["relu"].check_quant(graph.bind(0))


def test_scales_too_far_apart_are_refused():
    graph = one_op("relu", NoAttrs(), [s8("x", (2,), 1e20, 0)], s8("y", (2,), 1e-20, 0))
    with pytest.raises(VerifyError, match="differ by a factor"):
        OPS["relu"].check_quant(graph.bind(0))


def test_reshape_follows_the_batch():
    assert rebatch(ReshapeAttrs((1, 640)), 1, 900) == ReshapeAttrs((900, 640))
    assert rebatch(ReshapeAttrs((-1, 640)), 1, 900) == ReshapeAttrs((-1, 640))
    with pytest.raises(ShapeError, match="does not keep a batch"):
        rebatch(ReshapeAttrs((640,)), 1, 900)
