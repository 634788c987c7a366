"""Ranges that int8 tensors need not share, or cover: split heads, functions flat at an end."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.quantize.hard import encoder
from tests.sampling import sampled
from tinyrt.interpreter import Model
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import PRESETS, Calibrator, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.config import MEASURED, REFINING, BiasCorrection
from tinyrt.quantize.explain.debug import debug_graphs
from tinyrt.quantize.methods.chosen import FEWEST, _Trials, _variations, choose_methods
from tinyrt.quantize.methods.equalize import equalize
from tinyrt.quantize.methods.heads import APART, split_heads
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.choose import quantize_within
from tinyrt.quantize.pipeline import Prepared, _gains, prepare
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.simulate import Simulator, simulator_of


def _heads(ratio=30.0, *, step=1, shared=""):
    """(1, 6, 6, 3) -> one convolution, split into scores and boxes that are ``ratio`` smaller."""
    rng, b = np.random.default_rng(0), Builder((1, 6, 6, 3))
    w = rng.normal(size=(6, 1, 1, 3)).astype(np.float32)
    w[2:] /= ratio
    inputs = ("x", b.constant(w), b.constant(np.zeros(6, np.float32)))
    whole = b.op("conv2d", inputs, Conv2dAttrs())
    scores = b.op("slice", (whole,), SliceAttrs((0, 0, 0, 0), (1, 6, 6, 2), (1, 1, 1, 1)))
    size = (1, 6, 6, 4 // step)
    boxes = b.op("slice", (whole,), SliceAttrs((0, 0, 0, 2), size, (1, 1, 1, step)))
    others = {"all": inputs, "bias": ("x", b.constant(w), inputs[2])}
    again = [b.op("conv2d", others[shared], Conv2dAttrs(stride=(2, 2)))] if shared else []
    return b.graph(scores, boxes, *again)


def _images(count=40, seed=1):
    return np.random.default_rng(seed).normal(size=(count, 6, 6, 3)).astype(np.float32)


def test_heads_of_different_size_get_layers_of_their_own():
    graph, x = _heads(), _images()
    split = split_heads(graph, calibrate(graph, x), QuantConfig())
    assert [n.op for n in split.nodes] == ["conv2d", "conv2d"]
    found = Model(split).run(x)
    for name, exact in Model(graph).run(x).items():
        np.testing.assert_allclose(found[name], exact, rtol=1e-5, atol=1e-6)
    int8 = quantize_graph(graph, x, QuantConfig())
    boxes = graph.outputs[1]
    found = Model(int8).run(x)[boxes]
    assert sqnr_db(Model(graph).run(x)[boxes], found).min() > 30


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"ratio": 3.0}, QuantConfig()),
        ({"step": 2}, QuantConfig()),
        ({"shared": "all"}, QuantConfig()),
        ({"shared": "bias"}, QuantConfig()),
        ({}, QuantConfig(scheme=Scheme.INT16X8)),
        ({}, QuantConfig(scheme_for=(("conv2d*", Scheme.INT8),))),
    ],
)
def test_heads_stay_together_where_splitting_gains_nothing_or_is_not_theirs(options, config):
    graph = _heads(**options)
    assert split_heads(graph, calibrate(graph, _images()), config) is graph


@pytest.mark.parametrize(("ratio", "stays"), [(APART, True), (APART * 1.01, False)])
def test_heads_are_split_where_one_range_is_more_than_twice_the_other(ratio, stays):
    graph = _heads()
    ranges = dict(zip(graph.outputs, (Range(-ratio / 2, ratio / 2), Range(0.5, 1)), strict=True))
    assert (split_heads(graph, ranges, QuantConfig()) is graph) is stays


def test_what_depends_on_no_sample_counts_as_much_for_each():
    b = Builder((1, 4))
    constant = b.op("neg", (b.constant(np.float32([1, 2, 3])),))
    graph, x = b.graph(b.op("abs", ("x",)), constant), _rows(5)[:, :4]
    simulator = Simulator(graph, {"x": x})
    live = {name: y * 1.01 for name, y in simulator.reference.items()}
    live[graph.outputs[0]] *= np.linspace(1, 2, 5, dtype=np.float32)[:, None]
    own, other = (sqnr_db(simulator.reference[n], live[n]) for n in graph.outputs)
    assert own.shape == (5,)
    np.testing.assert_allclose(simulator.ratios_db(live), (own + other.mean()) / 2)


def _gate(function="logistic"):
    """(1, 16) -> dense, whose sums reach +-60 -> a reshape -> the function."""
    rng, b = np.random.default_rng(3), Builder((1, 16))
    w = b.constant((rng.normal(size=(8, 16)) * 4).astype(np.float32))
    x = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    x = b.op("reshape", (x,), ReshapeAttrs((1, 2, 4)))
    return b.graph(b.op(function, (x,)))


def _rows(count=64, seed=4):
    return np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)


@pytest.mark.parametrize(("function", "reach"), [("logistic", 8.0), ("tanh", 4.5)])
def test_sums_in_front_of_a_saturating_function_cover_what_it_tells_apart(function, reach):
    graph, x = _gate(function), _rows()
    int8 = quantize_graph(graph, x, QuantConfig())
    q = int8.value(graph.nodes[0].outputs[0]).q
    assert 128 * q.scale < reach
    assert evaluate_graph(int8, {"x": _rows(seed=5)}, against=graph).sqnr_db > 30


def test_int16_keeps_the_whole_range():
    graph = _gate()
    wide = quantize_graph(graph, _rows(), QuantConfig(scheme=Scheme.INT16X8))
    assert 32767 * wide.value(graph.nodes[0].outputs[0]).q.scale > 20


def test_debug_does_not_take_decided_values_for_lost_ones():
    graph, x = _gate(), _rows()
    report = debug_graphs(graph, quantize_graph(graph, x, QuantConfig()), {"x": x})
    sums = next(layer for layer in report.layers if layer.name == graph.nodes[0].outputs[0])
    assert sums.saturation == 0
    assert sums.accumulated_db > 25
    assert "cut off" not in sums.cause


def _outliers():
    """Two dense layers, and samples of which a few values are far out."""
    rng, b = np.random.default_rng(6), Builder((1, 64))
    w = b.constant(rng.normal(size=(32, 64)).astype(np.float32))
    hidden = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    w2 = b.constant(rng.normal(size=(4, 32)).astype(np.float32))
    graph = b.graph(b.op("fully_connected", (hidden, w2), FullyConnectedAttrs()))
    x = rng.normal(size=(96, 64)).astype(np.float32)
    x[::32, 0] = 400
    return graph, x


@pytest.mark.parametrize("named", [Calibrator.MEASURED, Calibrator.ENTROPY])
def test_a_mix_covers_all_values_unless_the_user_says_otherwise(named, monkeypatch):
    """int16 and float would lose what int8 gains by cutting values off."""
    graph, x = _outliers()
    seen = []
    monkeypatch.setattr(
        "tinyrt.quantize.mixed.choose.prepare",
        lambda *arguments: seen.append(arguments[2].calibrator) or prepare(*arguments),
    )
    config = replace(PRESETS[Preset.BALANCED], calibrator=named)
    quantize_within(graph, x, config, Budget())
    assert seen == [Calibrator.MINMAX if named is Calibrator.MEASURED else named]


def test_a_calibrator_that_helps_on_other_samples_is_chosen():
    graph, x = _outliers()
    config = PRESETS[Preset.BALANCED]
    chosen, _ = choose_methods(graph, {"x": x}, 128, config)
    assert chosen.calibrator is not Calibrator.MEASURED
    all_of_it = replace(config, calibrator=Calibrator.MINMAX), False
    assert choose_methods(graph, {"x": x[:23]}, 128, config) == all_of_it
    assert choose_methods(graph, {"x": x}, 23, config) == all_of_it
    by_tensor = replace(config, calibrator=Calibrator.AUTO)
    assert choose_methods(graph, {"x": x[:20]}, 128, by_tensor) == (by_tensor, False)
    assert choose_methods(graph, {"x": x}, 128, by_tensor)[0].calibrator is Calibrator.AUTO
    assert choose_methods(graph, {"x": x}, 128, config)[0] == chosen
    ranges = calibrate(graph, x, config=QuantConfig(calibrator=Calibrator.MEASURED))
    assert ranges.keys() == {"x", *(n.outputs[0] for n in graph.nodes)}


MEANS = {"average_pool2d": Pool2dAttrs((6, 6)), "resize_bilinear": ResizeAttrs((9, 9))}


@pytest.mark.parametrize("function", ["tanh", "relu", "softmax"])
@pytest.mark.parametrize("op", MEANS)
def test_what_is_averaged_keeps_values_that_a_function_behind_it_would_not_tell_apart(op, function):
    """Here one pixel lies far outside of the part where the function of their mean changes."""
    rng, b = np.random.default_rng(0), Builder((1, 6, 6, 8))
    w = b.constant((rng.normal(size=(5, 1, 1, 8)) * 3).astype(np.float32))
    means = b.op(op, (b.op("conv2d", ("x", w), Conv2dAttrs()),), MEANS[op])
    attrs = SoftmaxAttrs() if function == "softmax" else NoAttrs()
    graph, x = b.graph(b.op(function, (means,), attrs)), rng.normal(size=(64, 6, 6, 8))
    x = x.astype(np.float32)
    assert evaluate_graph(quantize_graph(graph, x), {"x": x}, against=graph).sqnr_db > 20


@pytest.mark.parametrize(("count", "held_back"), [(31, range(2, 24, 3)), (24, range(24, 36))])
def test_a_third_is_held_back_or_all_that_the_methods_do_not_see(count, held_back, monkeypatch):
    graph, x = _outliers()
    x = x[: 24 if count == 31 else 36]
    seen = []

    class Trials(_Trials):
        def __init__(self, graph, fit, held):
            seen.append((fit["x"], held["x"]))
            super().__init__(graph, fit, held)

    monkeypatch.setattr("tinyrt.quantize.methods.chosen._Trials", Trials)
    choose_methods(graph, {"x": x}, count, PRESETS[Preset.BALANCED])
    ((fit, held),) = seen
    np.testing.assert_array_equal(held, x[held_back])
    np.testing.assert_array_equal(fit, np.delete(x, held_back, axis=0))


def _tried(graph, config):
    return [
        ("full range" if option.full_range else next(iter(option.choices.items())))
        for options in _variations(graph, config)
        for option in options
    ]


def test_only_what_has_an_effect_and_is_not_named_is_tried():
    config = PRESETS[Preset.BALANCED]
    weaker = [("bias_correction", c) for c in (BiasCorrection.ANALYTIC, BiasCorrection.NONE)]
    ranges = [("calibrator", c) for c in (Calibrator.PERCENTILE, Calibrator.MSE)]
    factors = ["full range", ("equalize", False)]
    assert _tried(_outliers()[0], config) == [*ranges, *factors, *weaker]
    analytic = replace(config, bias_correction=BiasCorrection.ANALYTIC)
    assert _tried(_outliers()[0], analytic) == [*ranges, *factors, weaker[1]]
    norms = encoder()
    assert _tried(norms, config) == [*ranges, ("smooth", False), *weaker]
    named = replace(config, calibrator=Calibrator.MSE, measured=frozenset())
    assert _tried(norms, named) == []
    assert _tried(_outliers()[0], named) == factors[:1]


def _one_large(ratio=30.0):
    """Two dense layers, hidden channels up to ``ratio`` apart, and samples one of which is large.

    The large one is among those that the range of half of the samples does not cover.
    """
    rng, b = np.random.default_rng(6), Builder((1, 16))
    spread = np.geomspace(1, ratio, 32)[:, None]
    w = b.constant((rng.normal(size=(32, 16)) * spread).astype(np.float32))
    hidden = b.op("fully_connected", ("x", w), FullyConnectedAttrs(activation="RELU"))
    w2 = b.constant((rng.normal(size=(4, 32)) / spread.T).astype(np.float32))
    graph = b.graph(b.op("fully_connected", (hidden, w2), FullyConnectedAttrs()))
    x = rng.normal(size=(90, 16)).astype(np.float32)
    x[1] *= 30
    return graph, x


def test_one_large_sample_does_not_keep_channels_apart():
    graph, x = _one_large()
    activations = Simulator(graph, {"x": x}).reference
    config = QuantConfig(equalize=True)

    def spread(**options):
        equalised = equalize(graph, activations, config, **options)
        peaks = np.abs(Simulator(equalised, {"x": x}).reference[graph.nodes[0].outputs[0]])
        return np.ptp(np.log2(peaks.max(axis=0)))

    assert spread(full_range=True) < 0.5 * spread()
    _, full_range = choose_methods(graph, {"x": x}, 128, PRESETS[Preset.BALANCED])
    assert full_range
    prepared = prepare(graph, x, PRESETS[Preset.BALANCED])
    whole = equalize(graph, activations, prepared.methods, full_range=True)
    np.testing.assert_array_equal(Model(prepared.graph)(x), Model(whole)(x))


def test_refined_layers_are_left_out_where_other_samples_lose_by_them(monkeypatch):
    graph, x = _outliers()
    monkeypatch.setattr("tinyrt.quantize.pipeline.search_samples", lambda graph: 30)
    best = PRESETS[Preset.BEST]
    plans = {}
    for config in (best, PRESETS[Preset.BALANCED], replace(best, measured=MEASURED - REFINING)):
        prepared = prepare(graph, x, config)
        assert [len(a["x"]) for a in (prepared.head, *prepared.parts)] == [30, 30, 60]
        quantized = prepared.quantized(config)
        held = evaluate_graph(quantized, {"x": x[30:90]}, against=prepared.graph).sqnr_db
        plans[config] = quantized, held
    assert plans[best][1] >= max(held for _, held in plans.values()) - 1e-3
    assert prepare(graph, x[: FEWEST - 1], best).parts is None


def test_tuned_ranges_alone_are_measured_against_plans_without_them(monkeypatch):
    """Rounding is not asked for: there is no third. What is chosen is fitted to all samples."""
    graph, x = _outliers()
    asked, plans_of = [], Prepared._plans

    def plans(self, config, head, progress=None):
        asked.append((config.optimize_rounding, config.tune_ranges))
        return plans_of(self, config, head, progress)

    monkeypatch.setattr(Prepared, "_plans", plans)
    config = replace(PRESETS[Preset.BEST], optimize_rounding=False)
    prepare(graph, x, config).quantized(config)
    assert asked == [(False, True), (False, False)]


GAINS = {
    "more than chance": (np.full(10, 6.0), True),
    "less than chance": (np.tile([3.0, -2.0], 5), False),
    "none": (np.full(10, -2.0), False),
}
"""What samples held back gain by refinements in dB, and whether these are applied."""


@pytest.mark.parametrize(("count", "taken"), [(31, False), (32, True)])
def test_of_many_samples_the_mean_alone_tells(count, taken):
    gains = np.resize([5.0, -4.5], count)
    assert gains.mean() > 0
    assert _gains(np.zeros(count), gains) is taken
    assert not _gains(gains, np.zeros(count))


@pytest.mark.parametrize("gain", GAINS)
def test_few_samples_choose_refinements_and_all_of_them_fit_what_is_chosen(gain, monkeypatch):
    """Two thirds are fitted to for the choice; ``balanced`` stays where the rest gains nothing."""
    gains, helps = GAINS[gain]
    graph, x = _outliers()
    best, looked_at = PRESETS[Preset.BEST], []
    plans_of = Prepared._plans

    def plans(self, config, head, progress=None):
        looked_at.append((config.optimize_rounding, config.tune_ranges, len(head["x"])))
        return plans_of(self, config, head, progress)

    def simulated(plan, graph, samples):
        found = simulator_of(plan, graph, samples)
        if len(samples["x"]) == 10:
            ratios = iter((gains - gains, gains, gains))
            monkeypatch.setattr(found, "ratios_db", lambda live: next(ratios), raising=True)
        return found

    monkeypatch.setattr(Prepared, "_plans", plans)
    monkeypatch.setattr("tinyrt.quantize.pipeline.simulator_of", simulated)
    quantized = quantize_graph(graph, x[:30], best)
    assert looked_at[:2] == [(True, True, 20), (False, False, 20)]
    assert looked_at[2:] == [(helps, False, 30)]
    monkeypatch.undo()
    plain = quantize_graph(graph, x[:30], PRESETS[Preset.BALANCED])
    alike = all(
        np.array_equal(value.data, quantized.values[name].data)
        for name, value in plain.values.items()
        if value.data is not None
    )
    assert alike is not helps


def _of_one_output(seed):
    """Three dense layers that answer with one number, whose SQNR differs much between samples."""
    rng, b = np.random.default_rng(seed), Builder((1, 8))
    x = "x"
    for wide, narrow, activation in ((8, 16, "RELU"), (16, 16, "RELU"), (16, 1, "NONE")):
        w = b.constant((rng.normal(size=(narrow, wide)) / wide**0.5).astype(np.float32))
        x = b.op("fully_connected", (x, w), FullyConnectedAttrs(activation=activation))
    return b.graph(x), rng.normal(size=(1054, 8)).astype(np.float32)


@pytest.mark.whole
def test_best_is_no_worse_than_balanced_where_few_samples_choose():
    """Ten samples of one number each are held back: the greater mean alone would lose .5 dB."""
    lost = []
    for seed in range(8):
        graph, x = _of_one_output(seed)
        int8 = {
            p: quantize_graph(graph, x[:30], PRESETS[p]) for p in (Preset.BALANCED, Preset.BEST)
        }
        found = {
            p: evaluate_graph(g, {"x": x[30:]}, against=graph).sqnr_db for p, g in int8.items()
        }
        lost.append(found[Preset.BALANCED] - found[Preset.BEST])
    assert np.mean(lost) < 0.1


@pytest.mark.parametrize("named", sampled(["tune_ranges"], ["optimize_rounding", "tune_ranges"]))
def test_refinements_that_are_named_or_mixed_are_applied_unmeasured(named, monkeypatch):
    graph, x = _outliers()
    monkeypatch.setattr("tinyrt.quantize.pipeline.search_samples", lambda graph: 30)
    measured = []
    choose = Prepared._best
    monkeypatch.setattr(Prepared, "_best", lambda *a: measured.append(a) or choose(*a))
    best = PRESETS[Preset.BEST]
    quantize_graph(graph, x, replace(best, measured=MEASURED - {named}))
    quantize_within(graph, x, best, Budget())
    assert not measured
    quantize_graph(graph, x, best)
    assert measured
