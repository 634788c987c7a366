"""Layers and losses that exist in training only, or that are built from others."""

import math

import numpy as np
import pytest

from tests.train.build import in_float64, leaf
from tinyrt.errors import ShapeError
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.train import Adam, Tensor, cross_entropy, gradcheck, gradgradcheck, trace
from tinyrt.train.bidirectional import Bidirectional
from tinyrt.train.losses import bce_loss, huber_loss, kl_loss, mae_loss, mse_loss
from tinyrt.train.nn import (
    GELU,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    GroupNorm,
    HardSwish,
    LayerNorm,
    LeakyReLU,
    MaxPool2d,
    PReLU,
    Residual,
    Sequential,
    Sigmoid,
    SiLU,
    Tanh,
)
from tinyrt.train.sequence import GRU, LSTM, Conv1d, Embedding, MultiHeadAttention

SEQUENCE = (2, 4, 3)

LAYERS = {
    "layer norm": (lambda r: LayerNorm(3), SEQUENCE, SEQUENCE),
    "transposed convolution": (
        lambda r: ConvTranspose2d(3, 2, 3, stride=2, rng=r),
        (2, 3, 4, 3),
        (2, 6, 8, 2),
    ),
    "group norm": (lambda r: GroupNorm(2, 4), (2, 3, 2, 4), (2, 3, 2, 4)),
    "group norm of a series": (lambda r: GroupNorm(1, 3), SEQUENCE, SEQUENCE),
    "silu": (lambda r: SiLU(), SEQUENCE, SEQUENCE),
    "gelu": (lambda r: GELU(), SEQUENCE, SEQUENCE),
    "gelu by tanh": (lambda r: GELU(approximate=True), SEQUENCE, SEQUENCE),
    "prelu": (lambda r: PReLU(3), SEQUENCE, SEQUENCE),
    "conv1d": (lambda r: Conv1d(3, 2, 3, stride=2, rng=r), SEQUENCE, (2, 2, 2)),
    "lstm": (lambda r: LSTM(3, 2, rng=r), SEQUENCE, (2, 4, 2)),
    "gru": (lambda r: GRU(3, 2, rng=r), SEQUENCE, (2, 4, 2)),
    "both ways": (
        lambda r: Bidirectional(LSTM(3, 2, rng=r, whole=True), GRU(3, 1, rng=r)),
        SEQUENCE,
        (2, 4, 3),
    ),
    "attention": (lambda r: MultiHeadAttention(4, 2, rng=r), (2, 3, 4), (2, 3, 4)),
}

LOSSES = {
    "mse": lambda x: mse_loss(x, TARGET),
    "mae": lambda x: mae_loss(x, TARGET),
    "huber": lambda x: huber_loss(x, TARGET, delta=0.7),
    "bce": lambda x: bce_loss(x, TARGET),
    "kl": lambda x: kl_loss(x, TARGET),
    "weighted cross entropy": lambda x: cross_entropy(x, [0, 2, 1, 1], weights=[1, 2, 0.5]),
}

TARGET = np.array([[0.2, 0.3, 0.5], [0, 0.5, 0.5], [1, 0, 0], [0.1, 0.8, 0.1]])


@pytest.mark.parametrize(("make", "shape", "out"), LAYERS.values(), ids=LAYERS)
def test_derivatives_of_layers(make, shape, out):
    rng = np.random.default_rng(0)
    layer = in_float64(make(rng))
    x = leaf(rng, *shape)
    assert layer(x).shape == out
    inputs = [x, *layer.parameters()]
    gradcheck(lambda *_: layer(x), inputs)
    gradgradcheck(lambda *_: layer(x), inputs)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_derivatives_of_losses(loss):
    x = leaf(np.random.default_rng(1), 4, 3)
    gradcheck(loss, [x])
    gradgradcheck(loss, [x])


def test_losses_follow_their_formulas():
    x = np.array([[0.5, -1.0, 3.0]])
    target = np.array([[0.0, 0.0, 1.0]])
    logits = Tensor(x)
    assert mse_loss(logits, target).item() == pytest.approx((0.25 + 1 + 4) / 3)
    assert mae_loss(logits, target).item() == pytest.approx((0.5 + 1 + 2) / 3)
    assert huber_loss(logits, target).item() == pytest.approx((0.125 + 0.5 + 1.5) / 3)
    sigmoid = 1 / (1 + np.exp(-x))
    expected = -(target * np.log(sigmoid) + (1 - target) * np.log(1 - sigmoid)).mean()
    assert bce_loss(logits, target).item() == pytest.approx(expected)
    softmax = np.exp(x) / np.exp(x).sum()
    assert kl_loss(logits, target).item() == pytest.approx(-np.log(softmax[0, 2]))
    assert kl_loss(logits, softmax).item() == pytest.approx(0, abs=1e-12)
    with pytest.raises(ShapeError, match=r"\(3,\)[\s\S]*\(1, 3\)"):
        mse_loss(logits, target[0])


def test_class_weights_count_samples_as_often():
    x = np.random.default_rng(2).normal(size=(3, 2))
    doubled = np.concatenate([x, x[2:]])
    weighted = cross_entropy(Tensor(x), [0, 0, 1], weights=[1, 2]).item()
    assert weighted == pytest.approx(cross_entropy(Tensor(doubled), [0, 0, 1, 1]).item())


def test_transposed_convolution_is_the_adjoint():
    rng = np.random.default_rng(3)
    up = in_float64(ConvTranspose2d(3, 2, 3, stride=(2, 1), bias=False, rng=rng))
    down = in_float64(Conv2d(2, 3, 3, stride=(2, 1), bias=False, rng=rng))
    down.weight.data = up.weight.data.transpose(3, 1, 2, 0)
    x, y = rng.normal(size=(1, 4, 5, 3)), rng.normal(size=(1, 8, 5, 2))
    inner = float((up(Tensor(x)).data * y).sum())
    assert inner == pytest.approx(float((x * down(Tensor(y)).data).sum()))


