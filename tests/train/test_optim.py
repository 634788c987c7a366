"""Optimisers against their formulas, and on problems small enough to watch."""

import numpy as np
import pytest

from tinyrt.errors import DataError
from tinyrt.train import SGD, Adam, Tensor, cosine_lr, cross_entropy
from tinyrt.train.nn import Linear, ReLU, Sequential
from tinyrt.train.optim import (
    AdamW,
    Group,
    Lion,
    RMSProp,
    clip_gradients,
)
from tinyrt.train.schedules import one_cycle_lr, step_lr


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


def test_nesterov_looks_ahead():
    found = moved(lambda p: SGD(p, 0.1, momentum=0.5, nesterov=True), [2.0, 3.0])
    assert found == pytest.approx(1 - 0.1 * (2 + 0.5 * 2) - 0.1 * (3 + 0.5 * 4))


def test_decoupled_decay_leaves_the_moments_alone():
    plain = moved(lambda p: Adam(p, 0.1), [2.0])
    assert moved(lambda p: AdamW(p, 0.1, weight_decay=0.5), [2.0]) == pytest.approx(plain - 0.05)


def test_rmsprop_divides_by_the_root_of_the_mean_square():
    v = 0.1 * 4.0
    first, second = 2 / np.sqrt(v), -1 / np.sqrt(0.9 * v + 0.1)
    found = moved(lambda p: RMSProp(p, 0.1, decay=0.9), [2.0, -1.0])
    assert found == pytest.approx(1 - 0.1 * first - 0.1 * second)
    found, w, v = moved(lambda p: RMSProp(p, 0.1, weight_decay=0.5), [2.0, -1.0]), 1.0, 0.0
    for g in (2.0, -1.0):
        g += 0.5 * w
        v = 0.99 * v + 0.01 * g * g
        w -= 0.1 * g / np.sqrt(v)
    assert found == pytest.approx(w)


def test_lion_steps_by_the_sign():
    # The momentum is 0.01 * 2 after the first step: 0.9 of it against 0.1 of the second gradient.
    assert moved(lambda p: Lion(p, 0.1), [2.0, -0.2]) == pytest.approx(1 - 0.1 + 0.1)
    assert moved(lambda p: Lion(p, 0.1), [2.0, -0.1]) == pytest.approx(1 - 0.1 - 0.1)
    assert Lion([Tensor([1.0], requires_grad=True)]).lr == 1e-4
    assert moved(lambda p: Lion(p, 0.1, weight_decay=1.0), [2.0]) == pytest.approx(1 - 0.2)


def test_groups_have_rates_and_decays_of_their_own():
    slow, bias = (Tensor([1.0], requires_grad=True) for _ in range(2))
    groups = [Group([slow], lr_scale=0.1), Group([bias], weight_decay=0.0)]
    optimizer = SGD(groups, 0.1, weight_decay=0.5)
    for p in (slow, bias):
        p.grad = np.array([1.0], np.float32)
    optimizer.step()
    assert slow.data == pytest.approx([1 - 0.01 * 1.5])
    assert bias.data == pytest.approx([0.9])


def test_state_moves_to_another_optimiser():
    def make(start):
        p = Tensor(np.array([start], np.float32), requires_grad=True)
        return p, Adam([p], 0.1)

    (a, first), (b, second) = make(1.0), make(1.0)
    for p, optimizer in ((a, first), (a, first)):
        p.grad = np.array([2.0], np.float32)
        optimizer.step()
    second.load_state_dict(first.state_dict())
    b.data = a.data.copy()
    for p, optimizer in ((a, first), (b, second)):
        p.grad = np.array([-1.0], np.float32)
        optimizer.step()
    assert a.data == b.data
    with pytest.raises(DataError, match=r"0\.m"):
        Adam([Tensor(np.zeros(3), requires_grad=True)]).load_state_dict(first.state_dict())


def test_clipping_scales_all_gradients_alike():
    a, b = (Tensor([0.0], requires_grad=True) for _ in range(2))
    a.grad, b.grad = np.array([3.0]), np.array([4.0])
    unreached = Tensor([0.0], requires_grad=True)
    assert clip_gradients([a, unreached, b], 1.0) == pytest.approx(5.0)
    assert (a.grad[0], b.grad[0]) == pytest.approx((0.6, 0.8))
    assert clip_gradients([a, b], 2.0) == pytest.approx(1.0)
    assert a.grad[0] == pytest.approx(0.6)


def test_schedules():
    assert [step_lr(s, 2.0, 2) for s in range(5)] == pytest.approx([2, 2, 0.2, 0.2, 0.02])
    assert [step_lr(s, 2.0, 1, factor=0.5) for s in range(3)] == pytest.approx([2, 1, 0.5])
    rates = [one_cycle_lr(s, 100, 1.0) for s in range(100)]
    assert rates[0] == pytest.approx(1 / 25)
    assert max(rates) == rates[30] == pytest.approx(1.0)
    assert rates[-1] == pytest.approx(1 / 625)
    assert np.all(np.diff(rates[:31]) > 0)
    assert np.all(np.diff(rates[30:]) < 0)
    rates = [one_cycle_lr(s, 21, 2.0, rise=10 / 21, low=4.0) for s in range(21)]
    assert (rates[0], rates[10], rates[20]) == pytest.approx((0.5, 2.0, 0.125))
    assert [one_cycle_lr(s, 2, 1.0) for s in range(2)] == pytest.approx([1 / 25, 1.0])


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
    assert cosine_lr(0, 10, 0.4) == pytest.approx(0.4)
    assert cosine_lr(5, 5, 0.4, warmup=5) == pytest.approx(0.4)


