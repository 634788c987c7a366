"""Layers, comparisons and choices that nearly are what a method of quantisation looks for."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.quantised import constant, f32, node_of
from tests.passes.random_net import RandomNet as Net
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import Calibrator, QuantConfig, QuantPlan, Scheme, quantize_graph
from tinyrt.quantize.compared import number_for
from tinyrt.quantize.explain.bisect import _is_wide, _with_default
from tinyrt.quantize.explain.matching import as_quantized
from tinyrt.quantize.imported.integers import has_weights
from tinyrt.quantize.methods.channels import free_spaces
from tinyrt.quantize.methods.chosen import _Trials, _variations
from tinyrt.quantize.methods.equalize import _consumer_noise, _shift
from tinyrt.quantize.mixed.assign import WIDER, raised
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.noise import _groups
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import lay_out
from tinyrt.quantize.simulate import Simulator, simulator_of
from tinyrt.quantize.tables import free_ranges

WEIGHTS, BIAS = constant(DType.FLOAT32, 3, 4), constant(DType.FLOAT32, 3)
WEIGHTS = replace(WEIGHTS, q=QParams((0.5,), 0))
HELD = {
    "weights and a bias": ((WEIGHTS, BIAS), True),
    "weights without a bias": ((WEIGHTS,), True),
    "a computed bias": ((WEIGHTS, f32(3)), False),
    "computed weights": ((replace(WEIGHTS, data=None), BIAS), False),
    "weights on no grid": ((replace(WEIGHTS, q=None), BIAS), False),
    "a zero point": ((replace(WEIGHTS, q=QParams((0.5,), 1)), BIAS), False),
    "the finest grid": ((replace(WEIGHTS, q=QParams((1 / 255,), 0)), BIAS), True),
    "a finer one": ((replace(WEIGHTS, q=QParams((1 / 256,), 0)), BIAS), False),
}


@pytest.mark.parametrize("name", HELD)
def test_weights_that_lie_on_a_grid_of_8_bits(name):
    inputs, found = HELD[name]
    node = node_of("fully_connected", FullyConnectedAttrs(), [f32(2, 4), *inputs], [f32(2, 3)])
    assert has_weights(node) is found


@pytest.mark.parametrize(
    ("op", "dtype", "number", "keeps"),
    [
        ("less", DType.INT8, 3.0, True),
        ("less", DType.INT8, 900.0, False),
        ("less", DType.INT16, 1e5, True),
        ("equal", DType.INT8, 63.0, True),
        ("equal", DType.INT8, 900.0, False),
    ],
)
def test_a_number_beyond_all_is_compared_as_the_last_one_or_on_a_grid_of_its_own(
    op, dtype, number, keeps
):
    """Kernels that compare integers as they are stored take no other grid."""
    q = QParams((0.5,), 0)
    limits = np.iinfo(dtype.numpy)
    every = np.arange(limits.min, limits.max + 1)
    ports = [f32(2), Value.constant("", np.float32([number]))], [Value("", DType.BOOL, (2,))]
    stored, own = number_for(node_of(op, NoAttrs(), *ports), 1, q, dtype)
    real = (stored.astype(np.float64) - own.zero_point) * own.scale
    wanted = getattr(np, op)(every * q.scale, number)
    if dtype is DType.INT8 or number < limits.max * q.scale:
        np.testing.assert_array_equal(getattr(np, op)(every * q.scale, real), wanted)
    assert (own == q) is keeps
    assert limits.min <= stored.min() <= stored.max() <= limits.max


def norm(net, *ops):
    """A layer behind products with, and sums of, numbers for each channel."""
    x = "x"
    for op in ops:
        x = net.op(op, (x, net.random(4)), {"mul": MulAttrs, "add": AddAttrs}[op]())
    return net.graph(net.dense(x, 4))


@pytest.mark.parametrize(
    ("ops", "free"), [((), 0), (("add",), 0), (("mul",), 1), (("mul", "add"), 1)]
)
def test_a_factor_is_undone_where_a_layer_or_a_product_takes_it(ops, free):
    graph = norm(Net((2, 4)), *ops)
    spaces = [space for space in free_spaces(graph) if space.is_free]
    assert len(spaces) == free
    for space in spaces:
        rows = {name: np.array([[1.0, 2, 3, 4], [2, 3, 4, 5]]) for name in space.tensors}
        assert not _shift(space, rows).any()


def test_channels_between_layers_are_shifted_to_their_middle():
    net = Net((2, 4))
    (space,) = free_spaces(net.graph(net.dense(net.dense("x", 4), 4)))
    (name,) = space.tensors
    assert _shift(space, {name: np.array([[1.0, 2, 3, 4], [2, 3, 4, 5]])}).all()


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize(
    ("paddings", "shifts"),
    [(("VALID", "VALID"), True), (("VALID", "SAME"), False), (("SAME", "SAME"), False)],
)
def test_channels_that_some_reader_pads_are_not_shifted(paddings, shifts, activation):
    """To their middle, or to their least behind a relu."""
    b = Builder((1, 3, 3, 2))
    kernel = [b.constant(np.ones((2, 3, 3, 2), np.float32)) for _ in range(3)]
    first = Conv2dAttrs(padding="SAME", activation=activation)
    y = b.op("conv2d", ("x", kernel[0]), first)
    ends = [
        b.op("conv2d", (y, k), Conv2dAttrs(padding=p))
        for k, p in zip(kernel[1:], paddings, strict=True)
    ]
    (space,) = free_spaces(b.graph(*ends))
    wanted = {"NONE": [2.0, -1.0], "RELU": [1.0, 0.0]}[activation] if shifts else [0.0, 0.0]
    assert _shift(space, {y: np.array([[1.0, -2], [3, 0]])}).tolist() == wanted


@pytest.mark.parametrize("paddings", [("VALID",) * 2, ("VALID", "SAME"), ("SAME",) * 2], ids=str)
def test_shifts_are_told_where_no_reader_pads(paddings):
    """A bias that differs there is another bias: the padding's zeros would be shifted, too."""
    rng = np.random.default_rng(0)
    w, *others = rng.normal(size=(3, 6, 3, 3, 6)).astype(np.float32)

    def net(bias):
        b = Builder((1, 7, 7, 6))
        constants = b.constant(w), b.constant(np.full(6, bias, np.float32))
        y = b.op("conv2d", ("x", *constants), Conv2dAttrs())
        kernels = map(b.constant, others)
        ends = (
            b.op("conv2d", (y, k), Conv2dAttrs(padding=p))
            for k, p in zip(kernels, paddings, strict=True)
        )
        return b.graph(*ends)

    x = rng.normal(size=(32, 7, 7, 6)).astype(np.float32)
    quantized = quantize_graph(net(50), x, QuantConfig())
    graph = net(0)
    assert (as_quantized(graph, quantized) is graph) is ("SAME" in paddings)


