"""Batches from an iterable: the same bits as from arrays, resumed exactly, counted, refused."""

import numpy as np
import pytest

from tinyrt.errors import DataError
from tinyrt.train import SGD, Adam, Tensor, cross_entropy
from tinyrt.train.feed import feed_of
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.nn import Linear, Sequential

SIZES = [(0, 30), (30, 60), (60, 80)]


def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 80)
    return (rng.normal(size=(80, 4)) + y[:, None]).astype(np.float32), y


def in_batches(rng=None):
    """The samples in three batches, in a random order if there is a generator."""
    x, y = problem()
    order = np.arange(80) if rng is None else rng.permutation(80)
    for first, last in SIZES:
        yield x[order[first:last]], y[order[first:last]]


def run(stream, config, *, seed=2, **options):
    net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
    optimizer = Adam(net.parameters(), 1e-2)
    history = fit(net, optimizer, stream, None, config, rng=np.random.default_rng(seed), **options)
    return net.state_dict()["0.weight"], history, optimizer


def by_hand(epochs, together, pairs):
    """The same without ``fit``: what each group of batches gives, by the mean of their losses."""
    net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
    optimizer = Adam(net.parameters(), 1e-2)
    for _ in range(epochs):
        for i in range(0, len(pairs), together):
            group = pairs[i : i + together]
            for x, y in group:
                (cross_entropy(net(Tensor(x)), y) * (1 / len(group))).backward()
            optimizer.step()
            optimizer.zero_grad()
    return net.state_dict()["0.weight"]


@pytest.mark.parametrize(("together", "count"), [(1, 3), (2, 3), (3, 5)])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_iterable_is_gone_through_anew_in_each_epoch(workers, together, count):
    config = FitConfig(3, accumulate=together, workers=workers, batches=count)
    pairs = [*in_batches(), *in_batches()][:count]
    weights, history, optimizer = run(pairs, config)
    np.testing.assert_array_equal(weights, by_hand(3, together, pairs))
    assert optimizer.steps == 3 * -(-count // together)
    assert len(history) == 3


@pytest.mark.parametrize("config", [FitConfig(1, 60), FitConfig(1, 30, accumulate=2)])
def test_the_last_step_of_an_epoch_is_a_mean_of_fewer_samples(config):
    x, y = problem()
    order = np.random.default_rng(0).permutation(80)
    expected, found = (Sequential(Linear(4, 3, rng=np.random.default_rng(1))) for _ in range(2))
    for rows in (order[:60], order[60:]):
        optimizer = SGD(expected.parameters(), 0.1)
        cross_entropy(expected(Tensor(x[rows])), y[rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
    fit(found, SGD(found.parameters(), 0.1), x, y, config, rng=np.random.default_rng(0))
    np.testing.assert_allclose(
        found.state_dict()["0.weight"], expected.state_dict()["0.weight"], rtol=1e-5
    )


def test_the_mean_loss_is_that_of_a_sample():
    x, y = problem()
    options = {"rng": np.random.default_rng(0)}
    losses = []
    for stream in ([(x, y)], [(x[:20], y[:20]), (x[20:], y[20:])]):
        net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
        still = Adam(net.parameters(), 0.0)
        losses.append(fit(net, still, stream, None, FitConfig(1), **options)[0].loss)
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_function_gives_the_batches_of_an_epoch_and_may_draw():
    whole, history, _ = run(in_batches, FitConfig(2))
    other, _, _ = run(in_batches, FitConfig(2), seed=3)
    assert not np.array_equal(whole, other)
    again, same, _ = run(lambda rng: map(list, in_batches(rng)), FitConfig(2, workers=1))
    np.testing.assert_array_equal(whole, again)
    assert [e.loss for e in history] == [e.loss for e in same]


def test_an_endless_function_gives_as_many_batches_as_are_asked_for():
    drawn = []

    def endless(rng):
        while True:
            drawn.append(1)
            yield next(in_batches(rng))

    rates = []
    _, history, optimizer = run(
        endless,
        FitConfig(2, batches=4),
        lr=lambda step, steps: rates.append((step, steps)) or 1e-3,
    )
    assert rates == [(i, 8) for i in range(8)]
    assert (optimizer.steps, len(drawn), len(history)) == (8, 8, 2)


def test_an_interrupted_training_from_a_function_ends_with_the_same_bits(tmp_path):
    def noise(x, rng):
        return x + rng.normal(0, 0.1, x.shape).astype(np.float32)

    whole, history, _ = run(in_batches, FitConfig(4), augment=noise)
    state = tmp_path / "state.npz"
    run(in_batches, FitConfig(2), augment=noise, state_file=state)
    resumed, again, _ = run(in_batches, FitConfig(4), augment=noise, state_file=state)
    np.testing.assert_array_equal(whole, resumed)
    assert [e.loss for e in history] == [e.loss for e in again]
    with pytest.raises(DataError, match="with labels of all batches"):
        run(in_batches, FitConfig(4, batches=3), augment=noise, state_file=state)


X, Y = problem()


@pytest.mark.parametrize(
    ("x", "y", "config", "said"),
    [
        (in_batches(), None, FitConfig(2), "an iterator, which is at its end after one epoch"),
        (list(in_batches()), None, FitConfig(2, accumulate=2), "which batch is the last"),
        (list(in_batches()), None, FitConfig(2, batches=4), "an epoch gives 3 batches"),
        ([], None, FitConfig(2), "an epoch gives 0 batches"),
        ([(X, Y, Y)], None, FitConfig(2), "gives a tuple of 3"),
        ([X], None, FitConfig(2), "gives a ndarray"),
        ([(X, Y[1:])], None, FitConfig(2), "80 samples, but 79 labels"),
        (X, Y, FitConfig(2, batches=4), "batches is 4, but the samples are arrays"),
        (X, None, FitConfig(2), "samples are ndarray, labels NoneType"),
        (list(in_batches()), Y, FitConfig(2), "samples are list, labels ndarray"),
        (7, None, FitConfig(2), "samples are int, labels NoneType"),
        ((X, [0] * 80), Y, FitConfig(2), "samples are tuple, labels ndarray"),
    ],
)
def test_what_is_no_feed_is_refused(x, y, config, said):
    net = Sequential(Linear(4, 3, rng=np.random.default_rng(1)))
    with pytest.raises(DataError, match=said):
        fit(net, Adam(net.parameters()), x, y, config, rng=np.random.default_rng(0))


def test_a_state_is_of_the_shapes_of_every_array():
    feed = feed_of((X, X[:, :2]), (Y, X[:, :1]), FitConfig(1))
    assert feed.facts == ([(80, 4), (80, 2)], [(80,), (80, 1)])


@pytest.mark.parametrize("option", ["lr", "on_step"])
def test_who_is_told_the_number_of_steps_needs_it(option):
    with pytest.raises(DataError, match="not known how many steps"):
        run(in_batches, FitConfig(2), **{option: lambda step, steps: 1e-3})
