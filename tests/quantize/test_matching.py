"""Factors and shifts of channels are read off a quantised model's weights, where it has any."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.quantize.hard import encoder
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.quantize import BiasCorrection, QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.explain.matching import as_quantized, quantized_constants, stored_constant

WIDTH = 6


def _random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _samples(width=WIDTH, count=32):
    return np.random.default_rng(9).normal(size=(count, 5, 5, width)).astype(np.float32)


def _chain(arrays, padding="VALID", activation="NONE", with_bias=True):
    """conv2d, depthwise, conv2d, with these weights and biases."""
    b = Builder((1, 5, 5, WIDTH))
    conv = Conv2dAttrs(padding=padding, activation=activation)
    depthwise = DepthwiseConv2dAttrs(padding=padding, activation=activation)
    x = "x"
    for op, attrs, (w, bias) in zip(
        ("conv2d", "depthwise_conv2d", "conv2d"), (conv, depthwise, conv), arrays, strict=True
    ):
        constants = (b.constant(w), b.constant(bias)) if with_bias else (b.constant(w),)
        x = b.op(op, (x, *constants), attrs)
    return b.graph(x)


def _arrays():
    shapes = (WIDTH, 1, 1, WIDTH), (1, 3, 3, WIDTH), (4, 3, 3, WIDTH)
    biases = WIDTH, WIDTH, 4
    return [
        (_random(*shape, seed=i), _random(count, seed=10 + i))
        for i, (shape, count) in enumerate(zip(shapes, biases, strict=True))
    ]


def _in_channels(arrays, scales, shifts):
    """The same function; channels behind the first two layers become ``(y - shift) / scale``."""
    (w0, b0), (w1, b1), (w2, b2) = ((w.astype(float), b.astype(float)) for w, b in arrays)
    (s0, s1), (m0, m1) = scales, shifts
    first = w0 / s0[:, None, None, None], (b0 - m0) / s0
    second = w1 * s0 / s1, (b1 + w1[0].sum(axis=(0, 1)) * m0 - m1) / s1
    third = w2 * s1, b2 + (w2.sum(axis=(1, 2)) * m1).sum(axis=1)
    return [
        tuple(np.ascontiguousarray(a, np.float32) for a in pair) for pair in (first, second, third)
    ]


def _constants(graph):
    return [[graph.value(name).data for name in node.inputs[1:]] for node in graph.nodes]


def _assert_near(found, expected):
    for ours, theirs in zip(_constants(found), _constants(expected), strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=0.05, atol=0.04 * np.abs(other).max())


SCALES = np.float64([1.0, 3.0, 0.25, 1.5, 0.5, 8.0]), np.float64([2.0, 0.5, 1.0, 4.0, 0.125, 1.0])
ONES, ZEROS = (np.ones(WIDTH),) * 2, (np.zeros(WIDTH),) * 2
SHIFTS = np.float64([5.0, 0.0, -20.0, 0.0, 0.0, 30.0]), np.float64([0.0, 40.0, 0.0, -60.0, 0.0, 0])


@pytest.mark.parametrize(
    ("padding", "scales", "shifts"),
    [
        ("SAME", SCALES, ZEROS),
        ("VALID", SCALES, ZEROS),
        ("VALID", SCALES, SHIFTS),
        ("VALID", ONES, SHIFTS),
        ("VALID", (SCALES[0], ONES[1]), ZEROS),
        ("VALID", (ONES[0], SCALES[1]), (ZEROS[0], SHIFTS[1])),
    ],
)
def test_channels_become_those_of_the_quantised_model(padding, scales, shifts):
    graph = _chain(_arrays(), padding)
    other = _chain(_in_channels(_arrays(), scales, shifts), padding)
    quantized = quantize_graph(other, _samples(), QuantConfig())
    found = as_quantized(graph, quantized)
    assert found is not graph
    _assert_near(found, other)


def test_factors_are_found_where_no_layer_has_a_bias():
    nothing = [(w, np.zeros_like(b)) for w, b in _arrays()]
    graph = _chain(nothing, with_bias=False)
    other = _chain(_in_channels(nothing, SCALES, ZEROS), with_bias=False)
    found = as_quantized(graph, quantize_graph(other, _samples(), QuantConfig()))
    for ours, theirs in zip(_constants(found), _constants(other), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=0.05, atol=0.04)


@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(),
        QuantConfig(scheme=Scheme.INT4),
        QuantConfig(scheme=Scheme.INT4, optimize_rounding=True),
        QuantConfig(scheme=Scheme.WEIGHTS_INT8),
        QuantConfig(optimize_rounding=True),
        QuantConfig(bias_correction=BiasCorrection.EMPIRICAL),
    ],
)
def test_a_model_in_its_own_channels_comes_back_as_it_is(config):
    graph = _chain(_arrays(), activation="RELU")
    assert as_quantized(graph, quantize_graph(graph, _samples(), config)) is graph


def test_a_channel_of_other_weights_keeps_its_factor():
    arrays = _arrays()
    other = _in_channels(arrays, SCALES, ZEROS)
    unlike = other[0][0].copy()
    unlike[1] = _random(1, 1, WIDTH, seed=77)
    other[0] = unlike, other[0][1]
    found = as_quantized(
        _chain(arrays, "SAME"), quantize_graph(_chain(other, "SAME"), _samples(), QuantConfig())
    )
    ((weights, _), *_) = _constants(found)
    np.testing.assert_allclose(weights[1], arrays[0][0][1], rtol=1e-5)
    np.testing.assert_allclose(weights[2], other[0][0][2], rtol=0.05, atol=0.05)


def _renamed(graph, old, new):
    """The graph with another name for a value."""

    def names(given):
        return tuple(new if name == old else name for name in given)

    nodes = (replace(n, inputs=names(n.inputs), outputs=names(n.outputs)) for n in graph.nodes)
    values = {n: v for n, v in graph.values.items() if n != old}
    values[new] = replace(graph.value(old), name=new)
    outputs = names(graph.outputs)
    return verify(replace(graph, nodes=tuple(nodes), values=values, outputs=outputs))


def test_layers_of_names_that_the_quantised_model_lacks_are_passed_over():
    graph = _renamed(_chain(_arrays(), "SAME"), "conv2d_0", "stem")
    scales = ONES[0], SCALES[1]
    other = _chain(_in_channels(_arrays(), scales, ZEROS), "SAME")
    _assert_near(as_quantized(graph, quantize_graph(other, _samples(), QuantConfig())), other)


def test_a_channel_whose_weights_are_all_zero_keeps_its_factor():
    arrays = _arrays()
    arrays[0][0][3] = 0
    other = _in_channels(arrays, SCALES, ZEROS)
    found = as_quantized(
        _chain(arrays, "SAME"), quantize_graph(_chain(other, "SAME"), _samples(), QuantConfig())
    )
    ((weights, _), (second, _), _) = _constants(found)
    assert (weights[3] == 0).all()
    np.testing.assert_allclose(weights[2], other[0][0][2], rtol=0.05, atol=0.05)
    # What reads the dead channel has only the factor of its own output.
    assert np.isfinite(second).all()


@pytest.mark.parametrize("size", [0.01, 10.0])
@pytest.mark.parametrize(("share", "is_shifted"), [(0.5, True), (0.1, False)])
def test_a_shift_is_told_from_a_corrected_bias_by_the_size_of_the_weights(size, share, is_shifted):
    arrays = [(w * np.float32(size), b * np.float32(size)) for w, b in _arrays()]
    shift = np.zeros(WIDTH)
    shift[2] = share * np.sqrt((arrays[0][0][2] ** 2).sum())
    moved = _chain(_in_channels(arrays, ONES, (shift, ZEROS[1])))
    graph = _chain(arrays)
    found = as_quantized(graph, quantize_graph(moved, _samples(), QuantConfig()))
    assert (found is not graph) == is_shifted
    if is_shifted:
        _assert_near(found, moved)


# Products per channel, as a layer norm ends

GAMMA = np.float32([1, 40, 1, 2, 1, 1])
FACTORS = np.float32([1, 16, 1, 4, 0.5, 1])


def _behind_product(gamma, w, op, readers=1):
    b = Builder((1, 5, 5, WIDTH))
    y = b.op("mul", (b.op("tanh", ("x",)), b.constant(gamma)), MulAttrs())
    attrs = FullyConnectedAttrs(keep_num_dims=True) if op == "fully_connected" else Conv2dAttrs()
    return b.graph(*(b.op(op, (y, b.constant(w)), attrs) for _ in range(readers)))


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        ("fully_connected", (5, WIDTH)),
        ("conv2d", (4, 1, 1, WIDTH)),
        ("conv2d", (4, 3, 3, WIDTH)),
    ],
)
@pytest.mark.parametrize("factors", [FACTORS, np.ones_like(FACTORS)])
@pytest.mark.parametrize("config", [QuantConfig(), QuantConfig(keep_float=("*_2",), float_io=True)])
def test_factors_of_a_product_are_read_off_what_is_behind_it(op, shape, factors, config):
    """Off the columns of a dense layer, or else off the product's own constant."""
    w = _random(*shape)
    graph = _behind_product(GAMMA, w, op)
    other = _behind_product(GAMMA / factors, w * factors, op)
    found = as_quantized(graph, quantize_graph(other, _samples(), config))
    assert (found is graph) == (factors == 1).all()
    (gamma,) = (n.input(1).data for n in found.bound() if n.op == "mul")
    (weights,) = (n.input(1).data for n in found.bound() if n.op == op)
    np.testing.assert_allclose(gamma, GAMMA / factors, rtol=0.06)
    np.testing.assert_allclose(weights, w * factors, rtol=0.06)


