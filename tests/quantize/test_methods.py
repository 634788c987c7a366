"""Methods beyond calibration: what each preserves, what it gains, and that it repeats itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import Builder, small_cnn
from tests.ops.peers import run_tflm
from tests.quantize.hard import depthwise_net, encoder, spread_depthwise
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import Model
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.quantize import (
    PRESETS,
    BiasCorrection,
    Preset,
    QuantConfig,
    Scheme,
    make_plan,
    quantize_graph,
)
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.methods.channels import Space, free_spaces
from tinyrt.quantize.methods.equalize import (
    _consumer_noise,
    _cut_off,
    _halves,
    _proposals,
    equalize,
)
from tinyrt.quantize.methods.layers import input_channels, layer_rows, per_output
from tinyrt.quantize.methods.layerwise import refine
from tinyrt.quantize.methods.rounding import round_weights, second_moments
from tinyrt.quantize.simulate import Simulator

BEST = PRESETS[Preset.BEST]
EQUALIZED = QuantConfig(equalize=True)


def _samples(count=48, seed=7):
    return np.random.default_rng(seed).normal(size=(count, 8, 8, 3)).astype(np.float32)


def _simulator(graph, x):
    return Simulator(graph, {"x": x})


def _gain(graph, x, config):
    quantized = quantize_graph(graph, x, config)
    return evaluate_graph(quantized, {"x": _samples(64, seed=8)}, against=graph).sqnr_db


def _spread(count=16, *, idle=True):
    """Images -> hidden channels of which one is large; one is always 0, and one is not read."""
    rng, b = np.random.default_rng(6), Builder((1, 8, 8, 3))
    w, w2 = rng.normal(size=(count, 1, 1, 3)), rng.uniform(-1, 1, (4, 1, 1, count))
    w[0] *= 8
    if idle:
        w[1] = w2[..., 2] = 0
    hidden = b.op("conv2d", ("x", b.constant(w.astype(np.float32))), Conv2dAttrs())
    w2 = b.constant(w2.astype(np.float32))
    return b.graph(b.op("conv2d", (hidden, w2), Conv2dAttrs()))


def test_int16_has_steps_enough_to_choose_factors_for_the_weights_alone():
    graph, x = _spread(idle=False), _samples()
    reference = _simulator(graph, x).reference
    first, second = graph.bound()
    hidden = reference[first.output.name].reshape(-1, first.output.shape[-1])
    squares = ((hidden - (hidden.min(axis=0) + hidden.max(axis=0)) / 2) ** 2).mean(axis=0)
    noise = {}
    for scheme in (Scheme.INT8, Scheme.INT16X8):
        found = equalize(graph, reference, replace(EQUALIZED, scheme=scheme))
        factors = (first.input(1).data / found.value(found.nodes[0].inputs[1]).data)[:, 0, 0, 0]
        noise[scheme] = _consumer_noise(second, factors, 0 * factors, squares, EQUALIZED)
    assert noise[Scheme.INT16X8] < 0.95 * noise[Scheme.INT8]


def test_channels_that_are_not_read_have_factors():
    graph = _spread()
    (space,) = free_spaces(graph)
    hidden = _simulator(graph, _samples()).reference[space.tensors[0]].reshape(-1, space.channels)
    for scale in _proposals(space, [(hidden.min(axis=0), hidden.max(axis=0))]):
        assert np.isfinite(scale).all()
        assert (scale > 0).all()


def test_factors_are_those_of_the_tensor_of_which_a_channel_has_most():
    """Of two tensors of other ranges, each has another channel that is as wide as itself."""
    none = np.zeros(2, np.float32)
    stats = [(none, np.float32([1, 0.1])), (none, np.float32([10, 100]))]
    for scale in _proposals(Space((), (), (), 2), stats):
        np.testing.assert_allclose(scale, [1, 1])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_halves_of_samples_are_every_other_one(count):
    x = np.random.default_rng(0).normal(size=(count, 3, 2))
    shift = np.array([1.0, -2.0])
    even, odd = _halves(x, shift)
    np.testing.assert_array_equal(even, x[::2].reshape(-1, 2) - shift)
    between = x if count == 1 else x[1::2]
    np.testing.assert_array_equal(odd, between.reshape(-1, 2) - shift)


@pytest.mark.parametrize(
    ("low", "high", "beyond"),
    [(-3, -1, (0, 0.25)), (1, 3, (0.25, 0)), (-0.25, 0.25, (0.0625,) * 2)],
)
def test_what_lies_beyond_a_range_reaches_from_zero(low, high, beyond):
    x = np.array([[-0.5, 0.5]])
    found = _cut_off(x, np.array([low, low / 2]), np.array([high, high / 2]))
    np.testing.assert_allclose(found, beyond)


def _of_one_constant():
    """Three layers of the same weights and the same bias."""
    rng, b, x = np.random.default_rng(2), Builder((1, 8, 8, 3)), "x"
    spread = np.float32([1, 10, 100]).reshape(3, 1, 1, 1)
    w = b.constant(rng.normal(size=(3, 1, 1, 3)).astype(np.float32) * spread)
    bias = b.constant(np.float32([1, 2, 3]))
    for _ in range(3):
        x = b.op("conv2d", (x, w, bias), Conv2dAttrs())
    return b.graph(x)


@pytest.mark.parametrize("build", [small_cnn, depthwise_net, _spread, _of_one_constant])
def test_equalised_models_compute_the_same(build):
    graph, x = build(), _samples()
    equalised = equalize(graph, _simulator(graph, x).reference, EQUALIZED)
    assert equalised.nodes != graph.nodes
    assert sqnr_db(Model(graph)(x), Model(equalised)(x)).min() > 90
    assert {n.outputs for n in equalised.nodes} == {n.outputs for n in graph.nodes}


def test_factors_do_not_depend_on_the_units_of_a_reader_s_answers():
    """Noise counts beside the signal: a reader of larger numbers is no better heard."""

    def first_weights(units):
        rng = np.random.default_rng(5)
        b = Builder((1, 6, 6, 2))
        spread = (2.0 ** np.arange(8)).reshape(8, 1, 1, 1)
        w = b.constant((rng.normal(size=(8, 1, 1, 2)) * spread).astype(np.float32))
        hidden = b.op("conv2d", ("x", w), Conv2dAttrs())
        heard = np.where(np.arange(8) < 4, 1.0, 0.01)
        outputs = [
            b.op("conv2d", (hidden, b.constant(weights.astype(np.float32))), Conv2dAttrs())
            for weights in (
                units * heard * rng.normal(size=(3, 3, 3, 8)),
                heard[::-1] * rng.normal(size=(3, 3, 3, 8)),
            )
        ]
        graph = b.graph(*outputs)
        x = rng.normal(size=(32, 6, 6, 2)).astype(np.float32)
        equalised = equalize(graph, _simulator(graph, x).reference, EQUALIZED)
        return equalised.value(equalised.nodes[0].inputs[1]).data

    np.testing.assert_allclose(first_weights(1000.0), first_weights(1.0), rtol=1e-5)


def test_centred_channels_compute_the_same():
    rng = np.random.default_rng(1)
    b = Builder((1, 6, 6, 2))
    w = b.constant(rng.normal(size=(4, 1, 1, 2)).astype(np.float32))
    bias = b.constant(np.array([0, 50, -20, 3], np.float32))
    linear = b.op("conv2d", ("x", w, bias), Conv2dAttrs())
    w2 = b.constant(rng.normal(size=(3, 3, 3, 4)).astype(np.float32))
    graph = b.graph(b.op("conv2d", (linear, w2), Conv2dAttrs(padding="VALID")))
    x = rng.normal(size=(32, 6, 6, 2)).astype(np.float32)
    equalised = equalize(graph, _simulator(graph, x).reference, EQUALIZED)
    assert sqnr_db(Model(graph)(x), Model(equalised)(x)).min() > 90
    values = _simulator(equalised, x).reference[linear]
    np.testing.assert_allclose(values.min(axis=(0, 1, 2)), -values.max(axis=(0, 1, 2)), rtol=1e-3)


def test_channels_in_front_of_a_transposed_convolution_are_not_centred():
    """Its outputs are sums of one to four of its inputs' neighbours."""
    rng, b = np.random.default_rng(0), Builder((1, 5, 5, 3))
    weights = [rng.normal(size=s).astype(np.float32) for s in ((4, 1, 1, 3), (2, 3, 3, 4))]
    bias = b.constant(np.float32([50, -30, 0, 100]))
    hidden = b.op("conv2d", ("x", b.constant(weights[0]), bias), Conv2dAttrs())
    attrs = TransposeConvAttrs((10, 10), (2, 2))
    graph = b.graph(b.op("transpose_conv", (hidden, b.constant(weights[1])), attrs))
    x = rng.normal(size=(16, 5, 5, 3)).astype(np.float32)
    equalised = equalize(graph, _simulator(graph, x).reference, EQUALIZED)
    assert equalised is not graph
    np.testing.assert_allclose(Model(equalised)(x), Model(graph)(x), rtol=1e-3, atol=1e-3)


