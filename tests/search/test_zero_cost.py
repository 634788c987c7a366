"""Scores before training, as the benchmark computes them."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.search_zero_cost import beside, correlation, kept, naswot, synflow
from tinyrt.search import Candidate
from tinyrt.train.nn import Linear, ReLU, Sequential


def one_layer(weights):
    network = Sequential(hidden=Linear(2, len(weights), rng=np.random.default_rng(0)), relu=ReLU())
    network.layers["hidden"].weight.data = np.array(weights, np.float32)
    return Candidate(network)


def test_naswot_is_the_determinant_of_codes_that_agree():
    x = np.float32([[1, 0], [0, 1], [-1, 0]])
    # Codes 1 0 1, 0 1 1 and 0 0 0: two of them agree in 1, 1 and 1 places.
    candidate = one_layer([[1, 0], [0, 1], [1, 1]])
    want = np.log(np.linalg.det(np.array([[3, 1, 1], [1, 3, 1], [1, 1, 3]])))
    assert naswot(candidate, x) == pytest.approx(want)
    assert candidate.network.layers["relu"].observers == ()
    assert naswot(one_layer([[1, 1]]), x[:2]) == -np.inf, "both samples have one code"


def test_synflow_is_the_sum_of_weights_times_gradients():
    candidate = one_layer([[-1, 2], [3, -4]])
    # Each weight's gradient is 1: the input is, and ReLU lets all of it through.
    assert synflow(candidate, np.zeros((3, 2), np.float32)) == pytest.approx(np.log(10))
    weights = candidate.network.layers["hidden"].weight
    assert weights.data.tolist() == [[-1, 2], [3, -4]]
    assert weights.grad is None


def test_orders_are_compared_as_scipy_does():
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 6, (3, 40)).astype(float)
    assert correlation(list(a), list(b)) == pytest.approx(stats.spearmanr(a, b).statistic)
    ranks = [stats.rankdata(x) for x in (a, b, c)]
    rest = [r - np.polyval(np.polyfit(ranks[2], r, 1), ranks[2]) for r in ranks[:2]]
    assert beside(list(a), list(c), list(b)) == pytest.approx(np.corrcoef(*rest)[0, 1])
    assert kept([1, 2, 3, 4, 5, 6], [6, 1, 2, 3, 4, 5]) == 0.5
