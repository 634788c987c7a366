"""The debugger: guilty layers come first, names match between files, equalised channels too."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.quantize.hard import depthwise_net, encoder, spread_depthwise
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.metrics import evaluate_graph
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.explain.bisect import bisect
from tinyrt.quantize.explain.causes import Symptoms, diagnose
from tinyrt.quantize.explain.debug import debug_graphs
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.models import error_facts


def _samples(count=48):
    return np.random.default_rng(7).normal(size=(count, 8, 8, 3)).astype(np.float32)


def _debug(graph, preset, folder):
    """The report of two files, as a user has them."""
    x = _samples()
    save_tflite(graph, folder / "float.tflite")
    save_tflite(quantize_graph(graph, x, PRESETS[preset]), folder / "int8.tflite")
    before, after = read_tflite(folder / "float.tflite"), read_tflite(folder / "int8.tflite")
    return debug_graphs(before, after, {"x": x}), evaluate_graph(after, {"x": x}, against=before)


@pytest.mark.parametrize("preset", sampled([Preset.BALANCED], Preset))
def test_every_layer_of_two_files_is_found(preset, tmp_path):
    graph = small_cnn()
    report, evaluation = _debug(graph, preset, tmp_path)
    expected = {"x", *(n.outputs[0] for n in graph.nodes if n.op != "reshape")}
    assert {layer.name for layer in report.layers} == expected
    assert report.sqnr_db == pytest.approx(evaluation.sqnr_db, abs=0.1)
    assert report.equalized is (preset is not Preset.FAST)
    impacts = [layer.impact_db for layer in report.layers]
    assert impacts == sorted(impacts)
    for layer in report.layers:
        assert layer.accumulated_db > 20
        assert layer.cosine > 0.99
        assert 0 < layer.range_use <= 1
        assert (layer.cure is None) == (layer.impact_db >= 45)


def test_guilty_layers_come_first(tmp_path):
    graph = spread_depthwise(depthwise_net())
    report, _ = _debug(graph, Preset.FAST, tmp_path)
    guilty = _guilty(graph)
    first = report.layers[: len(guilty)]
    assert {layer.name for layer in first} == guilty
    assert all("--equalize" in layer.cure for layer in first)
    assert any(layer.dead_channels for layer in first)
    assert not report.equalized


def _guilty(graph):
    """The depthwise layers and those that read them."""
    guilty = set()
    for node in graph.nodes:
        if node.op == "depthwise_conv2d":
            guilty |= {node.outputs[0], graph.consumers(node.outputs[0])[0].outputs[0]}
    return guilty


def test_bisecting_finds_the_guilty_layers(tmp_path):
    graph, x, counts = spread_depthwise(depthwise_net()), _samples(), []
    quantized = quantize_graph(graph, x, QuantConfig())
    found = bisect(graph, quantized, {"x": x}, progress=lambda done, total: counts.append(done))
    assert found.start.sqnr_db < 10
    assert found.reached
    assert found.result.sqnr_db >= 40
    assert set(found.kept) == _guilty(graph)
    assert [step.sqnr_db for step in found.steps] == sorted(step.sqnr_db for step in found.steps)
    assert counts == list(range(1, len(counts) + 1))
    # The options do what the search says they do.
    kept = QuantConfig(keep_float=tuple(option.split("'")[1] for option in found.options))
    again = quantize_graph(graph, x, kept)
    assert evaluate_graph(again, {"x": x}, against=graph).sqnr_db > 39


def test_bisecting_a_good_model_changes_nothing():
    graph, x = small_cnn(), _samples()
    quantized = quantize_graph(graph, x, QuantConfig())
    labels = Model(graph)(x).argmax(axis=1)
    found = bisect(graph, quantized, {"x": x}, labels)
    assert found.reached
    assert found.float_top1 == 1
    assert (found.steps, found.kept, found.options) == ((), {}, ())


def test_bisecting_says_what_it_cannot_reach():
    graph, x = small_cnn(), _samples()
    target = Budget(min_sqnr_db=150, allowed=(Scheme.INT16X8,))
    found = bisect(graph, quantize_graph(graph, x, QuantConfig()), {"x": x}, target=target)
    assert not found.reached
    assert found.steps
    assert set(found.kept.values()) == {Scheme.INT16X8}
    assert found.result.sqnr_db > found.start.sqnr_db


@pytest.mark.slow
def test_int4_layers_are_named_and_widened():
    graph, x = depthwise_net(), _samples()
    quantized = quantize_graph(graph, x, QuantConfig(scheme=Scheme.INT4))
    report = debug_graphs(graph, quantized, {"x": x})
    assert any("15 steps" in layer.cause for layer in report.layers)
    plain = evaluate_graph(quantize_graph(graph, x, QuantConfig()), {"x": x}, against=graph).sqnr_db
    target = Budget(min_sqnr_db=plain - 5, allowed=(Scheme.INT8,))
    found = bisect(graph, quantized, {"x": x}, target=target)
    assert found.reached
    assert set(found.kept.values()) == {Scheme.INT8}


@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(scheme=Scheme.INT16X8),
        QuantConfig(scheme=Scheme.WEIGHTS_INT8),
        QuantConfig(keep_float=("conv2d_0",), float_io=True),
        replace(PRESETS[Preset.BEST], keep_float=("conv2d_2",), tune_ranges=False),
    ],
)
def test_every_kind_of_model_is_compared(config, tmp_path):
    graph, x = depthwise_net(), _samples()
    save_tflite(quantize_graph(graph, x, config), tmp_path / "other.tflite")
    report = debug_graphs(graph, read_tflite(tmp_path / "other.tflite"), {"x": x})
    names = {layer.name for layer in report.layers}
    assert names >= {"depthwise_conv2d_1", "depthwise_conv2d_3", "fully_connected_6"}
    assert sorted(layer.index for layer in report.layers) == list(range(len(report.layers)))
    for layer in report.layers:
        assert layer.own_cosine > 0.999
        assert layer.accumulated_db > 25


@pytest.mark.parametrize("readers", sampled([0], [1, 0]))
def test_smoothed_norms_are_recognised(readers):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(24, 8, 12)).astype(np.float32)
    graph = encoder(outlier=40, layers=1)
    if not readers:
        graph = _relu_behind_norms(graph)
    plain = debug_graphs(graph, quantize_graph(graph, x, QuantConfig()), {"x": x})
    assert not plain.equalized
    assert any("--smooth" in layer.cure for layer in plain.layers if layer.cure)
    config = QuantConfig(smooth=True, equalize=not readers)
    cured = debug_graphs(graph, quantize_graph(graph, x, config), {"x": x})
    assert cured.equalized
    assert cured.sqnr_db > plain.sqnr_db + 10
    assert min(layer.accumulated_db for layer in cured.layers) > 12


def _relu_behind_norms(graph):
    """The encoder with ReLU, whose channels can be rescaled too, in place of GELU."""
    nodes, values = [], dict(graph.values)
    for node in graph.nodes:
        nodes.append(replace(node, op="relu", attrs=NoAttrs()) if node.op == "gelu" else node)
    return verify(replace(graph, nodes=tuple(nodes), values=values))


def test_the_page_draws_every_layer(tmp_path):
    graph, x = spread_depthwise(depthwise_net()), _samples()
    quantized = quantize_graph(graph, x, QuantConfig())
    report = debug_graphs(graph, quantized, {"x": x})
    save_tflite(quantized, tmp_path / "net.tflite")
    bisected = bisect(graph, quantized, {"x": x})
    write_debug_page(tmp_path / "net.tflite", x, report, tmp_path / "page.html", bisected)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<circle") == 3 * len(report.layers)
    assert page.count("<polyline") == 3
    assert not re.findall(r"(?:src|href)=.?https?:", page)
    for layer in report.layers:
        assert layer.name in page
        (causes,) = re.findall(r"<h2>Causes and cures</h2>.*?<h2>Graph", page, re.DOTALL)
        assert (layer.cause in html.unescape(causes)) == (layer.cure is not None)
    assert "--keep-float" in page
    heights = [
        point.y for line in draw_errors(error_facts(report, {})).lines for point in line.points
    ]
    assert min(heights) >= 0
    assert max(heights) <= 320


def test_rescaled_channels_are_recognised(tmp_path):
    report, _ = _debug(spread_depthwise(depthwise_net()), Preset.BEST, tmp_path)
    assert report.equalized
    assert report.sqnr_db > 30
    assert all(layer.accumulated_db > 25 for layer in report.layers)


@pytest.mark.parametrize(("outlier", "high"), [(-64.0, 1), (64.0, 1), (-64.0, -0.5)])
def test_a_range_that_one_value_set_is_told_by_how_far(outlier, high):
    """On either side of what the other values are, be these all below zero."""
    rng, b = np.random.default_rng(0), Builder((1, 4))
    x = rng.uniform(-1, high, (500, 4)).astype(np.float32)
    w = b.constant(rng.uniform(-1, 1, (3, 4)).astype(np.float32))
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    wide = np.concatenate([x, np.full((1, 4), outlier, np.float32)])
    config = QuantConfig(calibrator="minmax")
    report = debug_graphs(graph, quantize_graph(graph, {"x": wide}, config), {"x": x})
    (layer,) = (layer for layer in report.layers if layer.name == "x")
    assert "64." in layer.cause, layer.cause
    assert "times beyond the rest" in layer.cause


def _symptoms(**changes):
    healthy = {
        "impact_db": 20.0,
        "rounding_db": 30.0,
        "saturation": 0.0,
        "outlier": 1.0,
        "channel_spread": 2.0,
    }
    return Symptoms(**(healthy | changes))


@pytest.mark.parametrize(
    ("symptoms", "cause", "cure"),
    [
        (_symptoms(impact_db=60.0), "nothing", None),
        (_symptoms(channel_spread=500.0), "500-fold", "--equalize"),
        (_symptoms(saturation=0.02), "2 % of the values", "minmax"),
        (_symptoms(outlier=6.0), "6.0 times", "--calibrator auto"),
        (_symptoms(), "256 steps", "--preset best"),
        (_symptoms(weights_db=10.0, input_spread=800.0), "800-fold", "--equalize"),
        (
            _symptoms(weights_db=10.0, weight_spread=9.0, per_tensor=True),
            "9-fold",
            "--per-channel-dense",
        ),
        (_symptoms(weights_db=10.0, mean_share=0.9), "means", "--bias-correction"),
        (_symptoms(weights_db=10.0), "rounded weights", "--optimize-rounding"),
    ],
)
def test_symptoms_lead_to_a_cause_and_a_cure(symptoms, cause, cure):
    found = diagnose(symptoms)
    assert cause in found[0]
    assert found[1] is None if cure is None else cure in found[1]


LIMITS = {
    "impact_db": ({"impact_db": 44.9}, {"impact_db": 45.0}, None),
    "weights_db": ({"weights_db": 30.0}, {"weights_db": 29.9}, "--optimize-rounding"),
    "channel_spread": ({"channel_spread": 100.0}, {"channel_spread": 101.0}, "--equalize"),
    "behind a norm": ({"channel_spread": 10.0}, {"channel_spread": 10.1}, "--smooth"),
    "saturation": ({"saturation": 0.001}, {"saturation": 0.0011}, "more calibration samples"),
    "outlier": ({"outlier": 2.0}, {"outlier": 2.1}, "--calibrator auto"),
    "input_spread": ({"input_spread": 100.0}, {"input_spread": 101.0}, "--equalize"),
    "inputs behind a norm": ({"input_spread": 10.0}, {"input_spread": 10.1}, "--smooth"),
    "weight_spread": ({"weight_spread": 4.0}, {"weight_spread": 4.1}, "--per-channel-dense"),
    "mean_share": ({"mean_share": 0.5}, {"mean_share": 0.51}, "--bias-correction empirical"),
    "weight_bits": ({"weight_bits": 8}, {"weight_bits": 4}, "--scheme-for LAYER=int8"),
}
WEIGHTS = ("input_spread", "inputs behind a norm", "weight_spread", "mean_share", "weight_bits")


@pytest.mark.parametrize("name", LIMITS)
def test_a_symptom_counts_from_its_limit_on(name):
    """Up to there, the layer has what all healthy ones are told."""
    below, beyond, cure = LIMITS[name]
    given = {"weights_db": 10.0, "per_tensor": True} if name in WEIGHTS else {}
    given["behind_norm"] = name.endswith("a norm")
    assert diagnose(_symptoms(**(given | below))) == diagnose(_symptoms(**given))
    found = diagnose(_symptoms(**(given | beyond)))[1]
    assert found == cure or (cure and found.startswith(cure)) or (cure and found.endswith(cure))


def test_models_that_do_not_belong_together_are_refused():
    graph, x = small_cnn(), _samples(16)
    quantized = quantize_graph(graph, x, QuantConfig())
    with pytest.raises(UnsupportedError, match="first model is quantised"):
        debug_graphs(quantized, quantized, {"x": x})
    with pytest.raises(UnsupportedError, match="second model is not quantised"):
        debug_graphs(graph, graph, {"x": x})
    with pytest.raises(DataError, match=r"fewer channels|another shape|same name"):
        debug_graphs(depthwise_net(), quantized, {"x": x})