@pytest.mark.parametrize("others", [False, True])
def test_columns_tell_no_factors_where_rows_may_be_rescaled_too(others):
    """The product's own constant does, or another layer's columns."""
    rows = SCALES[0].astype(np.float32)[:, None]

    def model(gamma, factors, rows):
        b = Builder((1, 5, 5, WIDTH))
        y = b.op("mul", (b.op("tanh", ("x",)), b.constant(gamma)), MulAttrs())
        first, second = (
            FullyConnectedAttrs(keep_num_dims=True, activation=a) for a in ("RELU", "NONE")
        )
        inner = b.op("fully_connected", (y, b.constant(_random(6, WIDTH) * factors / rows)), first)
        ends = [b.op("fully_connected", (inner, b.constant(_random(3, 6) * rows.T)), second)]
        if others:
            w = b.constant(_random(4, WIDTH, seed=1) * factors)
            ends.append(b.op("fully_connected", (y, w), second))
        return b.graph(*ends)

    other = model(GAMMA / FACTORS, FACTORS, rows)
    found = as_quantized(
        model(GAMMA, np.ones_like(FACTORS), np.ones_like(rows)),
        quantize_graph(other, _samples(), QuantConfig(per_channel_dense=True)),
    )
    for ours, theirs in zip(found.bound(), other.bound(), strict=True):
        if ours.op != "tanh":
            wanted = theirs.input(1).data
            np.testing.assert_allclose(ours.input(1).data, wanted, rtol=0.08, atol=1e-3)


