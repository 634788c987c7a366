"""Graphs that bring their own grids: which ops become integer ops, and why the others do not."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import VerifyError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, QParams, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fake_quantize import FakeQuantizeAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import OpSpec
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.quantize.imported.integers import constant_params, stored_weights
from tinyrt.quantize.imported.prequantized import SHOWN, STEP, has_own_grids, quantize_on_own_grids

FINE = FakeQuantizeAttrs(1 / 64, -3)
COARSE = FakeQuantizeAttrs(1 / 16, 5)
WIDE = FakeQuantizeAttrs(1 / 4096, 0, DType.INT16)
FLAT = ReshapeAttrs((1, 6, 6, 3))


def rounded(b, x, grid=FINE):
    return b.op("fake_quantize", (x,), grid)


def conv(b, x, q, biased=False):
    """A convolution whose weights are noted to lie on the grid ``q``."""
    data = np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3)) / 128
    name = b.constant(data.astype(np.float32))
    b.values[name] = replace(b.values[name], q=q)
    bias = [b.constant(np.float32([1, -2, 0.5, 0]))] if biased else []
    return b.op("conv2d", (x, name, *bias), Conv2dAttrs())


def quantized(build):
    """The graph, and op -> why it stays in float."""
    b, log = Builder((1, 6, 6, 3)), RewriteLog()
    graph = b.graph(build(b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuantizationWarning)
        result = quantize_on_own_grids(graph, log)
    ops = {n.name: n.op for n in graph.nodes}
    reasons = {ops[n]: r for (step, n), r in log.refused.items() if step == STEP}
    return result, reasons


def read_before_rounding(b, x):
    return b.op("add", (rounded(b, x), b.op("tanh", (x,))), AddAttrs())


FLOAT_CASES = {
    "nothing rounds its input": (
        lambda b: rounded(b, b.op("average_pool2d", ("x",), Pool2dAttrs((2, 2), (2, 2)))),
        {"average_pool2d": "its input 'x' has no scale"},
    ),
    "weights on no grid": (
        lambda b: rounded(b, conv(b, rounded(b, "x"), None)),
        {"conv2d": "its weights lie on no grid of 8 bits"},
    ),
    "weights with a zero point": (
        lambda b: rounded(b, conv(b, rounded(b, "x"), QParams((1 / 128,), 3))),
        {"conv2d": "its weights lie on no grid of 8 bits"},
    ),
    "weights beyond 8 bits": (
        lambda b: rounded(b, conv(b, rounded(b, "x"), QParams((1 / 512,), 0))),
        {"conv2d": "its weights lie on no grid of 8 bits"},
    ),
    "inputs of two widths": (
        lambda b: rounded(
            b, b.op("add", (rounded(b, "x"), rounded(b, rounded(b, "x"), WIDE)), AddAttrs())
        ),
        {"add": "its inputs have different widths"},
    ),
    "an output of another width": (
        lambda b: rounded(b, conv(b, rounded(b, "x"), QParams((1 / 128,), 0)), WIDE),
        {"conv2d": "its output has another width than its input"},
    ),
    "an output that nothing rounds": (
        lambda b: conv(b, rounded(b, "x"), QParams((1 / 128,), 0)),
        {"conv2d": "its output has no scale"},
    ),
    "an op that has no form of the input's width": (
        lambda b: rounded(b, b.op("sin", (rounded(b, "x", WIDE),)), WIDE),
        {"sin": "pointwise has no int16x8 form"},
    ),
    "an op on constants alone": (
        lambda b: rounded(
            b,
            b.op(
                "add",
                (rounded(b, "x"), rounded(b, b.op("abs", (b.constant(np.ones(3, np.float32)),)))),
                AddAttrs(),
            ),
        ),
        {"abs": "it reads no activation"},
    ),
    "who reads what was picked before it is rounded to the same grid": (
        lambda b: read_before_rounding(
            b, b.op("max_pool2d", (rounded(b, "x"),), Pool2dAttrs((2, 2), (2, 2)))
        ),
        {"tanh": "its output has no scale"},
    ),
    "an output of a prescribed scale that nothing rounds": (
        lambda b: b.op("logistic", (rounded(b, "x"),)),
        {"logistic": "its output has no scale"},
    ),
}


@pytest.mark.parametrize(("build", "reasons"), FLOAT_CASES.values(), ids=FLOAT_CASES)
def test_an_op_whose_parameters_are_not_given_stays_in_float(build, reasons):
    graph, found = quantized(build)
    assert reasons.items() <= found.items()
    for node in graph.bound():
        if node.op in reasons:
            assert node.output.dtype is DType.FLOAT32
    floats = [value for value in graph.values.values() if value.dtype is DType.FLOAT32]
    assert not [value for value in floats if value.q is not None]


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda b, x: conv(b, x, QParams((1e30,), 0)), "differ by a factor of 2.5e+29"),
    ],
)
def test_an_op_whose_rules_the_grids_break_stays_in_float_between_them(build, reason):
    graph, reasons = quantized(lambda b: rounded(b, build(b, rounded(b, "x")), COARSE))
    (op,) = reasons
    assert reason in reasons[op]
    assert [n.op for n in graph.nodes] == ["dequantize", op, "quantize"]
    assert graph.input_values[0].q == FINE.q
    assert graph.output_values[0].q == COARSE.q


def _choice(b, x):
    """Truth values are on no grid."""
    other = rounded(b, b.op("neg", (x,)), COARSE)
    return b.op("select_v2", (b.op("greater", (x, other)), x, other))


def _joined(b, x):
    constant = b.constant(np.linspace(-1, 1, 108, dtype=np.float32).reshape(1, 6, 6, 3))
    return b.op("concatenation", (x, constant), ConcatenationAttrs(3))


@pytest.mark.parametrize(("build", "op"), [(_choice, "select_v2"), (_joined, "concatenation")])
def test_what_an_op_reads_beside_its_activations_is_of_its_own_kind(build, op):
    b = Builder((1, 6, 6, 3))
    rounding = b.graph(rounded(b, build(b, rounded(b, "x")), COARSE))
    graph = quantize_on_own_grids(rounding)
    node = next(n for n in graph.bound() if n.op == op)
    assert {v.dtype for v in (*node.inputs, node.output)} <= {DType.INT8, DType.BOOL}
    x = np.random.default_rng(1).normal(size=(1, 6, 6, 3)).astype(np.float32)
    (wanted,) = evaluate(rounding, {"x": x}).values()
    assert np.abs(Model(graph)(x) - wanted).max() <= 1.01 * COARSE.scale


INTEGER_CASES = {
    "a convolution": (lambda b, x: rounded(b, conv(b, x, QParams((1 / 128,), 0)), COARSE), COARSE),
    "a convolution whose weights are wider than int8": (
        lambda b, x: rounded(b, conv(b, x, QParams((1 / 256,), 0)), COARSE),
        COARSE,
    ),
    "a convolution on wide grids": (
        lambda b, x: rounded(b, conv(b, x, QParams((1 / 128,), 0), True), WIDE),
        WIDE,
    ),
    "a mean of the image": (
        lambda b, x: rounded(b, b.op("average_pool2d", (x,), Pool2dAttrs((6, 6))), COARSE),
        COARSE,
    ),
    "a sum": (lambda b, x: rounded(b, b.op("add", (x, x), AddAttrs()), COARSE), COARSE),
    "a move on its input's grid": (
        lambda b, x: rounded(b, b.op("reshape", (x,), ReshapeAttrs((1, 108)))),
        FINE,
    ),
    "a move that nothing rounds": (
        lambda b, x: b.op("reshape", (x,), ReshapeAttrs((1, 108))),
        FINE,
    ),
    "a move to another grid": (
        lambda b, x: rounded(b, b.op("reshape", (x,), ReshapeAttrs((1, 108))), COARSE),
        COARSE,
    ),
}


@pytest.mark.parametrize(("build", "grid"), INTEGER_CASES.values(), ids=INTEGER_CASES)
def test_an_op_between_roundings_computes_on_their_grids(build, grid):
    own = WIDE if grid is WIDE else FINE
    graph, reasons = quantized(lambda b: build(b, rounded(b, "x", own)))
    assert not reasons
    (x,), (y,) = graph.input_values, graph.output_values
    assert (x.dtype, x.q) == (own.dtype, own.q)
    assert (y.dtype, y.q) == (grid.dtype, grid.q)
    assert all(n.output.dtype is grid.dtype for n in graph.bound())
    assert {n.op for n in graph.bound()} & {"average_pool2d"} == set()


HALVES = FakeQuantizeAttrs(1 / 256, -128)


@pytest.mark.parametrize(
    ("op", "behind", "ops"),
    [
        (("reshape", ReshapeAttrs((1, 108))), FINE, ["reshape"]),
        (("reshape", ReshapeAttrs((1, 108))), COARSE, ["reshape", "quantize"]),
        (("logistic", None), HALVES, ["logistic"]),
        (("logistic", None), COARSE, ["logistic", "quantize"]),
    ],
)
def test_a_grid_that_an_op_cannot_have_is_reached_behind_it(op, behind, ops):
    graph, _ = quantized(lambda b: rounded(b, b.op(op[0], (rounded(b, "x"),), op[1]), behind))
    assert [n.op for n in graph.nodes] == ops
    assert graph.output_values[0].q == behind.q


def test_an_input_that_a_float_op_reads_too_stays_in_float():
    graph, _ = quantized(
        lambda b: b.op("add", (b.op("abs", (rounded(b, "x"),)), b.op("neg", ("x",))), AddAttrs())
    )
    assert graph.input_values[0].dtype is DType.FLOAT32


def test_a_result_that_is_read_out_before_its_rounding_stays_in_float():
    b = Builder((1, 6, 6, 3))
    exact = conv(b, rounded(b, "x"), QParams((1 / 128,), 0))
    graph = b.graph(exact, rounded(b, exact))
    with pytest.warns(QuantizationWarning, match="its output has no scale"):
        result = quantize_on_own_grids(graph)
    dtypes = [result.value(name).dtype for name in result.outputs]
    assert dtypes == [DType.FLOAT32, DType.INT8]


def test_a_rounding_alone_keeps_the_names_of_input_and_output():
    b = Builder((1, 6, 6, 3))
    y = rounded(b, "x")
    result = quantize_on_own_grids(b.graph(y))
    assert (result.inputs, result.outputs) == (("x",), (y,))
    assert result.value(y).q == FINE.q


@pytest.mark.parametrize("count", [1, SHOWN, SHOWN + 1, SHOWN + 3])
def test_the_warning_names_some_reasons_and_counts_the_rest(count):
    b = Builder((1, 6, 6, 3))
    x = "x"
    for _ in range(count):
        x = b.op("average_pool2d", (x,), Pool2dAttrs((3, 3), padding="SAME"))
    graph = b.graph(rounded(b, rounded(b, x), COARSE))
    names = [n.name for n in graph.nodes[:count]]
    with pytest.warns(QuantizationWarning, match="stay in float32") as caught:
        quantize_on_own_grids(graph)
    text = str(caught[0].message)
    assert [f"'{n}'" in text for n in names] == [i < SHOWN for i in range(count)]
    assert (f"and {count - SHOWN} more" in text) == (count > SHOWN)
    assert (" more;" in text) == (count > SHOWN)


def test_a_graph_has_own_grids_by_a_rounding_or_by_a_constant():
    b = Builder((1, 6, 6, 3))
    assert not has_own_grids(b.graph(b.op("neg", ("x",))))
    b = Builder((1, 6, 6, 3))
    assert has_own_grids(b.graph(rounded(b, "x")))
    b = Builder((1, 6, 6, 3))
    assert has_own_grids(b.graph(conv(b, "x", QParams((1 / 128,), 0))))


def constant(data, q):
    b = Builder((1, 2))
    name = b.constant(np.asarray(data, np.float32))
    return replace(b.values[name], q=q)


@pytest.mark.parametrize(
    ("steps", "held"),
    [([-128, 127], True), ([-129, 0], False), ([0, 128], False), ([], True)],
)
def test_weights_are_stored_where_int8_holds_their_steps(steps, held):
    found = stored_weights(constant(np.array(steps) * 0.25, QParams((0.25,), 0)))
    assert (found is not None) == held
    if held:
        assert found.dtype == np.int8
        assert found.tolist() == steps


@pytest.mark.parametrize(("steps", "wide"), [(127, False), (128, True), (255, True), (256, False)])
def test_weights_without_roundings_stay_in_float_where_int8_is_too_narrow(steps, wide):
    """Those of dynamically quantised models; the log names them."""
    b, log = Builder((1, 2)), RewriteLog()
    name = b.constant(np.array([[steps, 1]], np.float32))
    b.values[name] = replace(b.values[name], q=QParams((1.0,), 0))
    y = b.op("abs", (b.op("fully_connected", ("x", name), FullyConnectedAttrs()),))
    small = b.constant(np.float32([[3], [-4]]))
    b.values[small] = replace(b.values[small], q=QParams((0.5,), 0))
    y = b.op("fully_connected", (y, small), FullyConnectedAttrs())
    graph = quantize_on_own_grids(b.graph(y), log)
    ops = [n.op for n in graph.nodes]
    assert ops.count("dequantize") == 1 + (steps == 127)
    assert [op for op in ops if op != "dequantize"] == [n.op for n in b.nodes]
    assert graph.producer(b.nodes[2].output).inputs[1] != small
    reason = {(STEP, b.nodes[0].name): "its weights are wider than int8: they stay in float32"}
    assert log.refused == (reason if wide else {})


@pytest.mark.parametrize("axis", [0, 1])
def test_each_channel_of_weights_is_stored_by_its_own_scale(axis):
    steps = np.array([[1, -2], [3, 127]])
    scales = np.array([0.5, 0.125])
    data = steps * (scales[:, None] if axis == 0 else scales)
    found = stored_weights(constant(data, QParams((0.5, 0.125), 0, axis)))
    assert found.tolist() == steps.tolist()


@pytest.mark.parametrize(
    ("q", "dtype", "own"),
    [
        (QParams((0.5,), 3), DType.INT8, True),
        (QParams((0.5,), -128), DType.INT8, True),
        (QParams((0.5,), 127), DType.INT8, True),
        (QParams((0.5,), 128), DType.INT8, False),
        (QParams((0.5,), 0), DType.INT16, True),
        (QParams((0.5,), 3), DType.INT16, False),
        (QParams((0.5, 0.25), 0, 0), DType.INT8, False),
        (None, DType.INT8, False),
    ],
)
def test_a_constant_keeps_a_grid_that_its_dtype_can_have(q, dtype, own):
    found = constant_params(constant([1.0, 2.0], q), dtype)
    assert (found == q) == own
    if not own:  # one that covers 0 to 2
        low, high = (-128, 127) if dtype is DType.INT8 else (-32768, 32767)
        assert (low - found.zero_point) * found.scale <= 0
        assert (high - found.zero_point) * found.scale >= 2 * (1 - 1e-6)


@pytest.mark.parametrize("alone", [True, False])
def test_a_chain_is_a_table_if_nobody_reads_its_floats(alone):
    b = Builder((1, 4))
    y = b.op("sin", (b.op("exp", (rounded(b, "x"),)),))
    outputs = [rounded(b, y, COARSE), *([] if alone else [b.op("neg", (y,))])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuantizationWarning)
        ops = [node.op for node in quantize_on_own_grids(b.graph(*outputs)).nodes]
    assert ("pointwise" in ops) is alone, ops


def test_outputs_of_ops_whose_rule_is_broken_have_no_scale(monkeypatch):
    """What was settled before the rule was asked is settled no more."""

    def check(self, node):
        if node.op == "reshape":
            raise VerifyError("no reshape")

    monkeypatch.setattr(OpSpec, "check_quant", check)

    def build(b):
        y = b.op("reshape", (rounded(b, "x"),), FLAT)
        return rounded(b, b.op("add", (y, b.op("tanh", (y,))), AddAttrs()))

    _, reasons = quantized(build)
    unknown = "its input 'reshape_1' has no scale"
    assert reasons == {"reshape": "no reshape", "add": unknown}
