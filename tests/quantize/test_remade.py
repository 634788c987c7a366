"""A quantised model is rebuilt from its own grids before single layers are widened."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.quantize.hard import depthwise_net, spread_depthwise
from tests.sampling import sampled
from tinyrt.interpreter import Model
from tinyrt.metrics import evaluate_graph
from tinyrt.ops import is_weighted
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.explain.bisect import _Remade, bisect
from tinyrt.quantize.explain.matching import as_quantized
from tinyrt.quantize.mixed.budget import Budget

BEST = replace(PRESETS[Preset.BEST], tune_ranges=False)
CONFIGS = [
    QuantConfig(),
    QuantConfig(scheme=Scheme.INT16X8),
    QuantConfig(scheme=Scheme.INT4),
    QuantConfig(float_io=True),
    QuantConfig(float_io=True, scheme=Scheme.INT16X8),
    QuantConfig(keep_float=("conv2d_2",)),
    QuantConfig(scheme_for=(("conv2d_2", Scheme.INT16X8),)),
    QuantConfig(scheme_for=(("depthwise_conv2d_1", Scheme.INT4),)),
    QuantConfig(scheme=Scheme.INT16X8, scheme_for=(("conv2d_2", Scheme.INT8),)),
    BEST,
    replace(BEST, keep_float=("conv2d_0",)),
]

CONVOLUTIONS = ("conv2d_0", "depthwise_conv2d_1", "conv2d_2", "depthwise_conv2d_3", "conv2d_4")


def _samples(count=32):
    return np.random.default_rng(7).normal(size=(count, 8, 8, 3)).astype(np.float32)


@pytest.mark.parametrize("config", sampled([*CONFIGS[:9], CONFIGS[-1]], CONFIGS))
def test_the_rebuilt_model_answers_as_the_quantised_one(config):
    graph, x = depthwise_net(), _samples()
    quantized = quantize_graph(graph, x, config)
    # Other data, so that a range from there would show.
    rebuilt = _Remade(as_quantized(graph, quantized), quantized, {"x": 0.3 * x[:8]})
    again = apply_plan(rebuilt.graph, rebuilt.plan(rebuilt.assignment))
    found, expected = Model(again)(x), Model(quantized)(x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("changed", sampled(["conv2d_2"], ["conv2d_0", "conv2d_2"]))
def test_layers_that_keep_their_scheme_keep_their_rounded_weights(changed):
    graph = depthwise_net()
    quantized = quantize_graph(graph, _samples(), BEST)
    rebuilt = _Remade(as_quantized(graph, quantized), quantized, {"x": _samples(8)})
    layers = [node.output.name for node in graph.bound() if is_weighted(node)]
    plan = rebuilt.plan({changed: Scheme.INT4})
    assert set(plan.rounded) == set(plan.biases) == set(layers) - {changed}


@pytest.mark.parametrize(
    ("config", "scheme", "others"),
    [
        (QuantConfig(), Scheme.INT8, {}),
        (QuantConfig(scheme=Scheme.INT16X8), Scheme.INT16X8, {}),
        (QuantConfig(keep_float=("conv2d_2",)), Scheme.INT8, {"conv2d_2": Scheme.FLOAT}),
        (
            QuantConfig(
                scheme_for=(("depthwise_conv2d_1", Scheme.INT4), ("conv2d_0", Scheme.INT16X8))
            ),
            Scheme.INT8,
            {"depthwise_conv2d_1": Scheme.INT4, "conv2d_0": Scheme.INT16X8},
        ),
        (
            QuantConfig(scheme_for=(("conv2d_2", Scheme.INT4),)),
            Scheme.INT8,
            {"conv2d_2": Scheme.INT4},
        ),
        (
            QuantConfig(scheme=Scheme.INT16X8, keep_float=("conv2d_0",)),
            Scheme.INT16X8,
            {"conv2d_0": Scheme.FLOAT},
        ),
        # Most activations count where inputs are in float, and inputs where they are not.
        (
            QuantConfig(float_io=True, scheme_for=(("conv2d_2", Scheme.INT16X8),)),
            Scheme.INT8,
            {"conv2d_2": Scheme.INT16X8},
        ),
        (
            QuantConfig(scheme_for=(("*conv2d_?", Scheme.INT16X8),)),
            Scheme.INT8,
            dict.fromkeys(CONVOLUTIONS, Scheme.INT16X8),
        ),
    ],
)
def test_schemes_are_read_off_the_model(config, scheme, others):
    graph, x = depthwise_net(), _samples()
    quantized = quantize_graph(graph, x, config)
    rebuilt = _Remade(graph, quantized, {"x": x[:8]})
    assert rebuilt.config.scheme is scheme
    assert rebuilt.assignment == others


def test_only_layers_of_integers_have_noise_of_weights():
    """One of four bits is judged with eight, too; those in float have none, be they several."""
    graph, x = depthwise_net(), _samples()
    eight = ("depthwise_conv2d_3", "conv2d_4", "fully_connected_6")
    four = (("depthwise_conv2d_1", Scheme.INT4),)
    config = QuantConfig(keep_float=("conv2d_0", "conv2d_2"), scheme_for=four)
    quantized = quantize_graph(graph, x, config)
    noise = _Remade(as_quantized(graph, quantized), quantized, {"x": x[:8]}).noise({"x": x[:8]})
    assert {name: set(table) for name, table in noise.weights.items()} == {
        "depthwise_conv2d_1": {Scheme.INT8, Scheme.INT4},
        **{name: {Scheme.INT8} for name in eight},
    }


@pytest.mark.parametrize("float_io", [True, False])
def test_inputs_keep_their_kind(float_io):
    graph, x = small_cnn(), _samples()
    quantized = quantize_graph(graph, x, QuantConfig(float_io=float_io))
    assert _Remade(graph, quantized, {"x": x[:8]}).config.float_io is float_io


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8])
def test_ranges_are_those_of_all_integers(scheme):
    graph, x = small_cnn(), _samples()
    quantized = quantize_graph(graph, x, QuantConfig(scheme=scheme))
    ranges = _Remade(graph, quantized, {"x": x[:8]}).ranges
    levels = 2**16 if scheme is Scheme.INT16X8 else 2**8
    for name, found in ranges.items():
        value = quantized.values.get(name)
        if value is not None and value.q is not None:
            assert found.high - found.low == pytest.approx((levels - 1) * value.q.scale)
            assert found.low == pytest.approx((-levels / 2 - value.q.zero_point) * value.q.scale)


def test_tensors_that_stay_in_float_have_the_range_of_the_data():
    graph, x = small_cnn(), _samples()
    config = QuantConfig(keep_float=("conv2d_0", "conv2d_1"), float_io=True)
    quantized = quantize_graph(graph, x, config)
    found = _Remade(graph, quantized, {"x": x[:8]}).ranges["x"]
    assert (found.low, found.high) == (x[:8].min(), x[:8].max())


# The search


@pytest.mark.parametrize("scheme", [Scheme.INT16X8, Scheme.FLOAT])
def test_options_name_the_scheme_that_each_layer_takes(scheme):
    graph, x = spread_depthwise(depthwise_net()), _samples()
    quantized = quantize_graph(graph, x, QuantConfig())
    start = evaluate_graph(quantized, {"x": x}, against=graph).sqnr_db
    target = Budget(min_sqnr_db=start + 1, allowed=(scheme,))
    found = bisect(graph, quantized, {"x": x}, target=target)
    assert found.reached
    assert found.options
    ending = "'" if scheme is Scheme.FLOAT else f"={scheme}'"
    start = "--keep-float '" if scheme is Scheme.FLOAT else "--scheme-for '"
    for option, name in zip(found.options, found.kept, strict=True):
        assert option == f"{start}{name}{ending}"
    assert set(found.kept.values()) == {scheme}


@pytest.mark.parametrize(
    ("target", "keep_float"),
    sampled([(8, ("conv2d_0",)), (20, ())], [*product((8, 20), ((), ("conv2d_0",)))]),
)
def test_the_kept_layers_reach_the_target_and_none_of_them_is_needless(keep_float, target):
    graph, x = spread_depthwise(depthwise_net()), _samples()
    quantized = quantize_graph(graph, x, QuantConfig(keep_float=keep_float))
    found = bisect(graph, quantized, {"x": x}, target=Budget(min_sqnr_db=target))
    rebuilt = _Remade(graph, quantized, {"x": x})

    def measured(kept):
        model = apply_plan(rebuilt.graph, rebuilt.plan(rebuilt.assignment | kept))
        return evaluate_graph(model, {"x": x}, against=graph).sqnr_db

    assert measured(found.kept) == pytest.approx(found.result.sqnr_db, abs=1e-6)
    assert found.result.sqnr_db >= target
    for name in found.kept:
        assert measured({n: s for n, s in found.kept.items() if n != name}) < target
    assert len(found.kept) <= sum(len(step.layers) for step in found.steps)
    for before, step in zip([found.start, *found.steps], found.steps, strict=False):
        assert step.sqnr_db > before.sqnr_db
        assert "takes away" in step.why


def test_progress_ends_at_what_was_announced_or_beyond():
    graph, x, told = spread_depthwise(depthwise_net()), _samples(), []
    quantized = quantize_graph(graph, x, QuantConfig())
    bisect(graph, quantized, {"x": x}, progress=lambda done, total: told.append((done, total)))
    assert all(total == max(done, 2 * len(graph.nodes)) for done, total in told)


def test_a_model_of_several_rows_is_searched_with_whole_runs():
    rng, b = np.random.default_rng(0), Builder((3, 4))
    w = b.constant(rng.normal(size=(5, 4)).astype(np.float32))
    y = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    mean = b.op("mean", (y,), MeanAttrs((0,), keep_dims=True))
    graph, x = b.graph(b.op("sub", (y, mean), AddAttrs())), rng.normal(size=(132, 4))
    x = x.astype(np.float32)
    quantized = quantize_graph(graph, x, QuantConfig())
    found = bisect(graph, quantized, {"x": x}, target=Budget(None, None, 100, (Scheme.FLOAT,)))
    assert found.result.sqnr_db > found.start.sqnr_db


@pytest.mark.parametrize(("lost", "is_reached"), [(0, True), (1, True), (2, False)])
def test_with_labels_one_in_a_hundred_may_be_lost(lost, is_reached):
    """By hand: a model of one layer whose quantised form has some of 100 samples wrong."""
    b = Builder((1, 1))
    w = b.constant(np.float32([[1.0], [-1.0]]))
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    x = np.full((100, 1), 1.0, np.float32)
    quantized = quantize_graph(graph, np.linspace(-1, 1, 100)[:, None], QuantConfig())
    labels = np.zeros(100, np.int64)
    x[:lost] = -1e-4  # of the other class in float, a tie, which is the first's, in int8
    labels[:lost] = 1
    found = bisect(graph, quantized, {"x": x}, labels, Budget(allowed=(Scheme.INT8,)))
    assert found.float_top1 == 1
    assert found.start.top1 == pytest.approx(1 - lost / 100)
    assert found.reached is is_reached
    assert (found.steps, found.kept) == ((), {})
