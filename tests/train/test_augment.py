"""Augmentation: what may change, by how much and how often, and what must stay."""

import inspect

import numpy as np
import pytest

from tinyrt.errors import DataError
from tinyrt.train import augment

MANY = 400


def rng():
    return np.random.default_rng(11)


def numbered(*shape):
    """No two elements are equal, and none is zero."""
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


CALLS = {
    "flip_images": (numbered(6, 4, 5, 2), {}),
    "change_contrast": (numbered(6, 4, 5, 2), {}),
    "erase_patch": (numbered(6, 4, 5, 2), {"size": 2}),
    "shift_time": (numbered(6, 9, 2), {"steps": 2}),
    "add_noise": (numbered(6, 9), {"sigma": 1.0}),
    "mix_background": (numbered(6, 9), {"backgrounds": numbered(2, 12)}),
    "mask_features": (numbered(6, 9, 5), {"bands": 2, "frames": 3}),
    "scale_series": (numbered(6, 9, 2), {}),
    "warp_time": (numbered(6, 9, 2), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_stays_as_it_is_and_another_comes_back_by_the_generator_alone(name):
    x, options = CALLS[name]
    before, change = x.copy(), getattr(augment, name)
    first, again = change(x, rng(), **options), change(x, rng(), **options)
    np.testing.assert_array_equal(x, before)
    assert (first.shape, first.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(first, again)
    assert (first != x).any()
    other = change(x, np.random.default_rng(12), **options)
    assert (other != first).any()


NEUTRAL = {
    "flip_images": {"share": 0.0},
    "change_contrast": {"contrast": 0.0, "brightness": 0.0},
    "erase_patch": {"share": 0.0},
    "shift_time": {"steps": 0},
    "add_noise": {"sigma": 0.0},
    "mix_background": {"gain": 0.0},
    "mask_features": {"bands": 0, "frames": 0},
    "scale_series": {"spread": 0.0},
    "warp_time": {"spread": 0.0},
}
"""Options of each by which nothing changes."""


def test_every_change_has_options_by_which_it_changes_nothing():
    public = {n for n, f in vars(augment).items() if inspect.isfunction(f) and n[0] != "_"}
    own = {n for n in public if getattr(augment, n).__module__ == augment.__name__}
    assert own - {"chain"} == NEUTRAL.keys() == CALLS.keys()


@pytest.mark.parametrize("name", NEUTRAL)
def test_what_changes_nothing_is_another_batch_all_the_same(name):
    """Whoever writes to one of them leaves the other."""
    x, options = CALLS[name]
    given = x.copy()
    y = getattr(augment, name)(given, rng(), **options | NEUTRAL[name])
    np.testing.assert_array_equal(y, x)
    y[:] = -1
    np.testing.assert_array_equal(given, x)


def test_a_share_of_the_images_is_mirrored():
    x = numbered(MANY, 2, 3, 1)
    y = augment.flip_images(x, rng(), share=0.25)
    turned = (y == x[:, :, ::-1]).all(axis=(1, 2, 3))
    same = (y == x).all(axis=(1, 2, 3))
    assert (turned ^ same).all()
    assert turned.mean() == pytest.approx(0.25, abs=0.06)


def test_contrast_spreads_around_the_mean_and_brightness_moves_it():
    x = numbered(MANY, 3, 3, 1)
    y = augment.change_contrast(x, rng(), contrast=0.5, brightness=0.0)
    mean = x.mean((1, 2, 3), keepdims=True)
    factors = ((y - mean) / np.where(x == mean, np.inf, x - mean))[:, [0, 2], 0, 0]
    np.testing.assert_allclose(factors[:, 0], factors[:, 1], rtol=0.02)
    assert 0.5 <= factors.min() < 0.52
    assert 1.48 < factors.max() <= 1.51
    moved = augment.change_contrast(x, rng(), contrast=0.0, brightness=2.0) - x
    assert -2.01 <= moved.min() < -1.9
    assert 1.9 < moved.max() <= 2.01
    assert np.ptp(moved, axis=(1, 2, 3)).max() < 0.01


def test_a_square_of_a_share_of_the_images_is_filled():
    x = numbered(MANY, 6, 7, 2)
    y = augment.erase_patch(x, rng(), size=3, fill=-5, share=0.5)
    gone = (y == -5).all(axis=3)
    assert ((y == x).all(axis=3) | gone).all()
    assert gone.any(axis=(1, 2)).mean() == pytest.approx(0.5, abs=0.08)
    assert set(gone.any(axis=2).sum(1)) == {0, 2, 3}
    assert set(gone.any(axis=1).sum(1)) == {0, 2, 3}
    assert gone.any(axis=0).all()


@pytest.mark.parametrize("shape", [(9, 2), (2, 9), (1, 7), (7, 1)])
def test_squares_are_anywhere_in_images_of_any_sides(shape):
    y = augment.erase_patch(numbered(MANY, *shape, 1), rng(), size=1, fill=0, share=1)[..., 0]
    assert ((y == 0).sum(axis=(1, 2)) == 1).all(), "a pixel of each"
    share = (y == 0).mean(axis=0)
    np.testing.assert_allclose(share, 1 / np.prod(shape), atol=0.06)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_what_is_filled_keeps_its_type(dtype):
    x = numbered(9, 6, 7, 2).astype(dtype)
    for y in (
        augment.erase_patch(x, rng(), size=3, fill=7.0),
        augment.shift_time(x, rng(), steps=2),
    ):
        assert y.dtype == dtype


def test_time_moves_both_ways_and_what_moves_in_is_filled():
    x = numbered(MANY, 5, 1)
    y = augment.shift_time(x, rng(), steps=2, fill=-1)[..., 0]
    padded = np.pad(x[..., 0], ((0, 0), (2, 2)), constant_values=-1)
    seen = set()
    for i, line in enumerate(y):
        (at,) = [k for k in range(5) if np.array_equal(line, padded[i, k : k + 5])]
        seen.add(at)
    assert seen == set(range(5))
    assert (augment.shift_time(x, rng(), steps=90, fill=0) == 0).all(axis=(1, 2)).any()


def test_what_is_not_said_is_filled_with_zeros():
    x = numbered(MANY, 6, 7, 2) + 1
    assert (augment.erase_patch(x, rng(), size=3)[:, 3, 3] == 0).any()
    assert (augment.shift_time(x, rng(), steps=90) == 0).all(axis=(1, 2, 3)).any()
    for y in (augment.erase_patch(x, rng(), size=3), augment.shift_time(x, rng(), steps=90)):
        assert y.min() == 0


def test_noise_has_the_deviation_given():
    noise = augment.add_noise(np.zeros((50, 500), np.float32), rng(), sigma=0.3)
    assert noise.std() == pytest.approx(0.3, rel=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.01)


def test_backgrounds_are_added_at_a_random_gain():
    x = np.zeros((MANY, 4))
    backgrounds = np.arange(1.0, 13).reshape(2, 6)
    y = augment.mix_background(x, rng(), backgrounds=backgrounds, gain=0.5, share=0.75)
    loud = y[:, 1] - y[:, 0]  # neighbours in a background differ by one
    np.testing.assert_allclose(np.diff(y), np.repeat(loud[:, None], 3, 1))
    assert (loud > 0).mean() == pytest.approx(0.75, abs=0.06)
    assert 0.45 < loud.max() <= 0.5
    starts = np.round(y[loud > 0, 0] / loud[loud > 0]).astype(int)
    assert set(starts) == {1, 2, 3, 7, 8, 9}
    whole = augment.mix_background(x, rng(), backgrounds=backgrounds[:1, :4], gain=0.5, share=1)
    np.testing.assert_allclose(whole / whole[:, :1], np.broadcast_to([1, 2, 3, 4], x.shape))
    for short, shape in ((backgrounds[:, :3], r"\(2, 3\)"), (backgrounds[None], r"\(1, 2, 6\)")):
        with pytest.raises(DataError, match=rf"backgrounds {shape} for sounds \(400, 4\)"):
            augment.mix_background(x, rng(), backgrounds=short)


@pytest.mark.parametrize("extra", [(), (1,)])
def test_stripes_of_features_are_hidden(extra):
    x = numbered(MANY, 8, 6, *extra)
    for axis, options in ((1, {"frames": 3}), (2, {"bands": 3})):
        y = augment.mask_features(x, rng(), count=1, fill=-7, **options)
        hidden = (y == -7).reshape(MANY, 8, 6)
        assert ((y == x) | (y == -7)).all()
        lines = hidden.any(axis=3 - axis)
        assert (lines == hidden.all(axis=3 - axis)).all()
        assert set(lines.sum(1)) == {0, 1, 2, 3}
        edges = np.abs(np.diff(np.pad(lines.astype(int), ((0, 0), (1, 1))))).sum(1)
        assert set(edges) == {0, 2}, "one stripe"
        assert lines.any(0).all(), "anywhere"
    two = augment.mask_features(x, rng(), bands=1, fill=-7).reshape(MANY, 8, 6)
    assert (two[:, 0] == -7).sum(1).max() == 2
    np.testing.assert_array_equal(augment.mask_features(x, rng()), x)
    wide = (augment.mask_features(x, rng(), bands=99, count=1, fill=-7) == -7).reshape(MANY, 8, 6)
    assert np.bincount(wide[:, 0].sum(axis=1)) == pytest.approx(np.full(7, MANY / 7), rel=0.3)


def test_each_channel_has_a_factor_of_its_own():
    x = np.ones((MANY, 5, 2), np.float32)
    y = augment.scale_series(x, rng(), spread=0.2)
    assert (y == y[:, :1]).all()
    assert (y[:, 0, 0] != y[:, 0, 1]).all()
    assert 0.8 <= y.min() < 0.82
    assert 1.18 < y.max() <= 1.2


def test_time_is_stretched_around_the_middle():
    line = np.linspace(-10, 10, 21)
    x = np.broadcast_to(line[:, None], (MANY, 21, 1))
    y = augment.warp_time(x, rng(), spread=0.25)[..., 0]
    speeds = y[:, 14] / 4
    assert 0.75 <= speeds.min() < 0.77
    assert 1.23 < speeds.max() <= 1.25
    np.testing.assert_allclose(y, np.clip(speeds[:, None] * line, -10, 10), atol=1e-9)
    assert augment.warp_time(np.ones((3, 1)), rng()).tolist() == [[1]] * 3


def test_steps_follow_each_other():
    x = numbered(3, 4, 1)
    both = augment.chain(
        lambda x, r: augment.shift_time(x, r, steps=2),
        lambda x, r: augment.add_noise(x, r, sigma=1),
    )
    r = rng()
    expected = augment.add_noise(augment.shift_time(x, r, steps=2), r, sigma=1)
    np.testing.assert_array_equal(both(x, rng()), expected)


@pytest.mark.parametrize(
    ("name", "shape", "says"),
    [
        ("flip_images", (2, 3, 3), "images"),
        ("erase_patch", (2, 3), "images"),
        ("shift_time", (2,), "samples"),
        ("mask_features", (2, 3), "features"),
        ("mask_features", (2, 3, 3, 1, 1), "features"),
        ("scale_series", (2, 3), "series"),
        ("warp_time", (2,), "series"),
        ("mix_background", (2, 3, 1), "sounds"),
    ],
)
def test_samples_of_another_kind_are_refused(name, shape, says):
    options = CALLS[name][1]
    with pytest.raises(DataError) as caught:
        getattr(augment, name)(np.ones(shape), rng(), **options)
    assert f"samples of shape {shape}" in str(caught.value)
    assert says in str(caught.value)
