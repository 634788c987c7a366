"""Ranges, constants, layers and masks that nearly are what a step of quantisation looks for."""

from dataclasses import replace

import numpy as np
import pytest

from tests.passes.random_net import RandomNet as Net
from tinyrt.ops import is_weighted
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize import Calibrator, QuantConfig, Scheme, calibrate, make_plan
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.calibration.observers import make_observer
from tinyrt.quantize.config import BiasCorrection
from tinyrt.quantize.faint import lifted
from tinyrt.quantize.methods.affine import merge_affine
from tinyrt.quantize.methods.heads import parts_of
from tinyrt.quantize.mixed.assign import WIDER, raised
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import lay_out
from tinyrt.quantize.scores import masks

MIRRORED = [c for c in Calibrator if c not in (Calibrator.AUTO, Calibrator.ENTROPY)]
"""Calibrators that treat both ends alike; entropy moves the upper one first."""


@pytest.mark.parametrize(
    ("own", "others", "found"),
    [
        ((0, 0), [(-2, 3)], (-2, 3)),
        ((0, 0), [(0, 0), (-2, 3)], (-2, 3)),
        ((0, 0), [None, (1, 3)], (1, 3)),
        ((0, 0), [(0, 0)], (0, 0)),
        ((5, 5), [(-2, 3)], (5, 5)),
        ((-5, -5), [(-2, 3)], (-5, -5)),
        ((0, 1e-9), [(-2, 3)], (0, 1e-9)),
        ((-1e-9, 0), [(-2, 3)], (-1e-9, 0)),
    ],
)
def test_what_is_always_zero_alone_takes_the_range_of_what_it_is_added_to(own, others, found):
    """A number that is not 0 need not lie in the range of the others."""
    net = Net((1, 4), *[(1, 4)] * len(others))
    graph = net.graph(*(net.add("x", name) for name in net.inputs[1:]))
    ranges = dict(zip(net.inputs[1:], others, strict=True))

    def range_of(name):
        ends = ranges.get(name)
        return None if ends is None else Range(*ends)

    assert lifted(graph, "x", Range(*own), range_of) == Range(*found)


@pytest.mark.parametrize("calibrator", MIRRORED)
@pytest.mark.parametrize("few", [0.0, -1e-3, -0.5])
def test_ranges_of_mirrored_values_are_mirrored_and_hold_zeros_side(calibrator, few):
    """Of many values on one side and one on the other, an end is not moved past 0."""
    x = np.full((1, 1001), few, np.float32)
    x[0, 1:] = np.linspace(1, 2, 1000)
    ranges = []
    for sign in (1, -1):
        observer = make_observer(calibrator, QuantConfig(percentile=99.0))
        observer.add(x * sign)
        ranges.append(observer.range())
    found, mirrored = ranges
    assert mirrored.high == pytest.approx(-found.low, abs=2e-3)
    assert mirrored.low == pytest.approx(-found.high, rel=2e-3)
    assert found.low <= 0 < found.high
    assert (found.low < 0) is (few < 0)


def wide_and_named():
    net = Net((1, 6, 6, 3))
    first = net.conv("x")
    second = net.conv(first)
    return net.graph(second), first, second


def test_ops_whose_schemes_are_named_are_not_widened():
    graph, first, second = wide_and_named()
    layout = lay_out(graph, QuantConfig())
    groups = [(first,), (second,), ("x",)]

    def steps(*fixed):
        return [set(made) for _, made in raised(graph, layout, {}, groups, set(fixed), WIDER)]

    # To int16 and to float, each: one layer, the other, and both where these share a tensor.
    assert len(steps()) == 6
    assert all(steps().count(names) == 2 for names in ({first}, {second}, {first, second}))
    assert steps(first) == [{second}, {second}]
    assert steps(first, second) == []


def test_a_tensor_is_widened_with_all_that_read_it_as_whichever_operand():
    net = Net((1, 6, 6, 3))
    first = net.conv("x")
    second = net.conv(first)
    total = net.add(second, first)
    graph = net.graph(total)
    found = raised(graph, lay_out(graph, QuantConfig()), {}, [(first,)], set(), WIDER)
    assert {first, second, total} in [set(made) for _, made in found]


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.WEIGHTS_INT8])
@pytest.mark.parametrize("differ", [True, False])
def test_layers_of_one_constant_have_weights_of_their_own_where_these_differ(scheme, differ):
    """Rounding may be refined in each layer: then what they share in float is two constants."""
    net = Net((1, 6))
    w = net.random(6, 6)
    taken = net.constant(np.ones(6, np.float32))  # a name that a second constant would take
    net.values[f"{w}_q"] = replace(net.values.pop(taken), name=f"{w}_q")
    first = net.op("fully_connected", ("x", w), FullyConnectedAttrs())
    second = net.op("fully_connected", (first, w), FullyConnectedAttrs())
    graph = net.graph(net.add(second, f"{w}_q"))
    x = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    config = QuantConfig(scheme=scheme)
    plan = make_plan(graph, calibrate(graph, x), config)
    plain = {n.output.name: plan.stored_weights(n) for n in graph.bound() if is_weighted(n)}
    moved = plain[second] - (plain[second] > 0)
    made = apply_plan(graph, replace(plan, rounded={second: moved} if differ else {}))
    nodes = {n.output: n for n in made.nodes}

    def stored(name):
        source = nodes[name].inputs[1]
        return made.value(nodes[source].inputs[0] if source in nodes else source).data

    np.testing.assert_array_equal(stored(first), plain[first])
    np.testing.assert_array_equal(stored(second), moved if differ else plain[second])
    assert (stored(first) is stored(second)) is not differ


