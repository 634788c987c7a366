"""Quantisation-aware training: what it computes is what is deployed, and it learns."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder
from tests.sampling import sampled
from tests.train.build import train
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, QParams
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.ranges import Range
from tinyrt.train import Tensor, apply, no_grad, trace
from tinyrt.train.fake_quant import (
    FAKE_QUANTIZE,
    LearnedQuantizer,
    RangeQuantizer,
    Steps,
    fake_quantize_weights,
)
from tinyrt.train.nn import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    ReLU6,
    Sequential,
    Softmax,
)
from tinyrt.train.qat import QatConfig, QatModel, Scales
from tinyrt.train.recipes.recipe import Training
from tinyrt.train.recipes.stages import answers_of, train_int8

CONFIGS = {
    "ranges": QatConfig(),
    "LSQ": QatConfig(activation_scales=Scales.LSQ, weight_scales=Scales.LSQ),
    "PACT": QatConfig(activation_scales=Scales.PACT),
    "int4": QatConfig(weight_bits=4),
    "int4, LSQ": QatConfig(weight_bits=4, weight_scales=Scales.LSQ),
    "int16x8": QatConfig(activations=DType.INT16),
    "int16x8, LSQ": QatConfig(
        activation_scales=Scales.LSQ, weight_scales=Scales.LSQ, activations=DType.INT16
    ),
}


class Net(Module):
    """Every kind of rule: own ranges, shared ones, prescribed ones, and a residual sum."""

    def __init__(self, rng):
        self.stem = Sequential(Conv2d(1, 4, 3, rng=rng, bias=False), BatchNorm(4), ReLU())
        self.body = Sequential(
            DepthwiseConv2d(4, 3, rng=rng, bias=False),
            BatchNorm(4),
            ReLU6(),
            Conv2d(4, 4, 1, rng=rng),
            BatchNorm(4),
        )
        self.pools = Sequential(MaxPool2d(2), AvgPool2d(2))
        self.head = Sequential(GlobalAvgPool2d(), Linear(4, 3, rng=rng))

    def forward(self, x):
        y = self.stem(x)
        y = self.body(y) + y
        gate = apply("logistic", NoAttrs(), y)
        return self.head(self.pools(y * gate))


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 64)
    x = (rng.normal(size=(64, 8, 8, 1)) + y[:, None, None, None]).astype(np.float32)
    net = Net(rng)
    for _ in range(20):
        net(Tensor(x))  # let the batch norms see the data
    return net, x, y


def qat_model(net, x, config=None, *, softmax=False):
    top = Sequential(net=net, softmax=Softmax()) if softmax else net
    source = trace(top, x.shape[1:])
    return QatModel(optimize(source), x, source=source, config=config)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sampled(["ranges", "PACT", "int4, LSQ", "int16x8, LSQ"], [*CONFIGS])
)
def test_the_deployed_model_answers_what_the_trained_one_did(problem, name, tmp_path):
    (net, x, y), config = problem, CONFIGS[name]
    model = qat_model(net, x, config)
    losses = train(model, x, y, 15)
    assert losses[-1] < 0.8 * losses[0]
    model.freeze()
    train(model, x, y, 3)
    save_tflite(model.deployed(), tmp_path / "net.tflite")
    graph = read_tflite(tmp_path / "net.tflite")
    assert {v.dtype for v in graph.values.values() if not v.is_constant} == {config.activations}
    with model.evaluating(), no_grad():
        expected = model(Tensor(x)).data
    np.testing.assert_allclose(Model(graph)(x), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scheme", [Scheme.INT8, Scheme.INT16X8])
def test_it_starts_as_the_post_training_quantiser_would_leave_it(problem, scheme):
    net, x, _ = problem
    graph = optimize(trace(net, x.shape[1:]))
    activations = DType.INT8 if scheme is Scheme.INT8 else DType.INT16
    deployed = QatModel(graph, x, config=QatConfig(activations=activations)).deployed()
    # A function that becomes a table with its neighbours is trained as its parts.
    config = QuantConfig(scheme=scheme, per_channel_dense=True, tables=False)
    expected = quantize_graph(graph, x, config)
    for name, value in expected.values.items():
        assert deployed.values[name].dtype is value.dtype
        assert deployed.values[name].q.zero_point == value.q.zero_point
        np.testing.assert_allclose(deployed.values[name].q.scales, value.q.scales, rtol=1e-6)


def test_a_great_bias_leaves_the_weights_alone_beside_int16():
    rng = np.random.default_rng(0)
    net = Linear(4, 3, rng=rng)
    net.bias.data[:] = 1e4
    x = rng.normal(size=(40, 4)).astype(np.float32)
    graph = optimize(trace(net, (4,)))
    deployed = QatModel(graph, x, config=QatConfig(activations=DType.INT16)).deployed()
    (node,) = deployed.bound()
    own = np.abs(net.weight.data).max(1) / 127
    np.testing.assert_allclose(node.input(1).q.scales, own, rtol=1e-6)
    wide = deployed.values["input"].q.scale
    assert (1e4 / (wide * 2**30) > own).all(), "an int32 bias would have raised them"


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"activations": DType.INT32}, "activations of INT32"),
        ({"activations": DType.INT16, "weight_bits": 4}, "int4 weights beside"),
        ({"activations": DType.INT16, "int4_layers": frozenset({"y"})}, "int4 weights beside"),
    ],
)
def test_activations_without_kernels_are_refused(choices, said):
    with pytest.raises(DataError, match=said):
        QatConfig(**choices)


def test_ops_without_a_form_for_int16_are_refused():
    builder = Builder((1, 4))
    graph = builder.graph(builder.op("exp", builder.inputs, NoAttrs()))
    samples = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    with pytest.raises(UnsupportedError, match="exp has no int16x8 form"):
        QatModel(graph, samples, config=QatConfig(activations=DType.INT16))


def test_a_final_softmax_is_deployed_but_trained_on_logits(problem):
    net, x, _ = problem
    model = qat_model(net, x, softmax=True)
    with model.evaluating(), no_grad():
        logits = model(Tensor(x)).data
    assert logits.min() < 0
    probabilities = Model(model.deployed())(x)
    assert probabilities.min() >= 0
    assert np.mean(probabilities.argmax(1) == logits.argmax(1)) > 0.95


def test_batch_norms_train_until_they_are_frozen(problem):
    net, x, y = problem
    model = qat_model(net, x)
    names = [k for k, _ in model.named_buffers() if k.endswith(("mean", "variance", "low", "high"))]
    assert sum(k.endswith("mean") for k in names) == 3
    before = model.state_dict()
    train(model, x, y, 2)
    moved = model.state_dict()
    model.freeze()
    train(model, x, y, 2)
    after = model.state_dict()
    assert any(np.any(before[k] != moved[k]) for k in names)
    assert all(np.array_equal(moved[k], after[k]) for k in names)
    assert np.any(moved["stem.0.gamma"] != after["stem.0.gamma"])


def test_without_the_source_the_fold_is_final(problem):
    net, x, y = problem
    model = QatModel(optimize(trace(net, x.shape[1:])), x)
    assert not any("gamma" in k for k in model.state_dict())
    losses = train(model, x, y, 10)
    assert losses[-1] < losses[0]


def test_equal_constants_of_two_layers_part_ways(problem):
    rng = np.random.default_rng(1)
    net = Sequential(Linear(4, 4, rng=rng), ReLU(), Linear(4, 4, rng=rng))
    x = rng.normal(size=(32, 4)).astype(np.float32)
    model = qat_model(net, x)  # both biases are zero, hence one constant
    train(model, x, rng.integers(0, 4, 32), 3)
    with model.evaluating(), no_grad():
        expected = model(Tensor(x)).data
    np.testing.assert_allclose(Model(model.deployed())(x), expected, rtol=0, atol=1e-6)


def test_gradient_passes_where_nothing_was_clipped():
    x = Tensor(np.array([-3.0, 0.26, 0.74, 200.0], np.float32), requires_grad=True)
    scale = Tensor(np.array([0.5], np.float32), requires_grad=True)
    integers = np.array([-3, 1, 1, 127], np.int8)
    y = apply(FAKE_QUANTIZE, Steps(integers, 0), x, scale)
    np.testing.assert_allclose(y.data, [-1.5, 0.5, 0.5, 63.5])
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 0]
    slope = (-1.5 + 3 + 0.5 - 0.26 + 0.5 - 0.74 + 63.5) / 0.5
    assert scale.grad == pytest.approx([slope / np.sqrt(4 * 128)], rel=1e-5)


def test_limits_learn_from_clipping_alone():
    x = Tensor(np.array([0.26, 200.0, -200.0], np.float32), requires_grad=True)
    scale = Tensor(np.array([0.5], np.float32), requires_grad=True)
    steps = Steps(np.array([1, 127, -128], np.int8), 0, learns_from_rounding=False)
    apply(FAKE_QUANTIZE, steps, x, scale).sum().backward()
    assert scale.grad == pytest.approx([(127 - 128) / np.sqrt(3 * 128)], rel=1e-5)


@pytest.mark.parametrize("rounding", [True, False])
def test_scales_of_activations_learn_from_what_is_asked(rounding):
    """Nothing is clipped; rounded, 0.26 and 0.6 are 0.5."""
    quantizer = LearnedQuantizer(QParams((0.5,), 0), learns_from_rounding=rounding)
    x = Tensor(np.array([0.26, 0.6], np.float32))
    quantizer.replace(x, quantizer.round(x)).sum().backward()
    slope = (0.24 - 0.1) / np.sqrt(2 * 128) if rounding else 0
    assert quantizer.log_scale.grad == pytest.approx([slope], rel=1e-4)


def test_scales_of_weights_learn_from_clipping_alone_if_asked_to():
    weights = Tensor(np.array([[0.26], [200.0]], np.float32))
    scales = Tensor(np.array([0.5], np.float32), requires_grad=True)
    q = QParams((0.5,), 0)
    y, _ = fake_quantize_weights(weights, q, scales, learns_from_rounding=False)
    y.sum().backward()
    assert scales.grad == pytest.approx([127 / np.sqrt(2 * 127)], rel=1e-5)


def test_every_channel_of_the_weights_learns_its_own_scale():
    rng = np.random.default_rng(0)
    weights = Tensor(rng.normal(size=(3, 2, 2, 4)).astype(np.float32))
    scales = Tensor(np.array([0.01, 0.1, 1.0], np.float32), requires_grad=True)
    q = QParams((0.01, 0.1, 1.0), 0, axis=0)
    y, steps = fake_quantize_weights(weights, q, scales)
    np.testing.assert_allclose(y.data, steps * scales.data.reshape(3, 1, 1, 1))
    y[1].sum().backward()
    rounded = (y.data[1] - weights.data[1]) / 0.1  # nothing of this channel is clipped
    assert np.abs(steps[1]).max() < 127
    expected = [0, rounded.sum() / np.sqrt(16 * 127), 0]
    assert scales.grad == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_ranges_follow_what_is_seen_after_the_step():
    quantizer = RangeQuantizer(Range(-1.0, 1.0), momentum=0.5)
    before = quantizer.q
    quantizer.observe(Tensor([-1.0, 3.0]))
    quantizer.observe(Tensor([2.0]))
    assert quantizer.q == before
    quantizer.settle()
    assert (quantizer.low.item(), quantizer.high.item()) == (-1.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["int4, LSQ"], [*CONFIGS]))
@pytest.mark.whole
def test_digits_as_int8(digits, name):
    config = CONFIGS[name]
    model = train_int8(digits, config=config)
    deployed = digits.recipe.score(Model(model.deployed()), digits.data)["top1"]
    # A sample is 0.0022; with four bits, a few of them lie on the border.
    allowed = 0.0125 if config.weight_bits == 4 else 0.003
    assert deployed >= digits.score()["top1"] - allowed
    trained = digits.recipe.score(answers_of(model), digits.data)["top1"]
    assert abs(deployed - trained) <= 0.002


@pytest.mark.slow
@pytest.mark.whole
def test_logits_of_the_digits_are_deployed_to_the_step(digits):
    model = train_int8(digits, training=Training(1, 1e-4))
    graph = model.deployed()
    name = graph.nodes[-1].inputs[0]  # before the softmax
    nodes = graph.nodes[:-1]
    logits = Model(replace(graph, nodes=nodes, outputs=(name,)))(digits.data.x_test)
    steps = np.abs(logits - answers_of(model)(digits.data.x_test)) / graph.value(name).q.scale
    assert np.mean(steps.max(axis=1) <= 1.001) >= 0.995


def as_deployed(model, x):
    """What the model answers in training, which is what its integers stand for."""
    with model.evaluating(), no_grad():
        answer = model(Tensor(x)).data
    np.testing.assert_allclose(Model(model.deployed())(x), answer, rtol=0, atol=1e-6)
    return answer


def test_a_prescribed_range_is_rescaled_where_it_is_joined_with_others():
    rng = np.random.default_rng(0)
    builder = Builder((1, 4))
    joined = (builder.op("tanh", ("x",)), "x")
    graph = builder.graph(builder.op("concatenation", joined, ConcatenationAttrs(1)))
    x = rng.normal(0, 3, size=(64, 4)).astype(np.float32)
    model = QatModel(graph, x)
    answer = as_deployed(model, x)
    step = model.quantizers["x"].q.scale
    assert np.abs(answer - np.hstack([np.tanh(x), x])).max() <= step


def test_what_is_infinite_in_float_is_what_integers_make_of_it():
    """Samples in training go below those of the calibration, down to 0."""
    builder = Builder((1, 4))
    graph = builder.graph(builder.op("rsqrt", ("x",)))
    calibration = np.random.default_rng(0).uniform(0.1, 1, (64, 4)).astype(np.float32)
    model = QatModel(graph, calibration)
    x = np.array([[0, 0.25, 0.5, 1]], np.float32)
    answer = as_deployed(model, x)
    largest = model.quantizers[graph.outputs[0]]
    assert answer[0, 0] == pytest.approx((127 - largest.q.zero_point) * largest.q.scale)
    assert answer[0, 1:] == pytest.approx(x[0, 1:] ** -0.5, abs=largest.q.scale)
    samples = Tensor(x, requires_grad=True)
    model(samples).sum().backward()
    np.testing.assert_allclose(samples.grad[0, 0], -0.5 * answer[0, 0] ** 3, rtol=1e-4)
