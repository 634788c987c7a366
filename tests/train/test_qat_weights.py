"""Weights in training for int8: which batch norm is folded into them, and what scales they have."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.passes.nets import Net
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.quantize.config import QuantizationWarning
from tinyrt.quantize.ranges import Range
from tinyrt.train import Tensor, no_grad, trace
from tinyrt.train.activations import LeakyReLU
from tinyrt.train.fake_quant import RangeQuantizer
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Linear,
    ReLU,
    Sequential,
)
from tinyrt.train.qat import QatConfig, QatModel, Scales

EPSILON = 0.25
SHAPE = (3, 3, 2)


def norm_with_statistics(rng, channels=4):
    norm = BatchNorm(channels, epsilon=EPSILON)
    norm.gamma.data = np.abs(rng.normal(size=channels).astype(np.float32)) + 0.5
    norm.beta.data = rng.normal(size=channels).astype(np.float32)
    norm.mean.data = rng.normal(size=channels).astype(np.float32)
    norm.variance.data = rng.uniform(0.5, 2, channels).astype(np.float32)
    return norm


def convolution(rng, *behind, bias=True, layer=Conv2d):
    if layer is DepthwiseConv2d:
        conv = layer(2, 3, multiplier=2, rng=rng, bias=bias)
    else:
        conv = layer(2, 4, 3, rng=rng, bias=bias)
    if bias:
        conv.bias.data = rng.normal(size=4).astype(np.float32)
    return Sequential(conv, *behind)


def only_layer(net, x, *, config=None, source=None):
    """The layer of the only node with weights, with the node."""
    traced = trace(net, x.shape[1:])
    model = QatModel(optimize(traced), x, source=source or traced, config=config)
    ((name, layer),) = model.layers.items()
    node = next(n for n in model.nodes(len(x)) if n.name == name)
    return layer, node


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def x(rng):
    return rng.normal(size=(32, *SHAPE)).astype(np.float32)


@pytest.mark.parametrize("layer", [Conv2d, DepthwiseConv2d])
@pytest.mark.parametrize("bias", [False, True])
def test_running_statistics_are_folded_in_as_the_norm_applies_them(layer, bias, rng, x):
    """Folded weights and bias on any input give what norm and convolution give by themselves."""
    norm = norm_with_statistics(rng)
    net = convolution(rng, norm, ReLU(), bias=bias, layer=layer)
    conv = net.layers["0"]
    found, node = only_layer(net, x)
    w, b = found.folded(node, None)
    factor = norm.gamma.data / np.sqrt(norm.variance.data + EPSILON)
    along = (1, 1, 1, 4) if layer is DepthwiseConv2d else (4, 1, 1, 1)
    np.testing.assert_allclose(w.data, conv.weight.data * factor.reshape(along), rtol=1e-5)
    own = conv.bias.data if bias else 0
    expected = norm.beta.data + (own - norm.mean.data) * factor
    np.testing.assert_allclose(b.data, expected, rtol=1e-5, atol=1e-6)


def test_a_batch_moves_the_statistics_by_a_tenth(rng, x):
    norm = norm_with_statistics(rng)
    net = convolution(rng, norm, ReLU())
    layer, node = only_layer(net, x)
    with no_grad():
        y = net.layers["0"](Tensor(x)).data.reshape(-1, 4).astype(np.float64)
    w, b = layer.folded(node, Tensor(x))
    factor = norm.gamma.data / np.sqrt(y.var(axis=0) + EPSILON)
    expected = norm.beta.data + (net.layers["0"].bias.data - y.mean(axis=0)) * factor
    np.testing.assert_allclose(b.data, expected, rtol=1e-4, atol=1e-5)
    weights = net.layers["0"].weight.data * factor.reshape(4, 1, 1, 1)
    np.testing.assert_allclose(w.data, weights, rtol=1e-4)
    mean = 0.9 * norm.mean.data + 0.1 * y.mean(axis=0)
    variance = 0.9 * norm.variance.data + 0.1 * y.var(axis=0)
    np.testing.assert_allclose(layer.mean.data, mean, rtol=1e-5)
    np.testing.assert_allclose(layer.variance.data, variance, rtol=1e-5)


def test_training_leaves_the_sources_constants_as_they_were(rng, x):
    norm = norm_with_statistics(rng)
    net = convolution(rng, norm)
    before = [t.data.copy() for _, t in net.named_tensors()]
    layer, node = only_layer(net, x)
    layer.folded(node, Tensor(x))
    for tensor in (layer.gamma, layer.beta, layer.weight, layer.bias, layer.mean):
        tensor.data += 1
    for old, (_, tensor) in zip(before, net.named_tensors(), strict=True):
        np.testing.assert_array_equal(old, tensor.data)


def is_found(layer):
    return {"gamma", "beta", "mean", "variance"} <= {name for name, _ in layer.named_tensors()}


def test_a_norm_is_found_behind_its_layer_and_in_front_of_an_activation(rng, x):
    for behind in ((), (ReLU(),)):
        assert is_found(only_layer(convolution(rng, norm_with_statistics(rng), *behind), x)[0])


def test_the_norm_of_an_imported_layer_without_bias_is_found(rng, tmp_path):
    file = OnnxModel()
    y = file.op("Gemm", file.input(1, 6), file.weights(6, 4))
    y = file.op("BatchNormalization", y, *(file.weights(4, low=0.5) for _ in range(4)))
    source = read_onnx(file.save(tmp_path, y))
    graph = optimize(source)
    x = rng.normal(size=(32, 6)).astype(np.float32)
    (layer,) = QatModel(graph, x, source=source).layers.values()
    assert is_found(layer)
    w, b = layer.folded(next(graph.bound()), None)
    np.testing.assert_allclose(w.data, graph.bind(0).input(1).data, rtol=1e-5)
    np.testing.assert_allclose(b.data, graph.bind(0).input(2).data, rtol=1e-5, atol=1e-6)


def turned_twice(net):
    """A norm behind two transpositions that undo each other."""
    y = net.conv("x")
    for _ in range(2):
        y = net.transpose(y, (0, 2, 1, 3))
    return y


def with_turned_weights(net):
    """A norm behind weights that are no constant before optimisation."""
    w = net.transpose(net.random(2, 3, 3, 4), (3, 1, 2, 0))
    return net.op("conv2d", ("x", w), Conv2dAttrs())


@pytest.mark.parametrize("layer", [turned_twice, with_turned_weights])
def test_a_norm_is_found_where_passes_bring_it_to_its_layer(layer, x):
    net = Net((1, *SHAPE))
    source = net.graph(net.batch_norm(layer(net)))
    graph = optimize(source)
    (found,) = QatModel(graph, x, source=source).layers.values()
    assert is_found(found)
    w, b = found.folded(next(graph.bound()), None)
    np.testing.assert_allclose(w.data, graph.bind(0).input(1).data, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.data, graph.bind(0).input(2).data, rtol=1e-5, atol=1e-6)


def test_all_norms_of_a_channels_first_import_are_trained(rng, tmp_path):
    """Without biases, as PyTorch exports networks with norms: residual and depthwise."""
    file = OnnxModel()

    def block(y, c_in, groups=1):
        w = file.weights(4, c_in // groups, 3, 3)
        y = file.op("Conv", y, w, kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=groups)
        return file.op("BatchNormalization", y, *(file.weights(4, low=0.5) for _ in range(4)))

    y = file.op("Relu", block(file.input(1, 3, 6, 6), 3))
    y = file.op("Relu", file.op("Add", block(y, 4), y))
    y = file.op("Clip", block(y, 4, groups=4), file.const(0.0), file.const(6.0))
    y = file.op("Relu", block(y, 4))
    y = file.op("Flatten", file.op("GlobalAveragePool", block(y, 4)))
    source = read_onnx(file.save(tmp_path, file.op("Gemm", y, file.weights(4, 5))))
    graph = optimize(source)
    x = rng.normal(size=(32, *graph.input_values[0].shape[1:])).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = QatModel(graph, x, source=source)
    assert [is_found(layer) for layer in model.layers.values()] == [True] * 5 + [False]
    for node in graph.bound():
        if node.name in model.layers:
            w = model.layers[node.name].folded(node, None)[0]
            np.testing.assert_allclose(w.data, node.input(1).data, rtol=1e-4, atol=1e-6)
    model(Tensor(x)).sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if name.endswith("gamma")}
    assert len(gradients) == 5
    assert all(np.any(g != 0) for g in gradients.values())


def with_constants(graph, change):
    """The graph where constants of four or more numbers are changed, by their place."""
    constants = [v for v in graph.values.values() if v.is_constant]
    changed = [replace(v, data=change(i, v.data)) for i, v in enumerate(constants)]
    return graph.with_nodes(graph.nodes, changed)


def other_weights(graph):
    return with_constants(graph, lambda i, data: data * 1.01)


def other_epsilon(graph):
    nodes = [
        replace(n, attrs=replace(n.attrs, epsilon=1.0))
        if isinstance(n.attrs, BatchNormAttrs)
        else n
        for n in graph.nodes
    ]
    return graph.with_nodes(nodes)


def unknown_weights(graph):
    name = graph.nodes[0].inputs[1]
    values = graph.values | {name: replace(graph.value(name), data=None)}
    return replace(graph, inputs=(*graph.inputs, name), values=values)


@pytest.mark.parametrize("change", [other_weights, other_epsilon, unknown_weights])
def test_a_source_that_folds_to_other_weights_is_not_taken(change, rng, x):
    net = convolution(rng, norm_with_statistics(rng), ReLU())
    with pytest.warns(QuantizationWarning, match=r"1 of 1 batch norms are not trained[^:]*: 1; th"):
        layer, node = only_layer(net, x, source=change(trace(net, SHAPE)))
    assert not is_found(layer)
    w, b = layer.folded(node, Tensor(x))
    assert (w, b) == (layer.weight, layer.bias)
    np.testing.assert_array_equal(w.data, node.input(1).data)


def test_a_convolution_behind_another_is_no_norm(rng, x):
    net = Sequential(Conv2d(2, 3, 3, rng=rng), Conv2d(3, 4, 3, rng=rng))
    traced = trace(net, SHAPE)
    model = QatModel(optimize(traced), x, source=traced)
    assert [is_found(layer) for layer in model.layers.values()] == [False, False]


def test_a_source_with_a_kernel_of_another_size_is_not_taken(rng, x):
    net = convolution(rng, norm_with_statistics(rng), ReLU())
    other = Sequential(Conv2d(2, 4, 1, rng=rng), norm_with_statistics(rng), ReLU())
    ours, theirs = trace(net, SHAPE), trace(other, SHAPE)
    assert ours.outputs == theirs.outputs
    with pytest.warns(QuantizationWarning, match="1 of 1 batch norms are not trained"):
        assert not is_found(only_layer(net, x, source=theirs)[0])


@pytest.mark.parametrize("between", [ReLU(), LeakyReLU(0.5)])
def test_a_source_with_an_op_between_layer_and_norm_is_not_taken(between, rng, x):
    norm = norm_with_statistics(rng)
    conv = convolution(rng)[0]
    between = trace(Sequential(conv=conv, between=between, norm=norm), SHAPE)
    with pytest.warns(QuantizationWarning, match="norm"):
        layer, _ = only_layer(Sequential(conv=conv, norm=norm), x, source=between)
    assert not layer.norm


def test_a_norm_that_stays_an_op_of_its_own_is_not_missed(rng):
    """Where a norm has no layer in front, it is two ops, or stays one that has no integer form."""
    net = Sequential(ReLU(), norm_with_statistics(rng, 2), Conv2d(2, 4, 3, rng=rng))
    x = rng.normal(size=(32, *SHAPE)).astype(np.float32)
    assert not is_found(only_layer(net, x)[0])


def test_norms_between_layers_and_behind_a_scaled_input_are_found(rng, x):
    """A layer of one tap could take the norm in front of it, and takes the input's factor."""
    net = Net((1, *SHAPE))
    y = net.op("mul", ("x", net.random(2)), MulAttrs())
    for _ in range(3):
        y = net.batch_norm(net.op("conv2d", (y, net.random(2, 1, 1, 2)), Conv2dAttrs()))
    source = net.graph(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = QatModel(optimize(source), x, source=source)
    assert [is_found(layer) for layer in model.layers.values()] == [True] * 3


def test_only_the_first_five_norms_are_named(rng, x):
    blocks = [m for _ in range(7) for m in (Conv2d(2, 2, 1, rng=rng), norm_with_statistics(rng, 2))]
    source = trace(Sequential(*blocks), SHAPE)
    with pytest.warns(QuantizationWarning, match=r"7 of 7 [^:]*: 1, 3, 5, 7, 9, \.\.\.; their"):
        QatModel(optimize(source), x, source=other_weights(source))


def untrained(model):
    """What is warned of norms without statistics when a model is made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model()
    return [str(w.message) for w in caught if "as before any training" in str(w.message)]


def test_norms_that_never_saw_a_batch_are_named(rng, x):
    seen, fresh = norm_with_statistics(rng, 2), BatchNorm(2)
    net = Sequential(Conv2d(2, 2, 1, rng=rng), seen, Conv2d(2, 2, 1, rng=rng), fresh)
    source = trace(net, SHAPE)
    with pytest.warns(QuantizationWarning) as caught:
        QatModel(optimize(source), x, source=source)
    (told,) = [str(w.message) for w in caught]
    assert told.startswith("1 of 2 batch norms have running means of 0 and variances of 1, as bef")
    assert "any training: 3; train the float model before, or call it in training mode" in told
    fresh(Tensor(x))
    source = trace(net, SHAPE)
    assert not untrained(lambda: QatModel(optimize(source), x, source=source))


@pytest.mark.parametrize("name", ["mean", "variance"])
def test_one_statistic_that_has_moved_is_enough(name, rng, x):
    norm = BatchNorm(4)
    getattr(norm, name).data[2] = 0.5
    source = trace(convolution(rng, norm), SHAPE)
    assert not untrained(lambda: QatModel(optimize(source), x, source=source))


def test_only_the_first_five_untrained_norms_are_named(rng, x):
    blocks = [m for _ in range(6) for m in (Conv2d(2, 2, 1, rng=rng), BatchNorm(2))]
    source = trace(Sequential(*blocks), SHAPE)
    (told,) = untrained(lambda: QatModel(optimize(source), x, source=source))
    assert told.startswith("6 of 6 ")
    assert "training: 1, 3, 5, 7, 9, ...; train" in told


@pytest.mark.parametrize("behind", [(), (ReLU(),)])
def test_a_layer_without_norm_keeps_its_own_weights(behind, rng, x):
    layer, node = only_layer(convolution(rng, *behind), x)
    assert not is_found(layer)
    np.testing.assert_array_equal(layer.folded(node, None)[0].data, node.input(1).data)


# Scales

WEIGHTS = np.array([[0.1, -0.05, 1.0, 0.05], [0, 0, 0, 0], [0.1, 0.1, -0.1, 0.1]], np.float32)


def scales_of(bits, learned, by_channel, rng):
    """The scales that a dense layer's weights start with, and the integers of its weights."""
    net = Sequential(Linear(4, 3, rng=rng))
    net.layers["0"].weight.data = WEIGHTS
    x = rng.normal(size=(32, 4)).astype(np.float32)
    config = QatConfig(weight_scales=learned, weight_bits=bits, per_channel_dense=by_channel)
    layer, node = only_layer(net, x, config=config)
    w, bias = layer.folded(node, None)
    q = layer.weights_q(w, bias, 0.01)
    assert q.zero_point == 0
    return np.array(q.scales), layer.rounded(w, q)[1]


@pytest.mark.parametrize("learned", [Scales.LSQ, Scales.PACT])
@pytest.mark.parametrize(("bits", "greatest"), [(8, 127), (4, 7)])
def test_learned_scales_start_at_twice_the_mean_over_a_root(bits, greatest, learned, rng):
    """As learned step size has them, unless all weights lie within a lesser one."""
    scales, _ = scales_of(bits, learned, False, rng)
    usual = 2 * np.abs(WEIGHTS).mean() / np.sqrt(greatest)
    assert scales == pytest.approx([min(usual, 1.0 / greatest)], rel=1e-5)


def test_learned_scales_of_channels_start_by_themselves(rng):
    """A channel of zeros starts with the scale that the quantiser gives it."""
    scales, steps = scales_of(8, Scales.LSQ, True, rng)
    plain, _ = scales_of(8, Scales.RANGE, True, rng)
    assert scales[[0, 2]] == pytest.approx([1.0 / 127, 0.1 / 127], rel=1e-5)
    assert scales[1] == pytest.approx(plain[1], rel=1e-5)
    assert scales[1] > 0
    assert np.abs(steps).max(axis=1).tolist() == [127, 0, 127]


@pytest.mark.parametrize(("bits", "greatest"), [(8, 127), (4, 7)])
def test_scales_from_the_range_use_all_integers(bits, greatest, rng):
    scales, steps = scales_of(bits, Scales.RANGE, False, rng)
    assert scales == pytest.approx([1.0 / greatest], rel=1e-6)
    expected = np.rint(WEIGHTS.astype(np.float64) * greatest)
    np.testing.assert_array_equal(steps, expected)


def test_averages_of_ranges_move_by_a_hundredth():
    quantizer = RangeQuantizer(Range(-1.0, 1.0))
    quantizer.observe(Tensor([-2.0, 3.0]))
    quantizer.settle()
    assert quantizer.low.item() == pytest.approx(-1.01)
    assert quantizer.high.item() == pytest.approx(1.02)
