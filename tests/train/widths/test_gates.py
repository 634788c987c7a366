"""The chances of int8 keep the bytes, and the loss moves them only by trading bytes."""

import numpy as np
import pytest

from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.widths.gates import CHANCES, Gates, Room

BYTES = np.array([400.0, 96.0, 1024.0, 224.0])


def chances(log_worth, left, temperature=1.0):
    return apply(CHANCES, Room(BYTES, left, temperature), Tensor(log_worth)).data


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_the_bytes_expected_are_those_that_are_left(temperature):
    rng = np.random.default_rng(1)
    for left in (100.0, 500.0, 1740.0):
        log_worth = rng.normal(size=4) + 4
        p = chances(log_worth, left, temperature)
        assert p @ BYTES == pytest.approx(left, rel=1e-9)
        prices = log_worth - temperature * np.log(p / (1 - p))
        assert prices == pytest.approx(prices[0], rel=1e-5), "each byte has the same price"


@pytest.mark.parametrize("worth", [-30.0, -1.5, 0.0, 30.0])
@pytest.mark.parametrize("left", [1.0, 872.0, 1743.0])
@pytest.mark.parametrize("temperature", [1.0, 0.3, 4.0])
def test_the_price_is_found_however_high_or_low(worth, left, temperature):
    """Where all layers are worth the same, all chances are the same."""
    p = left / BYTES.sum()
    room = Room(BYTES, left, temperature)
    price = worth - temperature * np.log(p / (1 - p))
    assert room.log_price(np.full(4, worth)) == pytest.approx(price, abs=1e-9)
    np.testing.assert_allclose(room.chances(np.full(4, worth), price), p, rtol=1e-9)


@pytest.mark.parametrize("left", [300.0, 900.0, 1500.0])
def test_the_gradient_is_that_of_finite_differences(left):
    rng = np.random.default_rng(2)
    log_worth, weights = rng.normal(size=4), rng.normal(size=4)
    x = Tensor(log_worth, requires_grad=True)
    (apply(CHANCES, Room(BYTES, left, 0.7), x) * Tensor(weights)).sum().backward()
    steps = 1e-5 * np.eye(4)
    ends = [[chances(log_worth + s * d, left, 0.7) @ weights for d in steps] for s in (1, -1)]
    np.testing.assert_allclose(x.grad, (np.array(ends[0]) - ends[1]) / 2e-5, rtol=1e-5, atol=1e-9)
    assert np.abs(x.grad).max() > 0.05


def test_chances_that_are_1_in_float32_have_no_gradient():
    x = Tensor(np.zeros(1, np.float32), requires_grad=True)
    p = apply(CHANCES, Room(np.array([1e9]), 1e9 - 1), x)
    p.sum().backward()
    assert (p.data.tolist(), x.grad.tolist()) == ([1], [0])


def test_gates_start_from_what_a_byte_is_worth_and_cool():
    worth = [4.0, 0.5, 2.0, 1e-9]
    gates = Gates([400, 96, 1024, 224], 436, worth)
    p = gates().data
    odds = p / (1 - p)
    a_byte = np.maximum(worth, 4e-4) / BYTES
    np.testing.assert_allclose(odds / odds[0], a_byte / a_byte[0], rtol=1e-4)
    ratios = np.array(gates.worth) / gates.worth[0]
    np.testing.assert_allclose(ratios, [1, 0.125, 0.5, 1e-4], rtol=1e-5)
    cold = gates.at(0.02)().data
    assert ((cold < 0.01) | (cold > 0.99)).sum() >= 3
    assert cold @ BYTES == pytest.approx(436, rel=1e-4)
    np.testing.assert_array_equal(gates.at(1.0)().data, p)
    even = Gates([100, 300], 200, [0.0, 0.0])
    np.testing.assert_allclose(np.array(even.worth) / even.worth[0], [1, 1], rtol=1e-6)


def test_layers_that_help_more_for_their_bytes_win():
    gates = Gates([100, 100, 400], 200, [1.0, 1.0, 4.0])
    help_of = Tensor(np.array([0.5, 1.0, 0.6], np.float32))
    for _ in range(60):
        gates.zero_grad()
        (gates() * help_of * -1).sum().backward()
        gates.log_worth.data = gates.log_worth.data - 20 * gates.log_worth.grad
    assert gates().data[:2].min() > 0.9
    assert gates().data[2] < 0.05
    assert gates.worth[1] > gates.worth[0] > gates.worth[2]