@pytest.mark.parametrize("equalize", [True, False])
@pytest.mark.parametrize("smooth", [True, False])
def test_only_what_was_chosen_is_varied(equalize, smooth):
    layers = Net((2, 4))
    graphs = norm(Net((2, 4)), "mul"), layers.graph(layers.dense(layers.dense("x", 4), 4))
    config = QuantConfig(equalize=equalize, smooth=smooth, measured=("smooth", "equalize"))
    config = replace(config, calibrator=Calibrator.MINMAX)
    net = Net((2, 4))
    both = net.graph(net.dense(net.dense(net.mul("x", net.random(4)), 4), 4))
    behind_norm, between, mixed = (
        [option for found in _variations(graph, config) for option in found]
        for graph in (*graphs, both)
    )
    assert [o.choices for o in behind_norm] == [{"smooth": False}] * smooth
    assert [o.full_range for o in between] == [True, False] * equalize
    assert mixed == between + behind_norm


ALL = QuantConfig(per_channel_dense=True)
DENSE = ("fully_connected", FullyConnectedAttrs(), (2, 3))
ROUNDED = {
    "a scale for each row": (DENSE, ALL, (2, 9), 127),
    "one scale for all rows": (DENSE, QuantConfig(), (9, 9), 127),
    "rows of four bits": (DENSE, replace(ALL, scheme=Scheme.INT4), (2, 9), 7),
    "one scale of four bits": (DENSE, QuantConfig(scheme=Scheme.INT4), (9, 9), 7),
    "a convolution": (("conv2d", Conv2dAttrs(), (2, 1, 1, 3)), QuantConfig(), (2, 9), 127),
}
"""Layer, choices, and by hand: the greatest weight that each row's scale reaches, and its steps."""


@pytest.mark.parametrize("name", ROUNDED)
def test_noise_of_weights_is_that_of_their_scales(name):
    (op, attrs, shape), config, peaks, most = ROUNDED[name]
    w = Value.constant("w", np.float32([1, -2, 0.5, 3, 0, -3]).reshape(shape))
    node = node_of(op, attrs, [f32(*shape), w], [f32(*shape[:-1], 2)])
    scale, own, squares = np.array([1.0, 1.0, 3.0]), np.array([0.1, 0.2, 0.3]), np.full(3, 6.0)
    passed = np.mean([0.1 + 4 * 0.2 + 0.25 * 0.3, 9 * 0.1 + 9 * 0.3])
    rounded = np.mean([(peak / most) ** 2 / 12 * (6 + 6 + 6 / 9) for peak in peaks])
    found = _consumer_noise(node, scale, own, squares, config)
    assert found == pytest.approx(passed + rounded, rel=1e-6)


class PlainForm:
    """What a form is made from, without its ranges."""

    def __init__(self, graph, fit, held, config):
        self.graph, self.fitted = graph, Simulator(graph, fit)


