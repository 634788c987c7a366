"""Clamps that bind nowhere, ops that change nothing and comparisons that are known fall away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.channels.nets import IntegerNet
from tests.convert.channels.test_random_nets import assert_same
from tests.graphs import Builder
from tinyrt.convert.passes import optimize, pass_names
from tinyrt.convert.passes.known import (
    CUT_CHANNELS,
    DROP_CLAMP,
    DROP_UNCHANGED,
    FROM_FRONT,
    KNOWN_PASSES,
    KNOWN_TRUTH,
    apply_known,
)
from tinyrt.convert.passes.narrow import NARROW
from tinyrt.ir import Graph, QParams, RewriteLog
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

WIDE = QParams((0.05,), -20)


def net_of(q: QParams = WIDE) -> IntegerNet:
    net = IntegerNet((1, 3, 3, 4))
    net.values["x"] = replace(net.values["x"], q=q)
    return net


def numbers(net: IntegerNet, *values: int, q: QParams = WIDE) -> str:
    name = net.constant(np.array(values, net.dtype.numpy))
    net.values[name] = replace(net.values[name], q=q)
    return name


def plainer(graph: Graph) -> tuple[list[str], RewriteLog]:
    """The ops that are left, and the log; the answers stay."""
    log = RewriteLog()
    after = apply_known(graph, KNOWN_PASSES, log)
    assert_same(graph, after)
    return [node.op for node in after.nodes], log


def test_a_fused_clamp_that_binds_nowhere_goes():
    net = net_of()
    bounded = net.op("maximum", ("x", numbers(net, 0)))
    y = net.op("add", (bounded, bounded), AddAttrs("RELU"), WIDE)
    graph, log = net.graph(y), RewriteLog()
    after = apply_known(graph, KNOWN_PASSES, log)
    assert_same(graph, after)
    assert fused_activation(after.nodes[-1]) == "NONE"
    told = "without RELU, outputs are from 20 to 127, too"
    assert log.reasons == {(DROP_CLAMP, y): told}


def test_a_clamp_that_binds_or_costs_nothing_stays():
    net = net_of()
    binds = net.graph(net.op("add", ("x", "x"), AddAttrs("RELU"), WIDE))
    assert apply_known(binds, KNOWN_PASSES) is binds
    net = net_of(q=QParams((0.05,), -128))
    free = net.graph(net.op("average_pool2d", ("x",), Pool2dAttrs((1, 1), activation="RELU")))
    assert apply_known(free, KNOWN_PASSES) is free


@pytest.mark.parametrize("op", ["minimum", "maximum"])
@pytest.mark.parametrize("first", [True, False])
def test_an_extremum_of_what_is_known_to_lie_apart_is_its_operand(op, first):
    net = net_of()
    y = net.op("maximum", ("x", numbers(net, 5, 6, 7, 8)))
    number = numbers(net, 4 if op == "maximum" else 127)
    inputs = (y, number) if first else (number, y)
    ops, log = plainer(net.graph(net.op("abs", (net.op(op, inputs),))))
    assert ops == ["maximum", "abs"]
    assert [rule for rule, _ in log.applied] == [DROP_UNCHANGED]


def test_a_function_that_gives_back_what_comes_goes():
    net = net_of()
    y = net.op("maximum", ("x", numbers(net, -20)))
    relu = net.op("relu", (y,), q=WIDE)
    assert plainer(net.graph(net.op("abs", (relu,))))[0] == ["maximum", "abs"]


@pytest.mark.parametrize("change", ["another grid", "an output", "another bound"])
def test_a_function_that_changes_something_or_is_asked_for_stays(change):
    net, q = net_of(), WIDE
    y = net.op("maximum", ("x", numbers(net, q.zero_point - (change == "another bound"), q=q)))
    relu = net.op("relu", (y,), q=QParams((0.06,), -20) if change == "another grid" else q)
    graph = net.graph(relu if change == "an output" else net.op("abs", (relu,)))
    assert apply_known(graph, KNOWN_PASSES) is graph


def bounded(net: IntegerNet | Builder, *most: int) -> str:
    """The input from 0 on, up to a number for each channel."""
    if isinstance(net, IntegerNet):
        return net.op("minimum", (net.op("maximum", ("x", numbers(net, -20))), numbers(net, *most)))
    limits = [net.constant(np.array(limit, np.float32)) for limit in ([0], most)]
    return net.op("minimum", (net.op("maximum", ("x", limits[0])), limits[1]))


def test_a_clamp_of_some_channels_stays():
    net = net_of()
    alone = net.op("relu6", (bounded(net, 50, 100, 127, 100),), q=WIDE)
    graph = net.graph(net.op("abs", (alone,)))
    assert apply_known(graph, KNOWN_PASSES) is graph
    net = net_of()
    y = bounded(net, 0, 127, 0, 0)
    graph = net.graph(net.op("add", (y, y), AddAttrs("RELU6"), QParams((0.1,), -20)))
    assert apply_known(graph, KNOWN_PASSES) is graph
    b = Builder((2, 4))
    graph = b.graph(b.op("abs", (b.op("relu6", (bounded(b, 1, 6, 9, 2),)),)))
    assert apply_known(graph, KNOWN_PASSES) is graph


def test_an_extremum_that_repeats_or_is_a_constant_stays():
    net = net_of()
    high, low = numbers(net, 50), numbers(net, 40, 41, 42, 43)
    y = net.op("maximum", (high, low))
    small = net.op("minimum", ("x", numbers(net, 0)))
    z = net.op("maximum", (small, y))
    graph = net.graph(net.op("add", (z, "x"), AddAttrs(), WIDE))
    assert apply_known(graph, (DROP_UNCHANGED,)) is graph


@pytest.mark.parametrize(("number", "taken"), [(-100, 1), (100, 2)])
def test_a_known_comparison_chooses_for_good(number, taken):
    net = net_of()
    x = net.op("minimum", (net.op("maximum", ("x", numbers(net, -50))), numbers(net, 50)))
    truth = net.op("greater", (x, numbers(net, number)))
    other = net.op("abs", (x,), q=WIDE)
    chosen = net.op("select_v2", (truth, x, other), q=WIDE)
    ops, log = plainer(net.graph(net.op("add", (chosen, "x"), AddAttrs(), WIDE)))
    assert ops == ["maximum", "minimum", *(["abs"] if taken == 2 else []), "add"]
    assert [rule for rule, _ in log.applied] == [KNOWN_TRUTH, DROP_UNCHANGED]
    assert log.reasons[KNOWN_TRUTH, truth] == "its answer does not depend on the model's inputs"


def test_truth_that_differs_between_channels_becomes_a_constant():
    net = net_of()
    x = net.op("minimum", (net.op("maximum", ("x", numbers(net, -50))), numbers(net, 50)))
    truth = net.op("greater", (x, numbers(net, -100, 100, -100, 100)))
    chosen = net.op("select_v2", (truth, x, net.op("abs", (x,), q=WIDE)), q=WIDE)
    graph = net.graph(chosen)
    after = apply_known(graph, KNOWN_PASSES)
    assert_same(graph, after)
    np.testing.assert_array_equal(after.value(truth).data[0, 0, 0], [True, False] * 2)


def test_truth_that_is_asked_for_stays():
    net = net_of()
    x = net.op("maximum", ("x", numbers(net, 0)))
    graph = net.graph(net.op("less", (x, numbers(net, -1))))
    assert apply_known(graph, (KNOWN_TRUTH,)) is graph


def test_functions_in_a_row_go_together():
    net = net_of()
    y = net.op("maximum", ("x", numbers(net, -20)))
    for _ in range(3):
        y = net.op("relu", (y,), q=WIDE)
    assert plainer(net.graph(net.op("abs", (y,))))[0] == ["maximum", "abs"]


def test_the_same_integers_on_another_grid_stay():
    net = net_of()
    y = net.op("abs", ("x",), q=WIDE)
    other = QParams((float(np.nextafter(np.float32(0.05), np.float32(1))),), -20)
    graph = net.graph(net.op("abs", (net.op("quantize", (y,), QuantizeAttrs(), other),)))
    assert apply_known(graph, KNOWN_PASSES) is graph


def test_float_clamps_of_what_is_positive_go():
    b = Builder((1, 4))
    y = b.op("relu6", ("x",))
    z = b.op("relu", (b.op("add", (y, b.constant(np.ones(1, np.float32))), AddAttrs("RELU")),))
    after = optimize(b.graph(b.op("abs", (b.op("tanh", (z,)),))))
    assert [node.op for node in after.nodes] == ["relu6", "add", "tanh", "abs"]
    assert fused_activation(after.nodes[1]) == "NONE"


@pytest.mark.parametrize("before", ["relu", "logistic", "softmax"])
def test_float_functions_that_keep_what_is_not_below_0_go_behind_what_never_is(before):
    b = Builder((1, 4))
    y = b.op(before, ("x",), *([SoftmaxAttrs()] if before == "softmax" else []))
    for op, attrs in (("leaky_relu", LeakyReluAttrs(0.1)), ("elu", NoAttrs()), ("abs", NoAttrs())):
        y = b.op(op, (y,), attrs)
    after = optimize(b.graph(b.op("tanh", (y,))))
    assert [node.op for node in after.nodes] == [before, "tanh"]


@pytest.mark.parametrize("before", ["tanh", "elu"])
def test_float_functions_stay_behind_what_may_be_below_0(before):
    b = Builder((1, 4))
    y = b.op("abs", (b.op("leaky_relu", (b.op(before, ("x",)),), LeakyReluAttrs(0.1)),))
    after = optimize(b.graph(b.op("tanh", (y,))))
    assert [node.op for node in after.nodes] == [before, "leaky_relu", "abs", "tanh"]


TOUCHING = {"minimum": 0, "maximum": 1}
"""Op -> which of two tensors it gives, of one up to 1 and one from there on."""


@pytest.mark.parametrize("op", TOUCHING)
@pytest.mark.parametrize("swapped", [False, True])
def test_tensors_whose_bounds_touch_are_told_apart(op, swapped):
    net = Builder((1, 4), (1, 4))
    low = net.op("relu_n1_to_1", ("x",))
    one = net.constant(np.ones(1, np.float32))
    pair = [low, net.op("add", (net.op("relu6", ("x1",)), one), AddAttrs())]
    y = net.op(op, pair[::-1] if swapped else pair)
    graph = apply_known(net.graph(net.op("tanh", (y,))), (DROP_UNCHANGED,))
    assert graph.nodes[-1].inputs == (pair[TOUCHING[op]],)


@pytest.mark.parametrize("first", ["relu6", "relu_n1_to_1", "relu_0_to_1"])
@pytest.mark.parametrize("second", ["relu6", "relu_n1_to_1"])
def test_a_float_clamp_goes_behind_one_that_lies_within_it(first, second):
    within = {("relu_0_to_1", "relu6"), ("relu_0_to_1", "relu_n1_to_1")}
    net = Builder((1, 4))
    y = net.op("tanh", (net.op(second, (net.op(first, ("x",)),)),))
    graph = apply_known(net.graph(y), (DROP_UNCHANGED,))
    goes = first == second or (first, second) in within
    assert [node.op for node in graph.nodes] == [first, *([] if goes else [second]), "tanh"]


def test_passes_by_values_have_names():
    plainer = (DROP_CLAMP, DROP_UNCHANGED, KNOWN_TRUTH, FROM_FRONT)
    assert (*plainer, NARROW, CUT_CHANNELS) == KNOWN_PASSES
    assert pass_names()[-6:] == KNOWN_PASSES
