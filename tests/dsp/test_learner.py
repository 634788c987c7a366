"""A layer that goes on learning: by its definition, and saved."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tinyrt.dsp import Learner, LearnerState
from tinyrt.dsp.learner import MAX_BIAS, MAX_WEIGHT
from tinyrt.errors import DataError


def drawn(seed=0, classes=4, features=9, **options):
    rng = np.random.default_rng(seed)
    options = {"scale": 0.02, "zero_point": -5, "bits": 16} | options
    weights = rng.normal(0, 1, (classes, features))
    return Learner.from_layer(weights, rng.normal(0, 0.5, classes), **options)


def orders(learner, count, seed=1):
    """Features (count, features), and labels that go with them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, learner.classes, count)
    centres = rng.integers(-100, 100, (learner.classes, learner.features))
    x = (centres[labels] + rng.normal(0, 30, (count, learner.features))).clip(-128, 127)
    x[rng.random(x.shape) < 0.02] = -128
    return x.astype(np.int8), labels


LEARNERS = {
    "plain": drawn(),
    "fast": drawn(1, rate=2.0, scale=0.1, max_step=0.01, max_drift=0.1),
    "fine": drawn(2, classes=2, features=1, bits=20, rate=0.5),
    "coarse": drawn(3, classes=12, features=33, bits=8, rate=5.0, scale=0.3, zero_point=127),
    "most bits": drawn(5, bits=24, rate=0.1, scale=0.01),
    "held": Learner(((MAX_WEIGHT, -MAX_WEIGHT),) * 2, (MAX_BIAS, -MAX_BIAS), -128, 0.5, rate=10.0),
}


def real_softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def test_scores_are_the_softmax_of_the_layer():
    learner = LEARNERS["plain"]
    state = LearnerState(learner)
    weights, biases = learner.start
    for x in orders(learner, 200)[0]:
        z = (weights @ (x.astype(float) + 5) + biases) / 2**16
        found = state.scores(x)
        assert found.dtype == np.int32
        np.testing.assert_allclose(found / 2**15, real_softmax(z), atol=2e-4)
        assert 2**15 - learner.classes <= found.sum() <= 2**15


def test_a_step_goes_down_the_gradient_of_the_cross_entropy():
    learner = drawn(rate=0.02, scale=0.02, max_step=100, max_drift=100)
    state = LearnerState(learner)
    x, labels = orders(learner, 40)
    weights, biases = (a / 2**16 for a in learner.start)
    weights = weights / 0.02
    for features, label in zip(x, labels, strict=True):
        real = (features.astype(float) + 5) * 0.02
        error = real_softmax(weights @ real + biases) - np.eye(4)[label]
        weights = weights - 0.02 * np.outer(error, real)
        biases = biases - 0.02 * error
        state.learn(features, int(label))
    np.testing.assert_allclose(state.weights / 2**16 / 0.02, weights, atol=0.005)
    np.testing.assert_allclose(state.biases / 2**16, biases, atol=0.001)


def test_it_learns():
    learner = drawn(4, classes=5, features=20, scale=0.02, rate=0.1)
    x, labels = orders(learner, 300)
    state = LearnerState(learner)

    def right():
        return np.mean(
            [state.scores(f).argmax() == k for f, k in zip(x[200:], labels[200:], strict=True)]
        )

    before = right()
    for features, label in zip(x[:200], labels[:200], strict=True):
        state.learn(features, int(label))
    assert before < 0.5
    assert right() >= 0.95
    state.reset()
    assert right() == before


@pytest.mark.parametrize("name", LEARNERS)
def test_steps_and_drifts_are_held(name):
    learner = LEARNERS[name]
    state = LearnerState(learner)
    step, drift, bias_step, bias_drift = learner.limits
    weights, biases = learner.start
    most = 0
    for features, label in zip(*orders(learner, 60), strict=True):
        was = state.weights.astype(np.int64), state.biases.astype(np.int64)
        state.learn(features, int(label))
        most = max(most, np.abs(state.weights - was[0]).max())
        assert np.abs(state.biases - was[1]).max() <= bias_step
        assert np.abs(state.weights).max() <= MAX_WEIGHT
        assert np.abs(state.biases).max() <= MAX_BIAS
        assert np.abs(state.weights - weights.astype(np.int64)).max() <= drift
        assert np.abs(state.biases - biases.astype(np.int64)).max() <= bias_drift
    assert 0 < most <= step
    if name == "fast":
        assert most == step
        assert np.abs(state.weights - weights.astype(np.int64)).max() == drift


def test_limits_are_in_real_units():
    learner = drawn(scale=0.25, bits=10, max_step=0.5, max_drift=2.0)
    assert learner.limits == (128, 512, 512, 2048)
    assert replace(learner, max_step=1e-6).limits[0] == 1
    assert drawn(bits=24, max_drift=1e3).limits[1::2] == (int(0.02 * 1e3 * 2**24), MAX_BIAS)


