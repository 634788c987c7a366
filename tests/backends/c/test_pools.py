"""Means of windows by products, as ``tinyrt_average_short_s8`` has them."""

import numpy as np

from tinyrt.backends.c.pools import MOST_SHORT


def means_equal(count: int) -> bool:
    """Whether all sums of so many elements give the mean, with halves away from zero."""
    sums = np.arange(-128 * count, 127 * count + 1, dtype=np.int64)
    expected = np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))
    raised = sums * ((1 << 24) // count + 1) + (1 << 23)
    # A register takes what is raised, and products of halves are rounded down before the half.
    fits = (raised >= -(2**31)) & (raised < 2**31)
    by_halves = ((sums * ((1 << 24) // count + 1) >> 16) + (1 << 7)) >> 8
    return bool((fits & (raised >> 24 == expected) & (by_halves == expected)).all())


def test_means_are_exact_up_to_the_most_elements():
    assert all(means_equal(count) for count in range(1, MOST_SHORT + 1))
    assert not means_equal(267)