def test_residual_and_activations_are_deployable():
    rng = np.random.default_rng(5)
    net = Sequential(
        Conv2d(2, 4, 3, rng=rng),
        HardSwish(),
        Residual(Sequential(Conv2d(4, 4, 3, stride=2, rng=rng), Tanh()), MaxPool2d(2)),
        Residual(Sequential(LeakyReLU(0.1), Sigmoid())),
        ConvTranspose2d(4, 2, 2, stride=2, rng=rng),
    )
    graph = trace(net, (8, 8, 2))
    ops = [n.op for n in graph.nodes]
    assert ops == [
        *("conv2d", "hard_swish", "conv2d", "tanh", "max_pool2d", "add"),
        *("leaky_relu", "logistic", "add", "transpose_conv"),
    ]
    x = rng.normal(size=(1, 8, 8, 2)).astype(np.float32)
    (expected,) = evaluate(graph, {"input": x}).values()
    np.testing.assert_allclose(net(Tensor(x)).data, expected, rtol=1e-6, atol=1e-6)


def test_dropout_keeps_the_mean_and_stops_when_deployed():
    layer = Dropout(0.25, rng=np.random.default_rng(4))
    x = Tensor(np.ones((100, 100), np.float32))
    y = layer(x).data
    assert np.mean(y == 0) == pytest.approx(0.25, abs=0.02)
    assert y.mean() == pytest.approx(1, abs=0.03)
    layer.train(False)
    assert layer(x) is x


def test_embedding_looks_up_and_adds_up_gradients():
    layer = Embedding(4, 2, rng=np.random.default_rng(5))
    y = layer(Tensor([[1, 3], [1, 1]]))
    np.testing.assert_array_equal(y.data[0, 1], layer.weight.data[3])
    y.sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [0, 3, 0, 1]
    with pytest.raises(ShapeError, match="0 to 3"):
        layer(Tensor([4]))


@pytest.mark.parametrize("make", [LSTM, GRU])
def test_recurrent_layers_remember(make):
    """The first element must be told apart at the end of the sequence."""
    rng = np.random.default_rng(6)
    layer = make(1, 8, rng=rng)
    y = rng.integers(0, 2, 32)
    x = rng.normal(size=(32, 6, 1)).astype(np.float32) * 0.1
    x[:, 0, 0] += 2 * y - 1
    optimizer = Adam(layer.parameters(), 3e-2)
    for _ in range(40):
        loss = cross_entropy(layer(Tensor(x))[:, -1, :2], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.35


def test_group_norms_follow_their_definition():
    rng = np.random.default_rng(3)
    norm = GroupNorm(2, 4, epsilon=0.5)
    norm.gamma.data, norm.beta.data = (rng.normal(size=4).astype(np.float32) for _ in range(2))
    x = rng.normal(1, 2, (3, 5, 4)).astype(np.float32)
    expected = np.empty_like(x)
    for part in (slice(0, 2), slice(2, 4)):
        centred = x[..., part] - x[..., part].mean((1, 2), keepdims=True)
        expected[..., part] = centred / np.sqrt(centred.var((1, 2), keepdims=True) + 0.5)
    expected = expected * norm.gamma.data + norm.beta.data
    np.testing.assert_allclose(norm(Tensor(x)).data, expected, rtol=1e-4, atol=1e-5)
    rows = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.5)
    found = LayerNorm(4, epsilon=0.5)(Tensor(x)).data
    np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError, match="3 groups do not divide 4 channels"):
        GroupNorm(3, 4)
    with pytest.raises(ShapeError, match=r"GroupNorm gets shape \(2, 8\)"):
        norm(Tensor(np.ones((2, 8))))


def test_activations_follow_their_definitions():
    x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(4, 3)
    t = Tensor(x)
    np.testing.assert_allclose(SiLU()(t).data, x / (1 + np.exp(-x)), rtol=1e-5)
    share = [0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.reshape(-1)]
    np.testing.assert_allclose(GELU()(t).data.reshape(-1), x.reshape(-1) * share, rtol=1e-4)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    by_tanh = GELU(approximate=True)(t).data
    np.testing.assert_allclose(by_tanh, 0.5 * x * (1 + np.tanh(inner)), rtol=1e-4, atol=1e-6)
    layer = PReLU(3)
    layer.slope.data = np.array([0.25, -1, 2], np.float32)
    np.testing.assert_allclose(layer(t).data, np.where(x > 0, x, x * layer.slope.data), rtol=1e-6)
    assert PReLU(3).slope.data.tolist() == [0.25] * 3
    assert PReLU(2, slope=0.5).slope.data.tolist() == [0.5] * 2
    for layer in (PReLU(1), PReLU(4)):
        with pytest.raises(ShapeError, match=r"PReLU gets shape \(4, 3\)[^$]*\(\.\.\., [14]\)"):
            layer(t)


def test_the_second_layer_reads_from_the_end():
    rng = np.random.default_rng(0)
    layer = Bidirectional(LSTM(3, 2, rng=rng), GRU(3, 4, rng=rng))
    x = rng.normal(size=SEQUENCE).astype(np.float32)
    y = layer(Tensor(x)).data
    np.testing.assert_array_equal(y[..., :2], layer.ahead(Tensor(x)).data)
    turned = layer.back(Tensor(np.ascontiguousarray(x[:, ::-1]))).data
    np.testing.assert_allclose(y[..., 2:], turned[:, ::-1], rtol=1e-6)