def _two_products(factors, *, computed=False):
    """Their sum; the second is that of the first's other operand, if that is computed."""
    b = Builder((1, 5, 5, WIDTH))
    first, second = b.op("tanh", ("x",)), b.op("logistic", ("x",))
    products = [
        b.op("mul", (first, b.constant(GAMMA / factors)), MulAttrs()),
        b.op("mul", (second, first if computed else b.constant(2 / factors)), MulAttrs()),
    ]
    w = b.constant(_random(4, 1, 1, WIDTH) * factors)
    return b.graph(b.op("conv2d", (b.op("add", products, AddAttrs()), w), Conv2dAttrs()))


@pytest.mark.parametrize(
    ("renamed", "computed", "is_told"),
    [
        (["mul_2"], False, True),
        (["mul_2", "mul_3"], False, False),
        (["mul_2"], True, False),
    ],
)
def test_any_product_that_the_quantised_model_has_tells_the_factors(renamed, computed, is_told):
    graph = _two_products(np.ones_like(FACTORS))
    for name in renamed:
        graph = _renamed(graph, name, f"other {name}")
    other = _two_products(FACTORS, computed=computed)
    found = as_quantized(graph, quantize_graph(other, _samples(), QuantConfig()))
    assert (found is not graph) == is_told
    rows = [node.input(1).data for node in found.bound() if node.op == "mul"]
    factors = FACTORS if is_told else np.ones_like(FACTORS)
    np.testing.assert_allclose(rows, [GAMMA / factors, 2 / factors], rtol=0.06)


@pytest.mark.parametrize("scheme", [Scheme.INT4, Scheme.INT8])
def test_coarse_weights_behind_a_norm_are_not_taken_for_rescaled_ones(scheme):
    graph = encoder(outlier=1, layers=1)
    x = np.random.default_rng(3).normal(size=(24, 8, 12)).astype(np.float32)
    assert as_quantized(graph, quantize_graph(graph, x, QuantConfig(scheme=scheme))) is graph


# The constants of a quantised model


def _dense(x_count=64, scheme=Scheme.INT8, **options):
    rng = np.random.default_rng(3)
    b = Builder((1, 8))
    w = rng.normal(size=(4, 8)).astype(np.float32) * np.float32([[1], [5], [0.2], [30]])
    bias = rng.normal(size=4).astype(np.float32) * 10
    y = b.op("fully_connected", ("x", b.constant(w), b.constant(bias)), FullyConnectedAttrs())
    x = rng.normal(size=(x_count, 8)).astype(np.float32)
    config = QuantConfig(scheme=scheme, **options)
    return w, bias, quantize_graph(b.graph(y), x, config)


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8, Scheme.WEIGHTS_INT8])
@pytest.mark.parametrize("per_channel", [True, False])
def test_constants_come_back_to_half_a_step(scheme, per_channel):
    w, bias, quantized = _dense(scheme=scheme, per_channel_dense=per_channel)
    node = next(n for n in quantized.bound() if n.op == "fully_connected")
    found_w, found_b = quantized_constants(quantized, node)
    peaks = np.abs(w).max(axis=1, keepdims=True) if per_channel else np.abs(w).max()
    assert found_w.dtype == found_b.dtype == np.float32
    assert (np.abs(found_w - w) <= 0.501 * peaks / 127).all()
    np.testing.assert_allclose(found_b, bias, rtol=1e-3, atol=1e-2)


