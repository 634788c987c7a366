"""The way from the default scheme to a mix: what is narrowed and widened, and in which order."""

from itertools import pairwise

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import BudgetError
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.quantize import BiasCorrection, QuantConfig, Scheme, calibrate, quantize_graph
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.noise import NoiseModel
from tinyrt.quantize.mixed.steps import Steps
from tinyrt.quantize.schemes import lay_out

WIDTHS = (64, 64, 32, 64, 4)
"""Dense layers of 4096, 2048, 2048 and 256 weights."""
SIZES = [4096, 2048, 2048, 256]
NAMES = [f"fully_connected_{i}" for i in range(4)]
INT8 = QuantConfig()
INT4 = QuantConfig(scheme=Scheme.INT4)
WITH_INT8 = (Scheme.INT4, Scheme.INT8)


@pytest.fixture(scope="module")
def net():
    rng, b, x = np.random.default_rng(0), Builder((1, WIDTHS[0])), "x"
    for c_in, c_out in pairwise(WIDTHS):
        w = b.constant(rng.normal(size=(c_out, c_in)).astype(np.float32))
        x = b.op("fully_connected", (x, w), FullyConnectedAttrs(activation="RELU"))
    data = rng.normal(size=(32, WIDTHS[0])).astype(np.float32)
    graph = b.graph(x)
    return graph, calibrate(graph, data), data


@pytest.mark.parametrize(
    ("scheme", "power"),
    [(Scheme.INT8, 1.0), (Scheme.INT16X8, 2.0**-14), (Scheme.WEIGHTS_INT8, 0.0)],
)
def test_noise_of_activations_goes_with_the_square_of_their_step(net, scheme, power):
    layout = lay_out(net[0], QuantConfig(scheme=scheme))
    assert NoiseModel({("x", NAMES[0]): 0.5, (NAMES[1],): 0.25}, {}).total(layout) == 0.75 * power


def _steps(net, budget, int4=(0, 0, 0, 0), config=INT8, activations=0.0, **options):
    """The steps where int4 weights of each layer add so much noise."""
    graph, ranges, _ = net
    weights = {
        name: {Scheme.INT8: 0.001, Scheme.INT4: 0.001 + more}
        for name, more in zip(NAMES, int4, strict=True)
    }
    noise = NoiseModel({("x",): activations}, weights)
    return Steps(graph, ranges, config, budget, noise, **options)


def _saving(steps, count):
    """A limit that is so many bytes of weights below the plain file."""
    return steps.bytes_of(steps.plain()) - count


def _narrow(net, saved, noise, config=INT8):
    """The layers that get int4 weights where that many bytes are to be saved."""
    limit = _saving(_steps(net, Budget(), config=config), saved)
    steps = _steps(net, Budget(max_bytes=limit), noise, config)
    assert steps.reach(0) == 0
    state = steps[0]
    assert steps.bytes_of(state) <= limit
    assert set(state.assignment.values()) <= {Scheme.INT4}
    assert state.assignment.keys() == state.why.keys()
    return [NAMES.index(name) for name in state.assignment]


@pytest.mark.parametrize(
    ("saved", "noise", "expected"),
    [
        (0, (1, 1, 1, 1), []),
        # The least noise for a byte, not the least noise, nor the most bytes.
        (700, (0.5, 0.4, 0.6, 0.9), [0]),
        (700, (0.9, 0.3, 0.6, 0.9), [1]),
        (700, (0.9, 0.6, 0.3, 0.9), [2]),
        (1800, (0.9, 0.4, 0.3, 0.9), [2, 1]),
        (2500, (0.5, 0.4, 0.3, 0.9), [0, 2]),
        (70, (0.9, 0.9, 0.9, 0.001), [3]),
        # The first is cheap and soon proves too small: the second does without it.
        (700, (0.9, 0.4, 0.6, 0.001), [1]),
        (1850, (0.5, 0.9, 0.9, 0.001), [0]),
        (1800, (0.9, 0.4, 0.3, 0.001), [1, 2]),
        (1500, (0.5, 0.1, 5.0, 0.0001), [0]),
        # Of those that prove needless, the noisiest go first.
        (3900, (1.0, 0.2, 0.2, 0.9), [1, 2, 0]),
        (3000, (0.05, 0.01, 0.02, 0.001), [0, 1]),
    ],
)
def test_weights_become_int4_where_bytes_cost_the_least_noise(net, saved, noise, expected):
    assert sorted(_narrow(net, saved, noise)) == sorted(expected)


def test_layers_that_a_pattern_names_keep_their_weights(net):
    config = QuantConfig(scheme_for=((NAMES[1], Scheme.INT8),))
    assert _narrow(net, 700, (5.0, 0.1, 0.8, 0.9), config) == [2]