def test_what_trials_remember_is_of_the_same_choices(monkeypatch):
    """Whatever was tried before, channels are rescaled as in trials of these choices alone."""
    b, rng, factors = Builder((1, 4)), np.random.default_rng(2), np.float32([1, 1, 40, 1])
    x = "x"
    for shape, apart in (((6, 4), 1), ((4, 6), 1), ((3, 4), factors)):
        w = rng.normal(size=shape) / apart
        x = b.op("mul", (x, b.constant(factors)), MulAttrs()) if shape == (3, 4) else x
        x = b.op("fully_connected", (x, b.constant(w.astype(np.float32))), FullyConnectedAttrs())
    graph = b.graph(x)
    monkeypatch.setattr("tinyrt.quantize.methods.chosen._Form", PlainForm)
    fit, held = ({"x": np.random.default_rng(i).normal(size=(9, 4))} for i in (0, 1))
    fit["x"][1] *= 30  # beyond what the other samples reach
    shared, found = _Trials(graph, fit, held), set()
    for equalize, smooth, full in product((False, True), repeat=3):
        config = QuantConfig(Calibrator.MINMAX, equalize=equalize, smooth=smooth)
        forms = [trials._form(config, full) for trials in (shared, _Trials(graph, fit, held))]
        told, alone = (
            [v.data.tobytes() for v in form.graph.values.values() if v.data is not None]
            for form in forms
        )
        assert told == alone
        found.add(tuple(told))
    assert len(found) >= 5  # each choice counts


def test_schemes_that_are_not_chosen_among_are_not_widened():
    net = Net((2, 4))
    first = net.dense("x", 4)
    graph = net.graph(net.dense(first, 4))
    for scheme, count in ((Scheme.INT8, 2), (Scheme.WEIGHTS_INT8, 0)):
        layout = lay_out(graph, QuantConfig(scheme=scheme))
        found = list(raised(graph, layout, {}, [(first,)], set(), WIDER))
        assert bool(found) is bool(count)


def test_only_what_a_plan_has_integers_for_makes_noise():
    net = Net((2, 4))
    graph = net.graph(net.dense("x", 4))
    assert _groups(graph, QuantPlan()) == []
    assert _groups(graph, QuantPlan(activations={"x": QParams((0.1,), 0)})) == [("x",)]


@pytest.mark.parametrize("known", [True, False])
def test_ranges_that_nobody_observed_are_those_that_an_op_prescribes(known):
    net = Net((2, 4))
    answers = net.op("logistic", ("x",))
    graph = net.graph(net.dense(answers, 4))
    ranges = {answers: Range(0, 0.01)} if known else {}
    found = free_ranges(graph, ranges, QuantConfig())
    assert (found is graph) is not known
    assert ("pointwise" in {n.op for n in found.nodes}) is known


@pytest.mark.parametrize("target", [Budget(min_accuracy=0.9), Budget(min_sqnr_db=20.0)])
def test_a_limit_that_is_given_stays_the_only_one(target):
    assert _with_default(target, None) is target


@pytest.mark.parametrize(
    ("right", "limits"), [(None, (None, 40.0)), (0.9, (0.89, None)), (0.005, (1e-9, None))]
)
def test_a_limit_that_is_not_given_is_near_the_float_model(right, limits):
    found = _with_default(Budget(), SimpleNamespace(of_float=SimpleNamespace(top1=right)))
    assert (found.min_accuracy, found.min_sqnr_db) == pytest.approx(limits)


@pytest.mark.parametrize(
    ("inputs", "others", "wide"),
    [("s", "l", False), ("l", "s", True), ("sl", "l", False), ("sll", "s", True), ("", "ll", True)],
)
def test_a_model_is_wide_whose_inputs_mostly_are(inputs, others, wide):
    """Short or long integers; of inputs in float, the other activations tell."""
    dtypes = {"s": DType.INT8, "l": DType.INT16}
    values = {
        str(i): Value(str(i), dtypes[kind], (1, 4), QParams((0.1,), 0))
        for i, kind in enumerate(inputs + others)
    }
    ports = [str(i) for i in range(len(inputs))]
    assert _is_wide(SimpleNamespace(values=values, inputs=ports)) is wide


def test_what_moves_the_input_stays_in_the_model_s_own_type():
    """Beside a layer in int16 and an input in int8, no op gives it the type of its own input."""
    net = Net((2, 4))
    moved = net.op("reshape", ("x",), ReshapeAttrs((4, 2)))
    layer = net.dense(moved, 3)
    config = QuantConfig(scheme_for=((layer, Scheme.INT16X8),))
    layout = lay_out(net.graph(layer), config)
    assert layout.schemes[moved] is Scheme.INT8
    assert DType.INT16 in layout.dtypes.values()


@pytest.mark.parametrize(("scheme", "found"), [(Scheme.INT8, 1.27), (Scheme.INT16X8, 3.21)])
def test_tensors_of_a_plan_are_rounded_to_the_integers_of_their_scheme(scheme, found):
    b = Builder((1, 1))
    graph = b.graph(b.op("relu", b.inputs))
    plan = QuantPlan({"x": QParams((0.01,))}, layout=lay_out(graph, QuantConfig(scheme=scheme)))
    simulator = simulator_of(plan, graph, {"x": np.float32([[3.2119]])})
    assert simulator.run_plan(plan)["x"].item() == pytest.approx(found)
