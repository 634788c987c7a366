"""Addends that two channels share: the ranges of each, and what is found for both."""

import numpy as np
import pytest

from tinyrt.backends.c.blocks.addends import BATCHES, COUNTS, MAX_ADDEND, Ranges, shared

FREE = 1 << 20
"""More room than any test takes."""

MOST_MOVES = BATCHES[-1] - 1
"""The farthest that is tried."""


def ranges_of(scale, low, high, room):
    return Ranges(*(np.array(values, np.int64) for values in (scale, low, high, room)))


def outputs(scale, sums, addend):
    return np.clip(((scale * sums >> 32) + addend) >> 16, 0, 255)


def random_channel(rng):
    """Scale, thresholds by rounded halves, least and greatest sum of a channel."""
    scale = int(rng.integers(1 << 30, 1 << 31)) << int(rng.integers(8, 11))
    thresholds = -(-((COUNTS << 48) - (1 << 47) - int(rng.integers(0, 1 << 40))) // scale)
    ends = rng.integers(thresholds[0] - 600, thresholds[-1] + 600, 2)
    return scale, thresholds, int(ends.min()), int(ends.max())


@pytest.mark.parametrize("seed", range(40))
def test_outputs_stay_as_they_are_within_a_range_alone(seed):
    """Every addend around the ends of those that go with a move, against all sums in reach."""
    rng = np.random.default_rng(seed)
    scale, thresholds, least, greatest = random_channel(rng)
    reach = np.array([least]), np.array([greatest])
    ranges = Ranges.of(np.array([scale]), thresholds[None], reach, np.array([FREE]))
    low, high = int(ranges.low[0]), int(ranges.high[0])
    sums = np.arange(least, greatest + 1)
    expected = np.searchsorted(thresholds, sums, side="right")
    for move in (-3, 0, 1, 200):
        for end in (low, high):
            if abs(end) >= 1 << 62:
                continue
            near = (end - scale * move) >> 32
            for addend in range(near - 2, near + 4):
                same = np.array_equal(outputs(scale, sums + move, addend), expected)
                assert same is (low <= scale * move + (addend << 32) <= high)


def test_a_channel_of_one_output_takes_any_addend_of_that_output():
    thresholds = (COUNTS << 10)[None]
    five = np.array([5 << 10])
    ranges = Ranges.of(np.array([1 << 38]), thresholds, (five, five), np.array([0]))
    addends = np.array([-1, 0, (1 << 16) - 1, 1 << 16])
    assert [bool(ranges.moves(np.array([a]))[1][0]) for a in addends] == [False, True, True, False]


@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_serves_all_channels(seed):
    rng = np.random.default_rng(seed)
    channels = int(rng.integers(1, 40))
    scale = rng.integers(1 << 38, 1 << 40, channels)
    low = rng.integers(1 << 46, 1 << 48, channels)
    high = low + rng.integers(scale // 600, scale // 100)
    room = np.full(channels, FREE)
    expected = rng.integers(0, 1 << 16, channels)
    found = shared(Ranges(scale, low, high, room), expected)
    assert found is not None
    addends, moves = found
    assert addends.shape == ((channels + 1) // 2,)
    for channel in range(channels):
        total = int(scale[channel]) * int(moves[channel]) + (int(addends[channel // 2]) << 32)
        assert low[channel] <= total <= high[channel]
        assert abs(moves[channel]) <= FREE
    assert np.abs(addends).max() < MAX_ADDEND


def test_an_expected_addend_that_serves_both_is_taken():
    ranges = ranges_of([1 << 38] * 2, [5 << 32] * 2, [9 << 32] * 2, [FREE] * 2)
    addends, moves = shared(ranges, np.array([7, 7]))
    assert (addends.tolist(), moves.tolist()) == ([7], [0, 0])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_narrower_channel_says_which_addend_is_tried_first(order):
    """The wider one's own addend, 20, would serve it alone."""
    both = ((5 << 32, 9 << 32, 7), (0, 40 << 32, 20))
    low, high, expected = zip(*(both[i] for i in order), strict=True)
    addends, moves = shared(ranges_of([1 << 38] * 2, low, high, [FREE] * 2), np.array(expected))
    assert (addends.tolist(), moves.tolist()) == ([7], [0, 0])


@pytest.mark.parametrize("sign", [1, -1])
def test_addends_are_smaller_than_what_kernels_hold(sign):
    ranges = ranges_of([1 << 38], [-1 << 62], [1 << 62], [FREE])
    fit = [ranges.moves(np.array([sign * (MAX_ADDEND - less)]))[1].tolist() for less in (0, 1)]
    assert fit == [[False], [True]]


def test_the_smallest_move_of_the_narrower_channel_is_taken():
    """Addends 3 + 64 * n serve the first channel, and 131 + 160 * n the other one."""
    ranges = ranges_of(
        [64 << 32, 160 << 32], [3 << 32, 131 << 32], [3 << 32, 132 << 32], [FREE] * 2
    )
    addends, moves = shared(ranges, np.array([3, 131]))
    assert (addends.tolist(), moves.tolist()) == ([131], [-2, 0])


@pytest.mark.parametrize(("room", "second"), [([FREE, FREE], 4), ([1, FREE], 131), ([FREE, 0], 35)])
def test_channels_without_a_common_addend_have_none(room, second):
    """Steps of 64 and of 160 do not meet, or not within the room that sums have."""
    low = [3 << 32, second << 32]
    ranges = ranges_of([64 << 32, 160 << 32], low, low, room)
    assert shared(ranges, np.array([3, second])) is None


@pytest.mark.parametrize("move", [-MOST_MOVES, 3_000, 1 << 15, MOST_MOVES])
def test_two_channels_share_an_addend_however_many_moves_away_it_lies(move):
    """One channel has no room to move, and the other one meets it beside one move alone."""
    low = np.array([3, 3 + 64 * move]) << 32
    ranges = ranges_of([64 << 32, 160 << 32], low, low, [FREE, 0])
    addends, moves = shared(ranges, low >> 32)
    assert (addends.tolist(), moves.tolist()) == ([3 + 64 * move], [-move, 0])


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 3, 0, 1]])
def test_one_pair_without_a_common_addend_is_enough_for_none(order):
    """The first two channels have one, beside the 3,000th move alone."""
    low = np.array([3, 3 + 64 * 3_000, 3, 4])[order] << 32
    scale = np.array([64, 160, 64, 160])[order] << 32
    room = np.array([FREE, 0, FREE, FREE])[order]
    expected = low >> 32
    assert shared(ranges_of(scale, low, low, room), expected) is None
    both = [i for i, channel in enumerate(order) if channel < 2]
    found = shared(ranges_of(scale[both], low[both], low[both], room[both]), expected[both])
    pairs = len(both) // 2
    assert [v.tolist() for v in found] == [[3 + 64 * 3_000] * pairs, [-3_000, 0] * pairs]
