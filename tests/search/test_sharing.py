"""Shared weights: each network has its slices, traces as itself, and teaches only them."""

from dataclasses import replace

import numpy as np
import optuna
import pytest

from tests.search import raw
from tests.search.made import blobs, dense, problem
from tinyrt.errors import DataError
from tinyrt.interpreter.model import Model
from tinyrt.search import Candidate, Problem, supernet
from tinyrt.search.candidate import candidate_of, graph_of
from tinyrt.search.order import Order
from tinyrt.search.sharing import (
    FIRST,
    MIDDLE,
    Member,
    Place,
    SharedWeights,
    places_of,
    recalibrate,
)
from tinyrt.search.source import space_source
from tinyrt.search.spaces import dscnn
from tinyrt.search.supernet import _Pool, inherit, judge, train_shared
from tinyrt.search.work import train, train_from
from tinyrt.train.core.module import Module, Parameter
from tinyrt.train.core.tensor import Tensor, no_grad
from tinyrt.train.nn import BatchNorm, Conv2d, DepthwiseConv2d, Flatten, Linear, Sequential

RNG = np.random.default_rng(3)
IMAGES = Problem(RNG.random((30, 7, 6, 2), np.float32), np.arange(30) % 3)


def convolution(kernel, c_in, c_out, seed=0):
    rng = np.random.default_rng(seed)
    return Candidate(Sequential(stem=Conv2d(c_in, c_out, kernel, rng=rng)))


def member(candidate, shape=(7, 6, 2)):
    return Member.of(candidate, shape)


def test_channels_are_the_first_and_short_kernels_the_middle_of_long_ones():
    long, short = convolution(5, 2, 4, seed=1), convolution(3, 2, 8, seed=2)
    both = [member(long), member(short)]
    weights = SharedWeights.among(both)
    (whole, bias) = (t.data for t in weights.tensors.values())
    assert (whole.shape, bias.shape) == ((8, 5, 5, 2), (8,))
    drawn = [c.network.layers["stem"].weight.data.copy() for c in (long, short)]
    np.testing.assert_array_equal(whole[:4], drawn[0])
    np.testing.assert_array_equal(whole[4:, 1:4, 1:4], drawn[1][4:])
    assert not whole[4:, [0, 4]].any(), "what no network has is 0"
    assert not whole[4:, :, [0, 4]].any()
    weights.give(both[1])
    given = short.network.layers["stem"].weight.data
    np.testing.assert_array_equal(given[:4], drawn[0][:, 1:4, 1:4])
    np.testing.assert_array_equal(given[4:], drawn[1][4:])


def test_the_middle_of_an_odd_rest_is_nearer_the_begin():
    place = Place("stem", (4, 8), (MIDDLE, FIRST))
    assert place.overlap((7, 5)) == ((slice(0, 4), slice(0, 5)), (slice(1, 5), slice(0, 5)))
    assert place.overlap((1, 9)) == ((slice(1, 2), slice(0, 8)), (slice(0, 1), slice(0, 8)))


def test_what_is_larger_than_the_shared_keeps_what_it_has_beyond():
    small, large = convolution(3, 2, 4), convolution(5, 2, 6, seed=5)
    weights = SharedWeights.among([member(small)])
    drawn = large.network.layers["stem"].weight.data
    before = drawn.copy()
    weights.give(member(large))
    after = large.network.layers["stem"].weight.data
    np.testing.assert_array_equal(drawn, before, "whoever drew them may have them still")
    np.testing.assert_array_equal(after[:4, 1:4, 1:4], small.network.layers["stem"].weight.data)
    before[:4, 1:4, 1:4] = after[:4, 1:4, 1:4]
    np.testing.assert_array_equal(after, before)