def test_a_bias_without_a_scale_counts_in_the_steps_of_its_sums():
    _, _, quantized = _dense()
    (node,) = (n for n in quantized.bound() if n.op == "fully_connected")
    plain = replace(node.inputs[2], q=None)
    other = replace(quantized, values=quantized.values | {plain.name: plain})
    wanted = quantized_constants(quantized, node)
    found = quantized_constants(other, other.bind(quantized.nodes.index(node.node)))
    for array, same in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(array, same)


def test_a_stored_constant_is_what_it_is_widened_from():
    _, _, quantized = _dense(scheme=Scheme.WEIGHTS_INT8)
    node = next(n for n in quantized.bound() if n.op == "fully_connected")
    stored = stored_constant(quantized, node.input(1).name)
    assert stored.data.dtype == np.int8
    assert stored.q is not None
    # What no constant stands behind is itself.
    assert stored_constant(quantized, node.output.name) is quantized.value(node.output.name)


def test_a_layer_without_a_bias_has_one_constant():
    b = Builder((1, 8))
    y = b.op("fully_connected", ("x", b.constant(_random(3, 8))), FullyConnectedAttrs())
    quantized = quantize_graph(b.graph(y), _random(64, 8), QuantConfig())
    (node,) = [n for n in quantized.bound() if n.op == "fully_connected"]
    assert len(quantized_constants(quantized, node)) == 1


def test_weights_that_the_model_computes_are_refused():
    b = Builder((1, 8), (3, 8))
    y = b.op("fully_connected", ("x", "x1"), FullyConnectedAttrs())
    (node,) = b.graph(y).bound()
    with pytest.raises(UnsupportedError, match="weights are no constants") as caught:
        quantized_constants(b.graph(y), node)
    assert "'x1'" in caught.value.tensor
    assert "fully_connected_0" in caught.value.op
    assert "freeze" in caught.value.hint


# Models that do not belong together


def test_tensors_of_another_shape_are_named():
    graph = _chain(_arrays())
    quantized = quantize_graph(_chain(_arrays(), "SAME"), _samples(), QuantConfig())
    with pytest.raises(DataError, match="another shape") as caught:
        as_quantized(graph, quantized)
    # The first layer's window of 1x1 has outputs of the same shape in both.
    assert "'depthwise_conv2d_1'" in caught.value.tensor
    assert "[1,3,3,6]" in caught.value.tensor
    assert "[1,5,5,6]" in caught.value.expected
    assert "pass the float model" in caught.value.hint


def test_models_that_have_lost_channels_are_told_apart_from_others():
    graph = _chain(_arrays())
    quantized = quantize_graph(graph, _samples(), QuantConfig())
    name = graph.nodes[0].outputs[0]
    value = quantized.value(name)
    fewer = replace(value, shape=(*value.shape[:-1], value.shape[-1] - 1))
    with pytest.raises(DataError, match="fewer channels") as caught:
        as_quantized(graph, replace(quantized, values={**quantized.values, name: fewer}))
    assert f"'{name}'" in caught.value.tensor
    assert str(fewer.type) in caught.value.expected
    assert "quantise it again" in caught.value.hint


def test_layers_of_the_same_name_but_another_op_are_no_partners():
    b = Builder((1, 5, 5, WIDTH))
    w = b.constant(_random(WIDTH, 1, 1, WIDTH))
    graph = b.graph(b.op("conv2d", ("x", w), Conv2dAttrs()))
    other = Builder((1, 5, 5, WIDTH))
    w = other.constant(_random(1, 1, 1, WIDTH))
    plain = other.graph(other.op("depthwise_conv2d", ("x", w), DepthwiseConv2dAttrs()))
    renamed = _renamed(plain, "depthwise_conv2d_0", "conv2d_0")
    quantized = quantize_graph(renamed, _samples(), QuantConfig())
    with pytest.raises(DataError, match="no layers of the same name") as caught:
        as_quantized(graph, quantized)
    assert "float model" in caught.value.expected
    assert "quantise the float model again" in caught.value.hint