def test_layers_around_an_op_that_float_alone_has_stay_in_float():
    rng, b = np.random.default_rng(0), Builder((1, 64))

    def dense(x):
        w = b.constant(rng.normal(size=(64, 64)).astype(np.float32) / 8)
        return b.op("fully_connected", (x, w), FullyConnectedAttrs(activation="RELU"))

    first = dense("x")
    around = [dense(first), dense(first)]
    around.append(dense(b.op("pow", around)))
    graph = b.graph(dense(around[-1]))
    (last,) = graph.outputs
    ranges = calibrate(graph, rng.normal(size=(32, 64)).astype(np.float32))
    start, noise = dict.fromkeys(around, Scheme.FLOAT), NoiseModel({}, {})
    plain = Steps(graph, ranges, INT8, Budget(), noise, start)
    limit = Budget(max_bytes=_saving(plain, 3000))
    steps = Steps(graph, ranges, INT8, limit, noise, start)
    assert steps.reach(0) == 0
    assert steps[0].assignment == {**start, first: Scheme.INT4, last: Scheme.INT4}


def test_each_int4_layer_tells_what_it_saves_and_costs(net):
    limit = _saving(_steps(net, Budget()), 1800)
    steps = _steps(net, Budget(max_bytes=limit), (0.9, 0.3, 0.1, 0.9))
    steps.reach(0)
    assert steps[0].why == {
        NAMES[1]: "saves 1,024 bytes for 75% of the noise that int4 weights add",
        NAMES[2]: "saves 1,024 bytes for 25% of the noise that int4 weights add",
    }


def test_weights_that_cost_no_noise_are_said_to_cost_none(net):
    limit = _saving(_steps(net, Budget()), 4000)
    steps = _steps(net, Budget(max_bytes=limit))
    steps.reach(0)
    assert all("for 0% of the noise" in why for why in steps[0].why.values())


def test_less_noise_in_int4_than_in_int8_counts_as_none(net):
    """A negative price would come first whatever the bytes."""
    limit = _saving(_steps(net, Budget()), 100)
    steps = _steps(net, Budget(max_bytes=limit), (-0.001, 0.5, 0.5, -0.001))
    steps.reach(0)
    assert list(steps[0].assignment) == [NAMES[0]]


@pytest.mark.parametrize(
    "options",
    [
        {"max_bytes": 1000},
        {"max_bytes": 5000, "allowed": (Scheme.INT8, Scheme.INT16X8)},
    ],
)
def test_a_size_out_of_reach_is_refused_with_the_smallest(net, options):
    steps = _steps(net, Budget(**options))
    smallest = quantize_graph(net[0], net[2], INT4 if options["max_bytes"] == 1000 else INT8)
    with pytest.raises(BudgetError, match="the smallest file has") as caught:
        steps.reach(0)
    assert f"at most {options['max_bytes']:,}" in str(caught.value)
    assert "allow int4 weights" in caught.value.hint
    # The report leaves room for biases, which some methods add.
    told = int(str(caught.value).split("has ")[1].split(" bytes")[0].replace(",", ""))
    assert 0 <= told - len(write_tflite(smallest)) < 1500


@pytest.mark.parametrize("bias_correction", list(BiasCorrection))
def test_the_size_is_that_of_the_file_with_the_biases_that_are_added(bias_correction):
    rng, b = np.random.default_rng(2), Builder((1, 4, 4, 3))
    w = b.constant(rng.normal(size=(40, 2, 2, 3)).astype(np.float32))
    up = b.op("transpose_conv", ("x", w), TransposeConvAttrs((8, 8), (2, 2), "VALID"))
    w = b.constant(rng.normal(size=(4, 1, 1, 40)).astype(np.float32))
    graph = b.graph(b.op("conv2d", (up, w), Conv2dAttrs()))
    data = rng.normal(size=(16, 4, 4, 3)).astype(np.float32)
    config = QuantConfig(bias_correction=bias_correction)
    steps = Steps(graph, calibrate(graph, data), config, Budget(), NoiseModel({}, {}))
    file = write_tflite(quantize_graph(graph, data, config))
    assert steps.bytes_of(steps.plain()) == len(file)


# Wider, step by step