PAIRS = {
    "a factor and a shift of each channel": ((1, 5, 8), (8,), "NONE", True),
    "with a batch": ((3, 5, 8), (8,), "NONE", True),
    "clamped in between": ((1, 5, 8), (8,), "RELU", False),
    "of a vector": ((8,), (8,), "NONE", False),
    "that widen their input": ((1, 5, 1), (8,), "NONE", False),
    "that have more dimensions": ((5, 8), (1, 1, 8), "NONE", False),
    "of rows": ((1, 8, 5), (8, 1), "NONE", False),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("chosen", [True, False])
def test_products_and_sums_that_are_one_layer(name, chosen):
    shape, constant, activation, taken = PAIRS[name]
    net = Net(shape)
    scaled = net.op("mul", ("x", net.random(*constant)), MulAttrs(activation))
    graph = net.graph(net.op("tanh", (net.add(scaled, net.random(*constant)),)))
    merged = merge_affine(graph, QuantConfig(), lambda name: chosen)
    found = any(n.op == "depthwise_conv2d" for n in merged.nodes)
    assert found is (taken and chosen)


CUTS = {
    "two halves": (SliceAttrs((0, 0, 0, 2), (1, 6, 6, 2), (1, 1, 1, 1)), True),
    "one of rows": (SliceAttrs((0, 1, 0, 2), (1, 5, 6, 2), (1, 1, 1, 1)), False),
    "every other": (SliceAttrs((0, 0, 0, 0), (1, 6, 6, 2), (1, 1, 1, 2)), False),
    "without its batch": (SliceAttrs((0, 0, 0, 2), (1, 6, 6, 2), (1, 1, 1, 1), (0,)), False),
    "backwards": (SliceAttrs((0, 5, 0, 2), (1, 6, 6, 2), (1, -1, 1, 1)), False),
}


@pytest.mark.parametrize("name", CUTS)
def test_parts_of_channels_that_may_be_layers(name):
    attrs, taken = CUTS[name]
    net = Net((1, 6, 6, 3))
    whole = net.conv("x", c_out=4)
    first = net.op("slice", (whole,), SliceAttrs((0, 0, 0, 0), (1, 6, 6, 2), (1, 1, 1, 1)))
    second = net.op("slice", (whole,), attrs)
    graph = net.graph(first, second)
    (node,) = [n for n in graph.bound() if n.output.name == whole]
    assert {n.output for n in parts_of(graph, node)} == ({first, second} if taken else set())


@pytest.mark.parametrize("op", ["select_v2", "add", "mul"])
@pytest.mark.parametrize("reader", ["reduce_max", "reduce_min"])
def test_who_takes_the_greatest_of_chosen_scores_sees_no_mask(op, reader):
    """What was chosen by a mask has others beside it; sums with one may all lie far below."""
    net = Net((2, 4), (2, 4))
    if op == "select_v2":
        made = net.op(op, (net.op("less", ("x", "x1")), "x", "x1"))
    else:
        made = net.add("x", "x1") if op == "add" else net.mul("x", "x1")
    greatest = net.op(reader, (made,), ReduceAttrs((-1,), keep_dims=True))
    graph = net.graph(net.softmax(net.add(made, "x")), greatest)
    assert (made in masks(graph)) is ((op, reader) == ("select_v2", "reduce_max"))


NEEDS = {
    "int8": (QuantConfig(), True),
    "weights": (QuantConfig(scheme=Scheme.WEIGHTS_INT8), False),
    "halves": (QuantConfig(scheme=Scheme.WEIGHTS_FLOAT16), False),
    "weights, and a layer in int8": (
        QuantConfig(scheme=Scheme.WEIGHTS_INT8, scheme_for=(("a", Scheme.INT8),)),
        True,
    ),
    "weights whose rounding is chosen": (
        QuantConfig(scheme=Scheme.WEIGHTS_INT8, optimize_rounding=True),
        True,
    ),
    **{
        f"weights and {name}": (QuantConfig(scheme=Scheme.WEIGHTS_INT8, **{name: choice}), True)
        for name, choice in {
            **dict.fromkeys(("equalize", "smooth", "tune_ranges"), True),
            "bias_correction": BiasCorrection.ANALYTIC,
            "calibrator": Calibrator.MEASURED,
        }.items()
    },
}


@pytest.mark.parametrize("name", NEEDS)
def test_data_are_asked_for_where_something_depends_on_them(name):
    config, needs = NEEDS[name]
    assert config.needs_data is needs