def test_a_network_teaches_its_slices_alone_and_those_of_several_add_up():
    wide, narrow = convolution(3, 2, 4), convolution(3, 2, 2)
    both = [member(wide), member(narrow)]
    weights = SharedWeights.among(both)
    for one, factor in zip(both, (1.0, 10.0), strict=True):
        for parameter, _ in one.parts():
            parameter.grad = np.full(parameter.shape, factor, np.float32)
        weights.learn(one)
    whole, bias = (t.grad for t in weights.tensors.values())
    assert bias.tolist() == [11, 11, 1, 1]
    assert (whole[:2] == 11).all()
    assert (whole[2:] == 1).all()


def test_what_is_not_shared_stays_and_what_has_no_gradient_teaches_nothing():
    def two_layers(seed):
        rng = np.random.default_rng(seed)
        return Candidate(Sequential(stem=Conv2d(2, 4, 3, rng=rng), more=Conv2d(4, 4, 3, rng=rng)))

    weights = SharedWeights.among([member(convolution(3, 2, 4, seed=1))])
    other = member(two_layers(2))
    drawn = other.network.state_dict()
    weights.give(other)
    given = other.network.state_dict()
    assert {n for n in drawn if (given[n] != drawn[n]).any()} == {"stem.weight"}
    both = member(two_layers(3))
    weights = SharedWeights.among([both])
    for name, parameter in both.network.named_parameters():
        parameter.grad = np.ones(parameter.shape, np.float32) if "stem" in name else None
    weights.learn(both)
    taught = {key for key, tensor in weights.tensors.items() if tensor.grad is not None}
    assert taught == {place.key for name, place in both.places.items() if "stem" in name}


def flat(h, w, c, outputs=3):
    rng = np.random.default_rng([h, w, c])
    layers = {"stem": Conv2d(2, c, 3, rng=rng), "flat": Flatten()}
    layers["out"] = Linear(h * w * c, outputs, rng=rng)
    return Candidate(Sequential(**layers))


def test_a_layer_behind_all_places_shares_channels_of_each_place():
    one, other = (member(flat(7, 6, c)) for c in (2, 4))
    place = one.places["out.weight"]
    assert place.view == (3, 7, 6, 2)
    assert place.key == other.places["out.weight"].key
    weights = SharedWeights.among([other, one])
    weights.give(one)
    theirs = other.network.layers["out"].weight.data.reshape(3, 7, 6, 4)
    given = one.network.layers["out"].weight.data.reshape(3, 7, 6, 2)
    np.testing.assert_array_equal(given, theirs[..., :2])
    shorter = Member.of(flat(5, 6, 2), (5, 6, 2))
    assert shorter.places["out.weight"].key != place.key, "other places are others"
    assert shorter.places["stem.weight"].key == one.places["stem.weight"].key


def test_a_layer_that_flattens_the_samples_themselves():
    network = Sequential(flat=Flatten(), out=Linear(84, 3, rng=RNG))
    assert places_of(Candidate(network), (7, 6, 2))["out.weight"].view == (3, 7, 6, 2)
    behind = Sequential(a=Linear(2, 4, rng=RNG), b=Linear(4, 3, rng=RNG))
    views = {n: p.view for n, p in places_of(Candidate(behind), (7, 6, 2)).items()}
    assert views["a.weight"] == (4, 2)
    assert views["b.bias"] == (3,)


class Own(Module):
    """A layer of a user's own."""

    def __init__(self, size):
        self.scale = Parameter(np.ones(size, np.float32))

    def forward(self, x):
        return x * self.scale


def test_what_is_not_known_is_shared_in_the_same_shape_only():
    keys = [places_of(Candidate(Own(n)), (n,))["scale"].key for n in (2, 2, 3)]
    assert keys[0] == keys[1] != keys[2]
    norms = [places_of(Candidate(BatchNorm(n)), (n,))["gamma"].key for n in (2, 3)]
    assert norms[0] == norms[1]