def one():
    return [Tensor([1.0], requires_grad=True)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: SGD(p, -0.1), r"lr is -0\.1\n[^$]*0 or more, finite"),
        (lambda p: Adam(p, float("nan")), "lr is nan"),
        (lambda p: Adam([Group(p, lr_scale=-1.0)], 0.1), r"lr_scale is -1\.0"),
        (lambda p: Adam([Group(p, weight_decay=-0.5)], 0.1), r"weight_decay is -0\.5"),
        (lambda p: Adam(p, float("inf")), "lr is inf"),
        (lambda p: SGD(p, 0.1, weight_decay=-1e-9), "weight_decay is -1e-09"),
        (lambda p: SGD(p, 0.1, momentum=1.0), r"momentum is 1\.0\n[^$]*0 or more, below 1"),
        (lambda p: SGD(p, 0.1, nesterov=True), "Nesterov's correction needs momentum"),
        (lambda p: Adam(p, betas=(1.0, 0.5)), r"betas\[0\] is 1\.0"),
        (lambda p: Adam(p, betas=(0.5, -0.5)), r"betas\[1\] is -0\.5"),
        (lambda p: Adam(p, eps=-1.0), r"eps is -1\.0"),
        (lambda p: RMSProp(p, decay=1.0), r"decay is 1\.0"),
        (lambda p: RMSProp(p, eps=-1.0), r"eps is -1\.0"),
        (lambda p: Lion(p, betas=(1.0, 0.5)), r"betas\[0\] is 1\.0"),
        (lambda p: Lion(p, betas=(0.5, 1.5)), r"betas\[1\] is 1\.5"),
        (lambda p: Adam([]), "there is nothing to train"),
        (lambda p: Adam([Group([])]), "there is nothing to train"),
        (lambda p: Adam([*p, *p]), "given twice"),
        (lambda p: Adam([Group(p), Group(p, 0.1)]), "given twice"),
    ],
)
def test_settings_out_of_range_are_refused(make, says):
    with pytest.raises(DataError, match=says):
        make(one())


@pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf")])
def test_a_rate_that_goes_out_of_range_later_is_refused_before_the_step(rate):
    parameter = Tensor([1.0], requires_grad=True)
    optimizer = SGD([parameter], 0.1)
    parameter.grad = np.ones(1, np.float32)
    optimizer.lr = rate
    with pytest.raises(DataError, match=f"lr is {rate}"):
        optimizer.step()
    assert (parameter.data[0], optimizer.steps) == (1, 0)
    optimizer.lr = 0.0
    optimizer.step()
    assert (parameter.data[0], optimizer.steps) == (1, 1)


def test_the_bounds_themselves_are_taken():
    for optimizer in (SGD(one(), 0.0, momentum=0.0), Adam(one(), betas=(0.0, 0.0), eps=0.0)):
        assert optimizer.parameters


def test_settings_are_what_was_chosen():
    optimizer = SGD([Group(one(), 0.5), Group(one(), weight_decay=0.0)], 0.1, momentum=0.9)
    optimizer.steps, optimizer.lr = 7, 0.3
    assert optimizer.settings() == {
        "optimiser": "SGD",
        "weight_decay": 0.0,
        "momentum": 0.9,
        "nesterov": False,
        "groups": [[0.5, None], [1.0, 0.0]],
    }


def test_a_state_that_was_loaded_or_given_is_nobody_elses():
    parameter = Tensor(np.array([1.0], np.float32), requires_grad=True)
    optimizer = Adam([parameter], 0.1)
    saved = {"steps": np.asarray(1), "lr": np.asarray(0.1), "0.m": np.full(1, 2.0, np.float32)}
    saved["0.v"] = saved["0.m"].copy()
    optimizer.load_state_dict(saved)
    given = optimizer.state_dict()
    parameter.grad = np.array([-1.0], np.float32)
    optimizer.step()
    assert given["0.m"] == given["0.v"] == 2
    assert saved["0.m"] == saved["0.v"] == 2


def test_clipping_takes_gradients_whose_squares_no_float32_holds():
    a = Tensor([0.0], requires_grad=True)
    a.grad = np.array([3e20], np.float32)
    assert clip_gradients([a], 1.0) == pytest.approx(3e20)
    assert a.grad == pytest.approx(1.0)


def test_clipping_leaves_an_array_that_two_parameters_share_to_others():
    a, b = (Tensor([0.0], requires_grad=True) for _ in range(2))
    a.grad = b.grad = shared = np.array([3.0])
    clip_gradients([a, b], 1.0)
    assert (a.grad[0], b.grad[0]) == pytest.approx((0.5**0.5, 0.5**0.5))
    assert shared == 3