def _widened(net, int4, count=9, **options):
    """Layers in the order in which they become int8."""
    budget = options.pop("budget", Budget(allowed=WITH_INT8))
    steps = _steps(net, budget, int4, INT4, **options)
    last = steps.reach(count)
    order = []
    for i in range(1, last + 1):
        (new,) = steps[i].assignment.keys() - steps[i - 1].assignment.keys()
        assert steps[i].assignment[new] is Scheme.INT8
        order.append(NAMES.index(new))
    return order


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        # For a bit operation: the second has half the products of the first.
        ((0.5, 0.4, 0.3, 0.0), [1, 2, 0]),
        ((0.9, 0.4, 0.3, 0.0), [0, 1, 2]),
        # What takes less than a twentieth away comes later, however cheap.
        ((0.5, 0.0, 0.0, 0.024), [0, 3]),
        ((0.5, 0.0, 0.0, 0.04), [3, 0]),
    ],
)
def test_layers_are_widened_where_an_operation_gains_the_most(net, noise, expected):
    assert _widened(net, noise) == expected


def test_what_takes_little_away_waits_though_it_is_the_cheapest(net):
    """0.0195 of 0.4235, for a sixteenth of the operations."""
    assert _widened(net, (0.3, 0.0, 0.0, 0.0195), activations=0.1) == [0, 3]
    assert _widened(net, (0.3, 0.0, 0.0, 0.0195)) == [3, 0]


def test_a_gain_of_less_than_half_a_percent_is_no_step(net):
    assert _widened(net, (0.5, 0.0, 0.0, 0.006), activations=0.7) == [0, 3]
    assert _widened(net, (0.5, 0.0, 0.0, 0.003), activations=0.7) == [0]


def test_the_search_for_guilty_layers_goes_by_the_gain_alone(net):
    noise = (0.5, 0.4, 0.3, 0.0)
    assert _widened(net, noise, by_gain=True) == [0, 1, 2]
    # Alike within a tenth: the cheaper one first.
    assert _widened(net, (0.41, 0.4, 0.1, 0.0), by_gain=True) == [1, 0, 2]


def test_layers_start_from_the_schemes_that_they_are_given(net):
    start = {NAMES[0]: Scheme.INT8}
    steps = _steps(net, Budget(allowed=WITH_INT8), (0.5, 0.4, 0, 0), INT4, assignment=start)
    assert steps.reach(5) == 1
    assert steps[0].assignment == start
    assert steps[1].assignment == start | {NAMES[1]: Scheme.INT8}
    assert steps[1].why.keys() == {NAMES[1]}
    assert "int8 takes away" in steps[1].why[NAMES[1]]


def test_reasons_of_earlier_steps_are_kept(net):
    steps = _steps(net, Budget(allowed=WITH_INT8), (0.6, 0.0, 0.4, 0), INT4)
    assert steps.reach(2) == 2
    # 4 * 0.001 of noise remain in the end.
    assert steps[2].why == {
        NAMES[2]: "int8 takes away 40% of the noise that was left then",
        NAMES[0]: "int8 takes away 99% of the noise that was left then",
    }
    assert steps[1].why.keys() == {NAMES[2]}


def test_a_step_that_does_not_fit_is_passed_over(net):
    plain = _steps(net, Budget(), config=INT4)
    # Int8 weights of the first layer take 2048 bytes more, those of the second 1024.
    limit = plain.bytes_of(plain.plain()) + 1500
    budget = Budget(max_bytes=limit, allowed=WITH_INT8)
    assert _widened(net, (0.9, 0.2, 0.1, 0.0), budget=budget) == [1]


@pytest.mark.parametrize(("index", "last"), [(0, 0), (1, 1), (2, 2), (7, 3)])
def test_steps_end_where_nothing_is_left_to_gain(net, index, last):
    steps = _steps(net, Budget(allowed=WITH_INT8), (0.5, 0.4, 0.3, 0), INT4)
    assert steps.reach(index) == last
    assert [steps.reach(i) for i in (9, index)] == [3, last]


def test_weights_that_save_no_byte_have_a_price_too():
    rng, b, x = np.random.default_rng(0), Builder((1, 64)), "x"
    for c_in, c_out in ((64, 64), (64, 1), (1, 1)):
        w = b.constant(rng.normal(size=(c_out, c_in)).astype(np.float32))
        x = b.op("fully_connected", (x, w), FullyConnectedAttrs())
    graph, data = b.graph(x), rng.normal(size=(32, 64)).astype(np.float32)
    ranges, noise = calibrate(graph, data), NoiseModel({}, {})
    plain = Steps(graph, ranges, INT8, Budget(), noise)
    steps = Steps(graph, ranges, INT8, Budget(max_bytes=_saving(plain, 1500)), noise)
    steps.reach(0)
    assert list(steps[0].assignment) == NAMES[:1]


def test_only_allowed_schemes_are_stepped_to(net):
    steps = _steps(net, Budget(allowed=(Scheme.INT4,)), (0.5, 0.4, 0.3, 0), INT4)
    assert steps.reach(5) == 0
