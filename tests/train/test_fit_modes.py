"""Which parts of a module behave as in training while fit runs."""

import numpy as np

from tests.train.test_fit import problem, with_norm
from tinyrt.train import Adam
from tinyrt.train.fit import FitConfig, fit


def trained(net, **options):
    """How often the norm's statistics moved in an epoch of three steps, for two epochs."""
    rng, moves = np.random.default_rng(0), []
    norm = net.layers["1"]

    def noted(step, steps):
        moves.append(bool(np.any(norm.mean.data != noted.before)))
        noted.before = norm.mean.data

    noted.before = norm.mean.data
    fit(
        net,
        Adam(net.parameters()),
        *problem(),
        FitConfig(epochs=2, batch=30),
        rng=rng,
        on_step=noted,
        **options,
    )
    return moves


def test_norms_that_are_held_still_stay_so():
    net = with_norm()
    net.layers["1"].train(False)
    assert trained(net, validate=lambda m: m.train(False) or 0.0) == [False] * 6
    assert not net.layers["1"].training


def test_what_stands_as_deployed_is_trained_as_a_whole():
    net = with_norm()
    net.train(False)
    assert trained(net) == [True] * 6
    assert all(m.training for _, m in net.named_modules())


def test_callbacks_may_release_a_part_and_look_at_the_deployed_module():
    net = with_norm()
    net.layers["1"].train(False)

    def release(epoch):
        net.layers["1"].train(epoch == 2)

    assert trained(net, before_epoch=release) == [False] * 3 + [True] * 3
    assert trained(with_norm(), on_epoch=lambda epoch: net.train(False)) == [True] * 6
    again = with_norm()
    assert trained(again, on_epoch=lambda epoch: again.train(False)) == [True] * 6