def test_a_residual_sum_shares_its_channels_with_what_it_adds():
    graph = small_cnn()
    stem, branch, joined = (graph.nodes[i].outputs[0] for i in range(3))
    space = next(s for s in free_spaces(graph) if stem in s.tensors)
    assert set(space.tensors) == {stem, branch, joined}
    # A ReLU6 does not commute with factors: what it feeds is left alone.
    clamped = graph.nodes[3].outputs[0]
    assert all(clamped not in s.tensors for s in free_spaces(graph))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_optimised_rounding_is_never_worse_than_nearest_on_its_objective(seed, taps):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(taps, taps))
    moments = second_moments((rng.normal(size=(2, 60, taps)) @ mixed).astype(np.float32))
    weights = rng.normal(size=(2, 5, taps))
    scales = np.abs(weights).max(axis=2) / 7  # coarse, so that rounding matters

    def error(steps):
        d = steps * scales[..., None] - weights
        return np.einsum("bok,bkl,bol->bo", d, moments, d)

    found = round_weights(weights, scales, moments)
    assert found.dtype == np.int8
    assert (error(found) <= error(np.rint(weights / scales[..., None])) + 1e-12).all()


def _decoder():
    """Transposed convolutions: windows with gaps, that overlap, cut and not."""
    rng, b, y, channels = np.random.default_rng(4), Builder((1, 8, 8, 3)), "x", 3
    for c, k, stride, size, padding in (
        (4, (2, 3), (3, 2), (23, 17), "VALID"),
        (5, (4, 4), (2, 2), (46, 34), "SAME"),
        (2, (3, 2), (1, 2), (46, 67), "SAME"),
    ):
        w = b.constant(rng.normal(size=(c, *k, channels)).astype(np.float32))
        bias = b.constant(rng.normal(size=c).astype(np.float32))
        y, channels = (
            b.op("transpose_conv", (y, w, bias), TransposeConvAttrs(size, stride, padding)),
            c,
        )
    return b.graph(y)


