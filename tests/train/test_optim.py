"""Optimisers against their formulas, and on problems small enough to watch."""

import numpy as np
import pytest

from tinyrt.train import SGD, Adam, Tensor, cosine_lr, cross_entropy
from tinyrt.train.nn import Linear, ReLU, Sequential


def moved(make, gradients, start=1.0):
    """Where one parameter gets to under these gradients."""
    parameter = Tensor([start], requires_grad=True)
    optimizer = make([parameter])
    for gradient in gradients:
        parameter.grad = np.array([gradient], np.float32)
        optimizer.step()
    return parameter.data[0]


def test_sgd_follows_its_formula():
    assert moved(lambda p: SGD(p, 0.1), [2.0, 3.0]) == pytest.approx(1 - 0.2 - 0.3)
    assert moved(lambda p: SGD(p, 0.1, momentum=0.5), [2.0, 3.0]) == pytest.approx(1 - 0.2 - 0.4)
    decayed = moved(lambda p: SGD(p, 0.1, weight_decay=0.5), [2.0])
    assert decayed == pytest.approx(1 - 0.1 * (2 + 0.5))


def test_adam_follows_its_formula():
    gradients, lr, b1, b2, eps = [2.0, -1.0, 0.5], 0.1, 0.8, 0.9, 1e-3
    w, m, v = 1.0, 0.0, 0.0
    for t, g in enumerate(gradients, start=1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        w -= lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    assert moved(lambda p: Adam(p, lr, betas=(b1, b2), eps=eps), gradients) == pytest.approx(w)


def test_parameters_without_a_gradient_stay():
    used, unused = (Tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = Adam([used, unused], 0.1)
    (used * 2).sum().backward()
    optimizer.step()
    assert unused.data.tolist() == [1.0]
    optimizer.zero_grad()
    assert used.grad is None


@pytest.mark.parametrize("make", [lambda p: SGD(p, 0.1, momentum=0.9), lambda p: Adam(p, 0.05)])
def test_a_small_network_learns_xor(make):
    rng = np.random.default_rng(0)
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    net = Sequential(Linear(2, 8, rng=rng), ReLU(), Linear(8, 2, rng=rng))
    optimizer = make(net.parameters())
    for _ in range(150):
        loss = cross_entropy(net(Tensor(x)), [0, 1, 1, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.02


def test_cosine_rises_then_falls_to_zero():
    rates = [cosine_lr(i, 110, 0.4, warmup=10) for i in range(111)]
    assert rates[0] == pytest.approx(0.04)
    assert rates[9] == rates[10] == pytest.approx(0.4)
    assert rates[60] == pytest.approx(0.2)
    assert rates[110] == pytest.approx(0.0)
    assert rates[10:] == sorted(rates[10:], reverse=True)
