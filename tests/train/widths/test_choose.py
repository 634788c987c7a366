"""The choice within a number of bytes is the best there is."""

from itertools import combinations

import numpy as np
import pytest

from tinyrt.train.widths.choose import best_within


def by_trying_all(values, costs, left):
    every = [w for n in range(len(values) + 1) for w in combinations(range(len(values)), n)]
    fitting = [w for w in every if sum(costs[i] for i in w) <= left]
    return max(sum(values[i] for i in w) for w in fitting)


def test_no_other_choice_is_worth_more():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(0, 8))
        values, costs = rng.random(n).tolist(), rng.integers(1, 30, n).tolist()
        left = int(rng.integers(0, 80))
        chosen = best_within(values, costs, left)
        assert list(chosen) == sorted(set(chosen))
        assert sum(costs[i] for i in chosen) <= left
        best = by_trying_all(values, costs, left)
        assert sum(values[i] for i in chosen) == pytest.approx(best, abs=1e-12)


def test_all_bytes_may_be_used_and_of_equal_choices_it_is_the_first():
    assert best_within([1.0, 1.0, 3.0], [4, 4, 4], 8) == (0, 2)
    assert best_within([1.0, 1.0, 3.0], [4, 4, 4], 12) == (0, 1, 2)
    assert best_within([1.0, 1.0, 3.0], [4, 4, 4], 3) == ()
    assert best_within([2.0, 1.5, 1.5], [3, 2, 2], 4) == (1, 2)
    assert best_within([0.0, 1.0], [1, 1], 2) == (1,), "what brings nothing is left out"