def _groups():
    """Three groups of two channels, then two outputs of each channel; windows of two sides."""
    rng, b = np.random.default_rng(3), Builder((1, 8, 8, 3))
    y = "x"
    for op, shape, attrs in (
        ("conv2d", (6, 1, 1, 3), Conv2dAttrs()),
        ("conv2d", (9, 2, 3, 2), Conv2dAttrs(padding="VALID", stride=(2, 1), dilation=(1, 2))),
        ("depthwise_conv2d", (1, 3, 2, 18), DepthwiseConv2dAttrs(stride=(1, 2), padding="VALID")),
    ):
        w = b.constant(rng.normal(size=shape).astype(np.float32))
        channels = shape[3] if op == "depthwise_conv2d" else shape[0]
        bias = b.constant(rng.normal(size=channels).astype(np.float32))
        y = b.op(op, (y, w, bias), attrs)
    return b.graph(y)


def test_each_weight_reads_one_channel_of_the_input():
    """Of an input whose values are its channels' numbers."""
    for node in _groups().bound():
        shape = node.input(0).shape
        x = np.broadcast_to(np.arange(shape[-1], dtype=np.float32), shape)
        rows = layer_rows(node, x)[:, 0]
        outputs = node.output.shape[-1] // len(rows)
        np.testing.assert_array_equal(input_channels(node), np.repeat(rows, outputs, axis=0))


@pytest.mark.parametrize("build", [depthwise_net, _decoder, _groups])
def test_layers_are_matrix_products(build):
    graph, x = build(), _samples(4)
    simulator = _simulator(graph, x)
    for node in simulator.nodes:
        if len(node.inputs) < 3:
            continue
        rows = layer_rows(node, simulator.reference[node.input(0).name])
        weights = per_output(node).reshape(len(rows), -1, rows.shape[2])
        products = np.einsum("brk,bok->rbo", rows, weights).reshape(rows.shape[1], -1)
        expected = products + node.input(2).data
        if node.attrs.activation == "RELU":
            expected = np.maximum(expected, 0)
        found = simulator.reference[node.output.name].reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", [BiasCorrection.ANALYTIC, BiasCorrection.EMPIRICAL])
