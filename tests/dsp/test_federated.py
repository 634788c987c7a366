"""Means of what devices have learnt: by fractions, and as a save that devices take."""

from fractions import Fraction

import numpy as np
import pytest

from tests.dsp.test_learner import drawn, orders
from tinyrt.dsp import Learner, LearnerState, federated_average
from tinyrt.dsp.learner import MAX_BIAS, MAX_WEIGHT
from tinyrt.errors import DataError


def learnt(learner, seed, count):
    state = LearnerState(learner)
    for row, label in zip(*orders(learner, count, seed), strict=True):
        state.learn(row, int(label))
    return state


def test_the_mean_is_weighted_by_samples_and_rounded():
    learner, counts = drawn(scale=0.1, rate=1.0), (7, 20, 0)
    states = [learnt(learner, seed, 5 + seed) for seed in range(3)]
    pairs = [(state.save(3), n) for state, n in zip(states, counts, strict=True)]
    mean = LearnerState(learner)
    assert mean.load(federated_average(learner, pairs, number=9)) == 9
    for name in ("weights", "biases"):
        arrays = [getattr(state, name).ravel().tolist() for state in states]
        for i, found in enumerate(getattr(mean, name).ravel().tolist()):
            exact = Fraction(7 * arrays[0][i] + 20 * arrays[1][i], 27)
            assert found == (exact + Fraction(1, 2)) // 1
    assert not np.array_equal(states[0].weights, states[1].weights)


def test_one_device_keeps_its_weights_and_nothing_overflows():
    learner = Learner(((MAX_WEIGHT, -MAX_WEIGHT),) * 2, (MAX_BIAS, -MAX_BIAS), 0, 0.5)
    state = LearnerState(learner)
    for count in (1, 2**31 - 1):
        other = LearnerState(learner)
        other.load(federated_average(learner, [(state.save(), count)]))
        np.testing.assert_array_equal(other.weights, state.weights)
        np.testing.assert_array_equal(other.biases, state.biases)


def test_halves_are_rounded_up():
    learner = Learner(((0, 1), (-1, -2)), (0, 3), 0, 0.1)
    one, other = LearnerState(learner), LearnerState(learner)
    other.weights, other.biases = other.weights + 1, other.biases - 1
    mean = LearnerState(learner)
    mean.load(federated_average(learner, [(one.save(), 1), (other.save(), 1)]))
    assert (mean.weights.tolist(), mean.biases.tolist()) == ([[1, 2], [0, -1]], [0, 3])


def test_what_has_no_mean():
    learner = drawn()
    saved = LearnerState(learner).save()
    less = (saved, -1), (saved, 3)
    for pairs in ([], [(saved, 0)], [(saved, 2**31 - 1), (saved, 1)], less, less[::-1]):
        with pytest.raises(DataError, match="the option samples"):
            federated_average(learner, pairs)
    with pytest.raises(DataError, match="another layer"):
        federated_average(learner, [(LearnerState(drawn(1)).save(), 1)])


def test_devices_learn_from_each_other():
    """Each has samples of two classes alone; the mean knows all four."""
    pytest.importorskip("dask", reason="package dask is not installed")
    from dask import compute, delayed

    learner = drawn(6, classes=4, features=20, scale=0.02, rate=0.05)
    x, labels = orders(learner, 400, 2)
    shares = [np.flatnonzero(np.isin(labels[:300], pair)) for pair in ((0, 1), (2, 3), (1, 2))]

    def one_round(saved, own):
        state = LearnerState(learner)
        state.load(saved)
        for i in own:
            state.learn(x[i], int(labels[i]))
        return state.save(), len(own)

    def right(saved):
        state = LearnerState(learner)
        state.load(saved)
        pairs = zip(x[300:], labels[300:], strict=True)
        return np.mean([state.scores(row).argmax() == k for row, k in pairs])

    saved = LearnerState(learner).save()
    before = right(saved)
    for number in range(1, 4):
        tasks = [delayed(one_round)(saved, own) for own in shares]
        saved = federated_average(learner, compute(*tasks, scheduler="synchronous"), number=number)
    alone = right(one_round(LearnerState(learner).save(), shares[0])[0])
    assert before < 0.6
    assert alone < 0.7
    assert right(saved) > 0.9
