"""A norm and the residual sum that reads it become one layer."""

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import run_tflm
from tests.sampling import sampled
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize import PRESETS, Preset, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.explain.debug import debug_graphs
from tinyrt.quantize.explain.parted import as_parted
from tinyrt.quantize.methods import sums
from tinyrt.quantize.methods.affine import merge_affine
from tinyrt.quantize.methods.sums import FACTORS, Affine, factor_for, merge_sums, nearest_factor
from tinyrt.quantize.ranges import Range

ROWS, CHANNELS = 6, 8
FACTOR = np.exp(np.linspace(-1, 1, CHANNELS)).astype(np.float32)
SHIFT = np.linspace(-1, 2, CHANNELS).astype(np.float32)


def net(
    other="dense",
    activation="NONE",
    inner="NONE",
    biased=True,
    swapped=False,
    reads="",
    size=0.3,
    before="",
):
    """``norm + layer``, where norm is ``x * FACTOR + SHIFT``, and what else reads either."""
    b, rng = Builder((1, ROWS, CHANNELS)), np.random.default_rng(0)

    def dense(x, name="NONE", scale=1.0, rows=CHANNELS):
        w = scale * rng.normal(size=(rows, b.values[x].shape[-1]))
        w = b.constant(w.astype(np.float32))
        bias = [b.constant(rng.normal(size=rows).astype(np.float32))] if biased else []
        return b.op("fully_connected", (x, w, *bias), FullyConnectedAttrs(True, name))

    def computed():
        """A layer whose weights are rows of the input."""
        rows = b.op("reshape", ("x",), ReshapeAttrs((ROWS, CHANNELS)))
        w = b.op("concatenation", (rows, rows), ConcatenationAttrs(0))
        cut = SliceAttrs((0, 0), (CHANNELS, CHANNELS), (1, 1))
        w = b.op("slice", (w,), cut)
        return b.op("fully_connected", (norm, w), FullyConnectedAttrs(True))

    n = b.op(before, ("x",)) if before else "x"
    product = b.op("mul", (n, b.constant(FACTOR)), MulAttrs())
    norm = b.op("add", (product, b.constant(SHIFT)), AddAttrs())
    if other == "dense":
        y = dense(norm, inner, size)
    elif other == "convolution":
        image = b.op("reshape", ("x",), ReshapeAttrs((1, 1, ROWS, CHANNELS)))
        w = size * rng.normal(size=(CHANNELS, 1, 1, CHANNELS))
        y = b.op("conv2d", (image, b.constant(w.astype(np.float32))), Conv2dAttrs(activation=inner))
        y = b.op("reshape", (y,), ReshapeAttrs((1, ROWS, CHANNELS)))
    elif other == "one row":
        y = dense(b.op("mean", (norm,), MeanAttrs((1,), keep_dims=True)))
    elif other == "behind an op":
        y = b.op("abs", (dense(norm, inner, size),))
    elif other == "of other channels":
        y = dense(b.op("reshape", ("x",), ReshapeAttrs((1, 2 * ROWS, CHANNELS // 2))), rows=4)
        y = b.op("reshape", (y,), ReshapeAttrs((1, ROWS, CHANNELS)))
    else:
        y = {"none": "x", "itself": norm}[other] if other != "computed" else computed()
    z = b.op("add", (y, norm) if swapped else (norm, y), AddAttrs(activation))
    answers = [z]
    if reads == "dense":
        answers.append(dense(norm, rows=5))
    elif reads == "sum":
        answers.append(b.op("add", (dense("x"), norm), AddAttrs()))
    elif reads == "computed dense":
        answers.append(computed())
    elif reads == "other op":
        answers.append(b.op("tanh", (norm,)))
    elif reads == "model":
        answers.append(norm)
    elif reads == "other twice":
        answers.append(b.op("tanh", (y,)))
    return b.graph(*answers)


def samples(count=64, seed=0):
    return np.random.default_rng(seed).normal(size=(count, ROWS, CHANNELS)).astype(np.float32)


def merged(graph, config=None):
    config = config or QuantConfig()
    graph = merge_affine(graph, config)
    ranges = calibrate(graph, samples())
    return graph, *merge_sums(graph, ranges, config)


FORMS = {
    "dense": {},
    "swapped": {"swapped": True},
    "no bias": {"biased": False},
    "clamped": {"activation": "RELU"},
    "clamped layer": {"inner": "RELU"},
    "convolution": {"other": "convolution"},
    "dense behind": {"reads": "dense"},
    "two sums": {"reads": "sum"},
    "dense behind, no bias": {"reads": "dense", "biased": False},
    "large layer": {"size": 30.0},
    "small layer": {"size": 0.01},
    "behind an op": {"before": "abs"},
    "behind an op on floats": {"before": "sin"},
}


@pytest.mark.parametrize("form", FORMS)
def test_one_layer_has_the_same_answers(form):
    graph, x = net(**FORMS[form]), samples()
    _, after, ranges = merged(graph)
    ops = [node.op for node in after.nodes]
    count = 1 + (FORMS[form].get("reads") == "sum")
    assert ops.count("depthwise_conv2d") == ops.count("concatenation") == count
    assert "add" not in ops
    exact, found = Model(graph).run(x), Model(after).run(x)
    for name, y in exact.items():
        assert sqnr_db(y, found[name]).min() > 100
    measured = calibrate(after, x)
    for node in after.nodes:
        known, own = ranges[node.output], measured[node.output]
        assert (known.low, known.high) == pytest.approx((own.low, own.high), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("reads", ["other op", "model", "computed dense"])
def test_the_norm_stays_for_other_readers(reads):
    graph, x = net("convolution", reads=reads), samples()
    _, after, _ = merged(graph)
    assert [node.op for node in after.nodes].count("depthwise_conv2d") == 2
    exact, found = Model(graph).run(x), Model(after).run(x)
    assert all(sqnr_db(y, found[name]).min() > 100 for name, y in exact.items())


@pytest.mark.parametrize(
    ("form", "config"),
    [
        ({"inner": "RELU6"}, QuantConfig()),
        ({"reads": "other twice"}, QuantConfig()),
        ({"other": "none"}, QuantConfig()),
        ({"other": "itself"}, QuantConfig()),
        ({"other": "one row"}, QuantConfig()),
        ({"other": "computed"}, QuantConfig()),
        ({"other": "behind an op"}, QuantConfig()),
        ({"other": "of other channels"}, QuantConfig()),
        ({"before": "tanh"}, QuantConfig()),
        ({}, QuantConfig(scheme=Scheme.INT16X8)),
        ({}, QuantConfig(keep_float=("fully_connected*",))),
        ({}, QuantConfig(keep_float=("add_3",))),
    ],
    ids=[
        "clamped above",
        "read twice",
        "no layer",
        "twice the norm",
        "a row for all",
        "computed weights",
        "a layer behind an op",
        "of other channels",
        "prescribed",
        "int16",
        "named layer",
        "named sum",
    ],
)
def test_it_is_left(form, config):
    before, after, ranges = merged(net(**form), config)
    assert after is before
    assert ranges == calibrate(before, samples())


LAYERS = {
    "as it is made": ({}, True),
    "clamped": ({"activation": "RELU"}, False),
    "read twice": ({"twice": True}, False),
    "of another shape": ({"shape": (1, CHANNELS, ROWS)}, False),
    "of four taps": ({"taps": 2}, False),
    "of rows below each other": ({"rows": (1, ROWS, 1, CHANNELS)}, False),
    "without a bias": ({"biased": False}, False),
    "before another op": ({"behind": "abs"}, False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_by_channel_that_stand_for_a_norm(name):
    """A factor and a shift of each channel, between a shape and the same one."""
    changed, found = LAYERS[name]
    b, taps = Builder((1, ROWS, CHANNELS)), changed.get("taps", 1)
    image = b.op("reshape", ("x",), ReshapeAttrs(changed.get("rows", (1, 1, ROWS, CHANNELS))))
    w = b.constant(np.ones((1, 1, taps, CHANNELS), np.float32))
    bias = [b.constant(SHIFT)] if changed.get("biased", True) else []
    attrs = DepthwiseConv2dAttrs(padding="SAME", activation=changed.get("activation", "NONE"))
    layer = b.op("depthwise_conv2d", (image, w, *bias), attrs)
    behind = ReshapeAttrs(changed.get("shape", (1, ROWS, CHANNELS)))
    y = b.op("abs", (layer,)) if "behind" in changed else b.op("reshape", (layer,), behind)
    graph = b.graph(y, *([b.op("tanh", (layer,))] if "twice" in changed else []))
    assert (sums._affine(graph, graph.producer(layer)) is not None) is found


NEARER = ("dense", "dense behind", "convolution")


@pytest.mark.parametrize(
    ("form", "preset"),
    sampled(
        [*zip(NEARER, (Preset.FAST, Preset.BALANCED, Preset.FAST), strict=True)],
        [(form, preset) for preset in Preset for form in NEARER],
    ),
)
def test_int8_is_nearer(form, preset, monkeypatch):
    graph, x = net(**FORMS[form]), samples()

    def error():
        found = Model(quantize_graph(graph, x, PRESETS[preset])).run(x)
        return np.mean([sqnr_db(y, found[n]).mean() for n, y in Model(graph).run(x).items()])

    alone = error()
    monkeypatch.setattr(sums, "factor_for", lambda *found: None)
    assert alone > error() + 0.5


def affine(factors):
    return Affine(None, "", "", "", np.float32(factors), np.zeros(len(factors), np.float32))


@pytest.mark.parametrize("times", [2.0**-3, 1.0, 2.0**5])
def test_both_operands_fill_the_range(times):
    found = factor_for(affine([1, 1]), Range(-4, 4), Range(-4, 4), Range(-4 * times, 4 * times))
    assert found == 1 / times


def test_operands_that_no_factor_brings_together_stay_apart():
    one, other = Range(0, 8), Range(-8, 0)
    assert factor_for(affine([1, 1]), one, Range(0, 8), other) is None
    assert factor_for(affine([1, 1]), one, Range(0, 80), other) is not None


@pytest.mark.parametrize("factor", FACTORS[20:-20])
def test_rounded_taps_tell_the_factor(factor):
    both = np.stack([FACTOR, np.full(CHANNELS, 1 / factor)]).astype(np.float32)
    scales = np.abs(both).max(axis=0) / 127
    assert nearest_factor(np.rint(both / scales) * scales) == factor


def test_layers_of_floats_are_none_that_quantisation_made():
    graph = net(**FORMS["dense"])
    layers = merge_affine(graph, QuantConfig())
    assert any(node.op == "depthwise_conv2d" for node in layers.nodes)
    assert as_parted(graph, layers) == (graph, {})


def test_layers_of_computed_taps_are_none_that_quantisation_made():
    b = Builder((1, ROWS, CHANNELS))
    mean = b.op("mean", ("x",), MeanAttrs((1,)))
    taps = b.op("reshape", (mean,), ReshapeAttrs((1, 1, 1, CHANNELS)))
    image = b.op("reshape", ("x",), ReshapeAttrs((1, 1, ROWS, CHANNELS)))
    y = b.op("depthwise_conv2d", (image, taps, b.constant(SHIFT)), DepthwiseConv2dAttrs())
    graph = b.graph(b.op("reshape", (y,), ReshapeAttrs((1, ROWS, CHANNELS))))
    assert as_parted(graph, graph) == (graph, {})


@pytest.mark.parametrize("form", ["dense", "dense behind", "convolution", "large layer"])
def test_debug_says_of_which_sum_the_layer_came(form):
    graph, x = net(**FORMS[form]), samples()
    int8 = quantize_graph(graph, x, QuantConfig())
    parted, origins = as_parted(graph, int8)
    exact, found = Model(graph).run(x), Model(parted).run(x)
    assert all(sqnr_db(y, found[name]).min() > 100 for name, y in exact.items())
    report = debug_graphs(graph, int8, {"x": x})
    (layer,) = (layer for layer in report.layers if layer.op == "depthwise_conv2d")
    assert graph.producer(layer.part_of).op == "add"
    assert min(layer.own_db for layer in report.layers) > 30
    scaled = {layer.name: layer.part_of for layer in report.layers if ".times" in layer.name}
    assert scaled == {name: of for name, of in origins.items() if ".times" in name}


@pytest.mark.parametrize("kept", [0, 1])
def test_sums_of_one_norm_are_told_apart(kept, monkeypatch):
    """Both become layers, or the second alone."""
    factors = iter([*[None] * kept, 1.0, 0.5])
    monkeypatch.setattr(sums, "factor_for", lambda *found: next(factors))
    graph, x = net(reads="sum"), samples()
    int8 = quantize_graph(graph, x, QuantConfig())
    parted, origins = as_parted(graph, int8)
    assert set(graph.outputs) & set(origins.values()) == set(graph.outputs[kept:])
    exact, found = Model(graph).run(x), Model(parted).run(x)
    assert all(sqnr_db(y, found[name]).min() > 100 for name, y in exact.items())
    assert min(layer.own_db for layer in debug_graphs(graph, int8, {"x": x}).layers) > 30


def test_the_file_is_equal_on_tflm():
    quantized = quantize_graph(net(), samples(), QuantConfig())
    raw = Model(quantized).stored_inputs(samples(4, 1))["x"]
    expected = [run_tflm(quantized, [sample[None]])[0] for sample in raw]
    np.testing.assert_array_equal(Model(quantized)(raw), expected)