def test_without_a_number_there_are_as_many_bits_as_leave_room():
    weights = np.array([[3.0, -1], [0, 2]])
    learner = Learner.from_layer(weights, [0.5, -2], scale=0.1, zero_point=0)
    room = MAX_WEIGHT / np.abs(learner.start[0]).max()
    assert 4 <= room < 8
    biased = Learner.from_layer(weights, [500, -2], scale=0.1, zero_point=0)
    assert 4 <= MAX_BIAS / biased.start[1].max() < 8
    assert Learner.from_layer(weights * 1e-9, [0, 0], scale=0.1, zero_point=0).bits == 24
    assert Learner.from_layer(weights * 2e4, [0, 0], scale=0.1, zero_point=0, rate=9.0).bits == 8


def test_what_is_saved_is_taken_by_the_same_layer_alone():
    learner = LEARNERS["plain"]
    state, other = LearnerState(learner), LearnerState(learner)
    for features, label in zip(*orders(learner, 20), strict=True):
        state.learn(features, int(label))
    saved = state.save(41)
    assert len(saved) == 4 * (4 + 4 * 10)
    assert other.load(saved) == 41
    np.testing.assert_array_equal(other.weights, state.weights)
    np.testing.assert_array_equal(other.biases, state.biases)
    for damaged in (
        saved[:-4],
        saved + saved[:4],
        b"",
        bytes(len(saved)),
        saved[:9] + b"x" + saved[10:],
    ):
        with pytest.raises(DataError, match="that no layer has saved, or that are damaged"):
            LearnerState(learner).load(damaged)
    changes = ({"rate": 0.06}, {"max_step": 0.2}, {"max_drift": 3.0}, {"zero_point": 4})
    for change in changes:
        with pytest.raises(DataError, match="the bytes are of another layer"):
            LearnerState(replace(learner, **change)).load(saved)


def test_options_as_plain_data():
    for learner in LEARNERS.values():
        assert Learner.from_dict(json.loads(json.dumps(learner.as_dict()))) == learner


def test_options_at_their_ends_are_taken():
    most = {"rate": 10, "scale": 1e-3, "max_step": 1e3, "max_drift": 1e3, "bits": 16}
    least = {"rate": 1e-6, "scale": 1e3, "max_step": 1e-6, "max_drift": 1e-6, "bits": 8}
    moving = {"rate": 4, "scale": 64, "bits": 15}, {"rate": 2.0**-18, "scale": 1, "bits": 15}
    for options in (most, least, *moving):
        Learner(((1, 2), (3, 4)), (0, 0), 0, **options)


def test_weights_are_the_state_s_own():
    """Whoever writes to them changes neither the layer nor what another state begins with."""
    learner = drawn()
    state = LearnerState(learner)
    saved = state.save()
    state.weights[:] = 7
    state.biases[:] = 7
    assert LearnerState(learner).save() == saved
    state.reset()
    assert state.save() == saved


ROWS = [[1, 2], [3, 4]]
REFUSED = {
    "the option classes is 1": {"weights": [[1, 2]], "biases": [1]},
    "the option classes is 257": {"weights": [[1]] * 257, "biases": [1] * 257},
    "the option features is 0": {"weights": [[], []]},
    "the option classes is 0": {"weights": []},
    "the option features is 4097": {"weights": [[1] * 4097] * 2},
    "the option weights is 'rows of different lengths'": {"weights": [[1, 2], [3, 4], [5]]},
    f"the option weights is {MAX_WEIGHT + 1}": {"weights": [[1, 2], [3, MAX_WEIGHT + 1]]},
    f"the option biases is {-MAX_BIAS - 1}": {"biases": [0, -MAX_BIAS - 1]},
    "the option biases is 3": {"biases": [0, 0, 0]},
    "the option zero_point is 128": {"zero_point": 128},
    "the option bits is 7": {"bits": 7},
    "the option bits is 25": {"bits": 25},
    "the option scale is 0": {"scale": 0},
    "the option rate is 11": {"rate": 11},
    "the option rate is 1e-06": {"rate": 1e-6, "scale": 1e-3},
    "the option rate is 9.0": {"rate": 9.0, "scale": 900.0},
    "the option rate is 8": {"rate": 8, "scale": 64, "bits": 15},
    "the option rate is 1.9": {"rate": 2.0**-19, "scale": 1, "bits": 15},
    "the option max_step is 0": {"max_step": 0},
    "the option max_drift is -1": {"max_drift": -1},
    "the option name is 'weigths'": {"weigths": 1},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    options = {"weights": ROWS, "biases": [0, 0], "zero_point": 0, "scale": 0.1}
    Learner.from_dict(options)
    with pytest.raises(DataError, match=re.escape(text)):
        Learner.from_dict(options | REFUSED[text])


@pytest.mark.parametrize(
    ("features", "label", "says"),
    [
        (np.zeros(9, np.uint8), 0, "features are uint8 of the shape"),
        (np.zeros(8, np.int8), 0, r"features are int8 of the shape \[8\]"),
        (np.zeros(9, np.int8), 4, "the option label is 4"),
        (np.zeros(9, np.int8), -1, "the option label is -1"),
    ],
)
def test_samples_that_do_not_fit_are_refused(features, label, says):
    state = LearnerState(LEARNERS["plain"])
    with pytest.raises(DataError, match=says):
        state.learn(features, label)
    np.testing.assert_array_equal(state.weights, LEARNERS["plain"].start[0])