def test_depthwise_filters_are_slices_along_channels():
    rng = np.random.default_rng(0)
    three, five = (
        Candidate(Sequential(d=DepthwiseConv2d(c, k, rng=rng))) for c, k in ((2, 3), (4, 5))
    )
    one, other = Member.of(three, (7, 6, 2)), Member.of(five, (7, 6, 4))
    weights = SharedWeights.among([other, one])
    weights.give(one)
    theirs = five.network.layers["d"].weight.data
    np.testing.assert_array_equal(three.network.layers["d"].weight.data, theirs[:, 1:4, 1:4, :2])


def test_what_stands_behind_other_features_shares_nothing():
    of, trial = raw.problem(), optuna.trial.FixedTrial
    both = [candidate_of(raw.features, trial({"bands": n}), of, 0) for n in (1, 2)]
    keys = [places_of(c, of.behind(c.front_end).input_shape)["out.weight"].key for c in both]
    assert keys[0] != keys[1]
    plain = Candidate(both[0].network)
    shape = of.behind(both[0].front_end).input_shape
    assert places_of(plain, shape)["out.weight"].key != keys[0]


def test_norms_take_the_mean_of_all_batches():
    norm = BatchNorm(2)
    x = np.arange(24, dtype=np.float32).reshape(12, 2)
    recalibrate(norm, x, 4)
    np.testing.assert_allclose(norm.mean.data, x.mean(axis=0))
    parts = [x[i : i + 4].var(axis=0, ddof=1) for i in (0, 4, 8)]
    np.testing.assert_allclose(norm.variance.data, np.mean(parts, axis=0), rtol=1e-6)
    assert norm.momentum == 0.1


def orders(space, params, epochs=4, rate=0.02):
    source = space_source(space)
    return [Order(source, p, i, "cortex-m4", epochs, 1, rate) for i, p in enumerate(params)]


WIDTHS = [{"width": w, "rate": 0.01} for w in (8, 16, 32)]


def test_networks_learn_together_and_are_judged_as_they_inherit():
    pool = orders(dense, WIDTHS)
    before = [judge(o, train_shared(pool, 0, None, problem()), problem()) for o in pool]
    weights = train_shared(pool, 4, None, problem())
    after = [judge(o, weights, problem()) for o in pool]
    assert np.mean(after) > np.mean(before) + 0.2
    (other,) = orders(dense, [{"width": 24, "rate": 0.01}])
    assert judge(other, weights, problem()) > 0.7, "who was not in the pool inherits, too"


def test_statistics_of_a_judged_network_are_of_the_first_batches(monkeypatch):
    (one,), given = orders(dense, WIDTHS[:1]), []
    monkeypatch.setattr(supernet, "BATCH", 5)
    monkeypatch.setattr(supernet, "RECALIBRATION", 3)
    monkeypatch.setattr(supernet, "recalibrate", lambda network, *of: given.append(of))
    judge(one, train_shared([one], 0, None, problem()), problem())
    ((x, batch),) = given
    np.testing.assert_array_equal(x, problem().x[problem().parts[0][:15]])
    assert batch == 5


def test_each_epoch_takes_all_samples_in_an_order_of_its_own(monkeypatch):
    """Whether it goes on from a file or not; another seed has other orders."""
    taken = []
    monkeypatch.setattr(_Pool, "step", lambda _, rows, *__: taken.extend(rows.tolist()))
    pool, of = orders(dense, WIDTHS), problem()
    rows = sorted(of.parts[0].tolist())

    def epochs():
        made = [tuple(taken[i : i + len(rows)]) for i in range(0, len(taken), len(rows))]
        taken.clear()
        return made

    train_shared(pool, 3, None, of)
    whole = epochs()
    assert [sorted(epoch) for epoch in whole] == [rows] * 3
    train_shared(pool, 3, train_shared(pool, 1, None, of), of)
    assert epochs() == whole
    train_shared([replace(pool[0], seed=9), *pool[1:]], 3, None, of)
    assert len({*whole, *epochs()}) == 6


