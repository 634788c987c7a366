"""Options of ``tinyrt quantize``: the file is the one that the same choices make in Python."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests.cli.calls import call, call_json, handed_on
from tests.cli.shown import shows
from tests.convert.test_sequence_lstm import OP, classifier, samples
from tests.graphs import Builder, small_cnn
from tests.quantize.hard import encoder
from tests.quantize.test_tables import a_mish
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.ir import Graph
from tinyrt.memory import schedule
from tinyrt.metrics import evaluate_graph
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.config import BiasCorrection, Calibrator

pytestmark = pytest.mark.slow

FAST, BALANCED, BEST = (PRESETS[p] for p in (Preset.FAST, Preset.BALANCED, Preset.BEST))


def long_tails():
    """Layers whose weights have long tails, so that refinements gain more than by chance."""
    rng, b, y = np.random.default_rng(0), Builder((1, 16)), "x"
    for _ in range(4):
        w = b.constant((rng.standard_t(3, (16, 16)) / 4).astype(np.float32))
        y = b.op("fully_connected", (y, w), FullyConnectedAttrs(activation="RELU"))
    return b.graph(y)


@dataclass(frozen=True)
class Choice:
    """Options, and what they mean.

    Attributes:
        options: of the command line.
        config: the same choices.
        unlike: what they would be if the option reached nothing.
        graph: a model that shows the difference.

    """

    options: str
    config: QuantConfig
    unlike: QuantConfig = FAST
    graph: Graph = field(default_factory=small_cnn)


CHOICES = [
    Choice("", BALANCED),
    Choice("--preset fast", FAST, BALANCED),
    Choice("--preset balanced", BALANCED),
    Choice("--preset best", BEST, BALANCED, long_tails()),
    Choice("--preset fast --scheme int16x8", replace(FAST, scheme=Scheme.INT16X8)),
    Choice("--preset fast --scheme int4", replace(FAST, scheme=Scheme.INT4)),
    Choice("--preset fast --scheme weights-int8", replace(FAST, scheme=Scheme.WEIGHTS_INT8)),
    Choice(
        "--scheme int4",
        replace(BEST, scheme=Scheme.INT4),
        replace(BALANCED, scheme=Scheme.INT4),
        long_tails(),
    ),
    Choice(
        "--preset fast --scheme-for conv2d=int16x8 --scheme-for conv2d_0=int8",
        replace(FAST, scheme_for=(("conv2d", Scheme.INT16X8), ("conv2d_0", Scheme.INT8))),
        replace(FAST, scheme_for=(("conv2d", Scheme.INT16X8),)),
    ),
    Choice(
        "--preset fast --keep-float add --keep-float mean",
        replace(FAST, keep_float=("add", "mean")),
    ),
    Choice("--preset fast --io float32", replace(FAST, float_io=True)),
    Choice("--preset fast --io scheme", FAST, replace(FAST, float_io=True)),
    *(
        Choice(f"--preset fast --calibrator {c}", replace(FAST, calibrator=c))
        for c in Calibrator
        if c is not Calibrator.MINMAX
    ),
    Choice(
        "--preset best --calibrator entropy",
        replace(BEST, calibrator=Calibrator.ENTROPY),
        BEST,
        long_tails(),
    ),
    Choice(
        "--preset fast --calibrator percentile --percentile 90",
        replace(FAST, calibrator=Calibrator.PERCENTILE, percentile=90),
        replace(FAST, calibrator=Calibrator.PERCENTILE),
    ),
    Choice("--preset fast --per-channel-dense", replace(FAST, per_channel_dense=True)),
    Choice("--per-tensor-dense", replace(BALANCED, per_channel_dense=False), BALANCED),
    Choice("--preset fast --equalize", replace(FAST, equalize=True)),
    Choice(
        "--no-equalize",
        replace(BALANCED, equalize=False, measured=BALANCED.measured - {"equalize"}),
        BALANCED,
    ),
    Choice("--equalize", replace(BALANCED, measured=BALANCED.measured - {"equalize"})),
    Choice("--preset fast --smooth", replace(FAST, smooth=True), graph=encoder(layers=1)),
    Choice(
        "--no-smooth",
        replace(BALANCED, smooth=False, measured=BALANCED.measured - {"smooth"}),
        BALANCED,
        encoder(layers=1),
    ),
    Choice("--preset fast --optimize-rounding", replace(FAST, optimize_rounding=True)),
    Choice(
        "--preset best --no-optimize-rounding",
        replace(BEST, optimize_rounding=False, measured=BEST.measured - {"optimize_rounding"}),
        BEST,
        long_tails(),
    ),
    *(
        Choice(f"--preset fast --bias-correction {b}", replace(FAST, bias_correction=b))
        for b in (BiasCorrection.ANALYTIC, BiasCorrection.EMPIRICAL)
    ),
    Choice(
        "--bias-correction none",
        replace(
            BALANCED,
            bias_correction=BiasCorrection.NONE,
            measured=BALANCED.measured - {"bias_correction"},
        ),
        BALANCED,
    ),
    Choice("--preset fast --tune-ranges", replace(FAST, tune_ranges=True)),
    Choice(
        "--preset best --no-tune-ranges",
        replace(BEST, tune_ranges=False, measured=BEST.measured - {"tune_ranges"}),
        BEST,
        long_tails(),
    ),
    Choice("--preset fast --no-tables", replace(FAST, tables=False), graph=a_mish()),
    Choice("--preset fast --tables", FAST, replace(FAST, tables=False), a_mish()),
]


WRITTEN = sampled(
    {f"--preset fast{more}" for more in ("", " --scheme int16x8", " --io float32", " --no-tables")},
    {choice.options for choice in CHOICES},
)
"""What the files are compared of; of others what is asked for."""


@shows(
    "quantize",
    *("scheme", "scheme_for", "keep_float", "io", "preset", "calibrator", "percentile"),
    *("per_channel_dense", "equalize", "smooth", "optimize_rounding", "bias_correction"),
    *("tune_ranges", "with_tables"),
)
@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: c.options or "nothing")
def test_options_are_the_choices_of_the_same_name(choice, tmp_path):
    model, out = tmp_path / "net.tflite", tmp_path / "out.tflite"
    save_tflite(choice.graph, model)
    np.savez(tmp_path / "x.npz", x=samples_for(open_model(model)))
    words = ("quantize", model, "-c", tmp_path / "x.npz", "-o", out, *choice.options.split())
    if choice.options not in WRITTEN:
        (config,) = handed_on("tinyrt.api.quantize_model", words, "config")
        assert config == choice.config != choice.unlike
        return
    call(*words)
    found = out.read_bytes()
    assert found == file_of(model, choice.config)
    if choice.config != choice.unlike:
        assert found != file_of(model, choice.unlike)


def samples_for(graph):
    """The same for each model whose input has that shape."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(64, *graph.value(graph.inputs[0]).shape[1:])).astype(np.float32)