def test_bias_correction_takes_the_mean_error_off(method):
    rng = np.random.default_rng(2)
    b = Builder((1, 16))
    weights = rng.normal(size=(6, 16)).astype(np.float32)
    weights[0, 0] = 30  # one scale for all: the others are coarse
    w = b.constant(weights)
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    x = rng.uniform(1, 3, (64, 16)).astype(np.float32)
    config = QuantConfig(bias_correction=method)
    simulator = _simulator(graph, x)
    plain = make_plan(graph, calibrate(graph, x), config)
    corrected = refine(simulator, plain, config)
    (name,) = corrected.biases

    def mean_error(plan):
        real = plan.real_weights(graph)
        live = simulator.run({"x": plan.activations["x"]}, real)
        return np.abs((live[name] - simulator.reference[name]).mean(axis=0)).max()

    assert mean_error(corrected) < 0.1 * mean_error(plain)


def test_each_preset_gains_over_the_one_before():
    graph, x = spread_depthwise(depthwise_net(), 20), _samples()
    fast, balanced, best = (_gain(graph, x, PRESETS[p]) for p in Preset)
    assert balanced > fast + 3
    assert best > fast + 3


@pytest.mark.slow
@pytest.mark.whole
def test_channels_a_thousand_times_apart_are_recovered():
    plain = depthwise_net()
    graph, x = spread_depthwise(plain), _samples()
    assert sqnr_db(Model(plain)(x), Model(graph)(x)).min() > 80
    assert _gain(graph, x, QuantConfig()) < 10
    assert _gain(graph, x, BEST) > _gain(plain, x, BEST) - 1.5


def _sequences(count, seed):
    return np.random.default_rng(seed).normal(size=(count, 8, 12)).astype(np.float32)


def _encoder_sqnr(graph, config):
    quantized = quantize_graph(graph, _sequences(64, 3), config)
    return evaluate_graph(quantized, {"x": _sequences(64, 4)}, against=graph).sqnr_db


@pytest.mark.slow
def test_outliers_of_layer_norms_move_into_the_weights():
    graph = encoder(outlier=40)
    smooth = QuantConfig(smooth=True)
    x = _sequences(64, 3)
    smoothed = equalize(graph, _simulator(graph, x).reference, smooth)
    assert [n.op for n in smoothed.nodes] == [n.op for n in graph.nodes]
    assert sqnr_db(Model(graph)(x), Model(smoothed)(x)).min() > 90
    plain, cured = _encoder_sqnr(graph, QuantConfig()), _encoder_sqnr(graph, smooth)
    assert plain < 10
    assert cured > _encoder_sqnr(encoder(outlier=1), QuantConfig()) - 1


def test_norms_without_outliers_stay_as_they_are():
    graph = encoder(outlier=1)
    x = _sequences(64, 3)
    smoothed = equalize(graph, _simulator(graph, x).reference, QuantConfig(smooth=True))
    assert smoothed.nodes == graph.nodes


def test_a_refined_file_is_equal_on_tflm():
    graph, x = depthwise_net(), _samples(16)
    quantized = quantize_graph(graph, x, BEST)
    raw = Model(quantized).stored_inputs(x[:4])["x"]
    expected = [run_tflm(quantized, [sample[None]])[0] for sample in raw]
    np.testing.assert_array_equal(Model(quantized)(raw), expected)


@pytest.mark.parametrize("preset", sampled([Preset.BEST], Preset))
def test_same_data_same_file(preset, tmp_path):
    files = []
    for i in range(2):
        graph = spread_depthwise(depthwise_net(), 20)
        quantized = quantize_graph(graph, _samples(24), PRESETS[preset])
        save_tflite(quantized, tmp_path / f"{i}.tflite")
        files.append((tmp_path / f"{i}.tflite").read_bytes())
    assert files[0] == files[1]


def test_models_that_mix_samples_take_every_method():
    b = Builder((1, 4, 6))
    mixed = b.op("reshape", ("x",), ReshapeAttrs((4, 6)))
    w = b.constant(np.random.default_rng(5).normal(size=(3, 6)).astype(np.float32))
    graph = b.graph(b.op("fully_connected", (mixed, w), FullyConnectedAttrs()))
    x = np.random.default_rng(6).normal(size=(12, 4, 6)).astype(np.float32)
    quantized = quantize_graph(graph, x, replace(BEST, calibrator="auto"))
    expected, found = Model(graph)(x), Model(quantized)(x)
    assert 10 * np.log10((expected**2).sum() / ((found - expected) ** 2).sum()) > 30