def test_training_that_goes_on_is_training_that_never_stopped():
    pool = orders(dense, WIDTHS)
    half = train_shared(pool, 2, None, problem())
    assert half != train_shared(pool, 4, None, problem())
    assert train_shared(pool, 4, half, problem()) == train_shared(pool, 4, None, problem())


def test_a_sub_network_traces_as_itself():
    rng, params = np.random.default_rng(0), []
    for seed in range(3):
        trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed)).ask()
        dscnn(trial, IMAGES, rng)
        params.append(trial.params)
    pool = orders(dscnn, params, epochs=1)
    weights = train_shared(pool, 1, None, IMAGES)
    for order in pool:
        candidate = order.candidate(IMAGES)
        inherit(candidate, weights, IMAGES)
        recalibrate(candidate.network, IMAGES.x, 10)
        with candidate.network.evaluating(), no_grad():
            own = candidate.network(Tensor(IMAGES.x[:4])).data
        shares = Model(graph_of(candidate, IMAGES))(IMAGES.x[:4])
        wanted = np.exp(own) / np.exp(own).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, wanted, atol=1e-5)


def test_training_starts_from_the_slices_and_goes_on_from_its_state():
    pool = orders(dense, WIDTHS, epochs=2)
    weights = train_shared(pool, 2, None, problem())
    order = pool[1]
    plain = train(order, 1, None, problem())
    one = train_from(order, 1, None, weights, problem())
    assert one.score != plain.score or one.state != plain.state
    two = train_from(order, 2, one.state, weights, problem())
    assert two.state == train_from(order, 2, one.state, None, problem()).state
    assert one.score > 0.5


def test_the_rate_of_an_order_is_in_place_of_the_candidates():
    first, second = (orders(dense, WIDTHS, rate=r)[0].candidate(problem()) for r in (None, 0.5))
    assert (first.learning_rate, second.learning_rate) == (0.01, 0.5)


def noisy(trial, problem, rng):
    made = dense(trial, problem, rng)
    return Candidate(
        made.network, made.learning_rate, made.batch, augment=lambda x, rng: x * np.inf
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_ends_the_training():
    with pytest.raises(DataError) as error:
        train_shared(orders(noisy, WIDTHS), 1, None, problem())
    assert error.value.problem == "the loss of shared weights is not finite any more"
    assert "without --share" in error.value.hint


def test_values_are_learned_too():
    of = Problem(blobs()["x"], blobs()["x"][:, :2])
    pool = orders(dense, WIDTHS)
    scores = [judge(pool[0], train_shared(pool, n, None, of), of) for n in (0, 4)]
    assert scores[0] < scores[1] < 0


def test_four_others_learn_at_each_step_and_the_mean_of_their_gradients_counts(monkeypatch):
    params = [{"width": w, "rate": 0.01} for w in range(4, 28, 4)]
    pool = _Pool(orders(dense, params), problem())
    weights, rng, rows = SharedWeights.among(pool.members), np.random.default_rng(0), np.arange(8)
    learned, seen = pool._learn, []

    def noted(index, *arguments):
        seen.append((index, arguments[2]))
        learned(index, *arguments)

    monkeypatch.setattr(pool, "_learn", noted)
    pool.step(rows, weights, rng)
    pool.step(rows, weights, rng)
    assert [share for _, share in seen] == [0.25] * 8
    assert [len({i for i, _ in seen[n : n + 4]}) for n in (0, 4)] == [4, 4]
    assert {i for i, _ in seen[:4]} != {i for i, _ in seen[4:]}
    alone = SharedWeights.among(pool.members)
    learned(0, rows, alone, 1.0, rng)
    halved = SharedWeights.among(pool.members)
    learned(0, rows, halved, 0.5, rng)
    for whole, half in zip(alone.tensors.values(), halved.tensors.values(), strict=True):
        np.testing.assert_allclose(half.grad, whole.grad / 2, rtol=1e-5, atol=1e-9)