FILES = {}
"""A model's bytes and choices -> the file: many choices are compared with the same preset."""


def file_of(model, config):
    """What Python makes of it."""
    key = model.read_bytes(), config
    if key not in FILES:
        graph = open_model(model)
        FILES[key] = write_tflite(schedule(quantize_graph(graph, samples_for(graph), config)))
    return FILES[key]


@shows("quantize", "model", "output", "calibration")
def test_ranges_are_those_of_the_calibration_file(made, tmp_path):
    scales = []
    for data in (made.calib, made.wide):
        out = tmp_path / f"{data.stem}.tflite"
        found = call_json("quantize", made.net, "-c", data, "-o", out, "--calibrator", "minmax")
        assert (found["output"], found["bytes"]) == (str(out), out.stat().st_size)
        graph = read_tflite(out)
        x = np.load(data)["x"]
        (scale,) = graph.value(graph.inputs[0]).q.scales
        assert scale == pytest.approx((x.max() - x.min()) / 255, rel=1e-5)
        scales.append(scale)
    assert scales[1] == pytest.approx(10 * scales[0])


@shows("quantize", "shape")
def test_a_shape_fixes_what_a_quantised_file_leaves_open(made, tmp_path):
    x = np.random.default_rng(0).normal(size=(8, 5, 6, 3)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    arguments = ("quantize", made.open_conv, "-c", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    assert "rows" in call(*arguments, code=1).stderr
    call(*arguments, "--shape", "x=1,3,5,6")
    graph = read_tflite(tmp_path / "o.tflite")
    assert graph.value(graph.inputs[0]).shape == (1, 5, 6, 3)


@shows("quantize", "value")
def test_a_value_makes_an_input_of_a_quantised_file_a_constant(made, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    arguments = ("quantize", made.gain, "-c", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    assert "gain" in call(*arguments, code=1).stderr
    for budget in ((), ("--max-bytes", "100k")):
        call(*arguments, "--value", "gain=0.5", *budget)
        assert read_tflite(tmp_path / "o.tflite").inputs == ("x",)


@shows("quantize", "sequence_lstm")
def test_an_lstm_is_quantised_whole_on_request(tmp_path):
    model = classifier(tmp_path)
    np.savez(tmp_path / "x.npz", x=samples(8))
    arguments = ("quantize", model, "-c", tmp_path / "x.npz", "-o", tmp_path / "o.tflite")
    for options, whole in (((), 0), (("--sequence-lstm",), 1)):
        call(*arguments, *options)
        ops = [node.op for node in read_tflite(tmp_path / "o.tflite").nodes]
        assert ops.count(OP) == whole


@pytest.fixture(scope="module")
def half_dead(tmp_path_factory):
    """A float model of which half of one layer's channels never leave their clamp, and data."""
    folder, rng = tmp_path_factory.mktemp("dead"), np.random.default_rng(0)
    b = Builder((1, 6, 6, 3))
    bias = np.repeat(np.float32([-1e3, 0.1]), 4)
    first, second = rng.normal(size=(8, 1, 1, 3)), rng.normal(size=(4, 1, 1, 8))
    w, v = (b.constant(a.astype(np.float32)) for a in (first, second))
    y = b.op("conv2d", ("x", w, b.constant(bias)), Conv2dAttrs(activation="RELU"))
    save_tflite(b.graph(b.op("conv2d", (y, v), Conv2dAttrs())), folder / "net.tflite")
    np.savez(folder / "x.npz", x=rng.normal(size=(16, 6, 6, 3)).astype(np.float32))
    return folder


@shows("quantize", "keep_channels")
def test_channels_that_no_answer_depends_on_stay_on_request(half_dead, tmp_path):
    out, data = tmp_path / "o.tflite", half_dead / "x.npz"
    arguments = ("quantize", half_dead / "net.tflite", "-c", data, "-o", out, "--preset", "fast")
    for budget in ((), ("--max-bytes", "100k")):
        call(*arguments, *budget)
        assert read_tflite(out).value("conv2d_0").shape[-1] == 4
        call("debug", half_dead / "net.tflite", out, "-d", data)
        call(*arguments, "--keep-channels", *budget)
        assert read_tflite(out).value("conv2d_0").shape[-1] == 8


@shows("quantize", "explain")
def test_an_explanation_says_which_channels_went(half_dead, tmp_path):
    arguments = ("quantize", half_dead / "net.tflite", "-c", half_dead / "x.npz")
    arguments = (*arguments, "-o", tmp_path / "o.tflite", "--preset", "fast")
    assert not {"applied", "refused"} & set(call_json(*arguments))
    reason = "4 of 8 channels go: 0-3: always -128, no sum leaves the clamp"
    cut = {"pass": "cut_channels", "op": "conv2d_0", "reason": reason}
    for budget in ((), ("--max-bytes", "100k")):
        assert cut in call_json(*arguments, *budget, "--explain")["applied"]
    assert "no sum leaves" in " ".join(call(*arguments, "--explain").stdout.split())


# Budgets


@pytest.fixture
def within(made, tmp_path):
    """Quantise the CNN within a budget: the report, with the file beside it."""

    def quantize(*options, calibration=made.calib, code=0):
        arguments = ("quantize", made.net, "-c", calibration, "-o", tmp_path / "mixed.tflite")
        return call_json(*arguments, "--preset", "fast", *options, code=code)

    return quantize


@pytest.mark.parametrize(("options", "preset"), [((), BEST), (("--preset", "fast"), FAST)])
def test_a_budget_takes_the_best_preset_unless_one_is_named(
    options, preset, made, tmp_path, monkeypatch
):
    given = {}
    monkeypatch.setattr("tinyrt.api.quantize_within", lambda *_, **k: given.update(k) or 1 / 0)
    arguments = ("quantize", made.net, "-c", made.calib, "-o", tmp_path / "o.tflite")
    call(*arguments, "--max-bytes", "40k", *options, code=1)
    assert given["config"] == preset


def test_within_a_budget_a_model_is_opened_as_asked(made, tmp_path):
    words = ("quantize", made.net, "-c", made.calib, "-o", tmp_path / "o", "--max-bytes", "9k")
    which = ("tinyrt.api.quantize_within", words, "shapes", "sequence_lstm")
    assert handed_on(*which) == [{}, False]
    words += ("--shape", "x=1,3,5,6", "--sequence-lstm")
    assert handed_on(which[0], words, *which[2:]) == [{"x": (1, 3, 5, 6)}, True]


@shows("quantize", "max_bytes")
def test_a_file_has_no_more_bytes_than_it_may(within):
    plain = within()["bytes"]
    found = within("--max-bytes", str(plain - 100))
    assert found["bytes"] <= plain - 100
    assert found["mixed"]["plain_bytes"] == plain
    assert Scheme.INT4 in {layer["scheme"] for layer in found["mixed"]["layers"]}


@shows("quantize", "min_accuracy", "allow")
def test_layers_widen_as_far_as_asked_and_into_what_is_allowed(within):
    for allowed in sampled(("float",), ("int16x8", "float")):
        kept = []
        for db in ("42dB", "47dB"):
            found = within("--min-accuracy", db, "--allow", f"int8,{allowed}")["mixed"]
            assert found["evaluation"]["sqnr_db"] >= float(db[:-2])
            schemes = [layer["scheme"] for layer in found["layers"]]
            assert set(schemes) <= {"int8", allowed}
            kept.append(schemes.count(allowed))
        assert kept[0] < kept[1]
    refused = within("--min-accuracy", "50dB", "--allow", "int3", code=1)
    assert "--allow" in refused["error"]["problem"]


@shows("quantize", "data")
def test_accuracy_is_measured_on_the_data_named(within, made, tmp_path):
    refused = within("--min-accuracy", "1%", code=1)["error"]
    assert "label" in str(refused)
    found = within("--min-accuracy", "1%", "--data", made.test)["mixed"]["evaluation"]
    assert found["samples"] == 16
    graph = read_tflite(tmp_path / "mixed.tflite")
    with np.load(made.test) as data:
        again = evaluate_graph(graph, {"x": data["x"]}, data["y"])
    assert (found["correct"], found["top1"]) == (again.correct, again.top1)
