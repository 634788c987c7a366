"""Margins, and thresholds by what they do, beside a search through all of them."""

import numpy as np
import pytest

from tinyrt.dsp.cascade import NEVER, choose_threshold, margins
from tinyrt.errors import DataError


def test_a_margin_is_the_greatest_score_less_the_next():
    rng = np.random.default_rng(0)
    for classes in (2, 3, 10):
        scores = rng.integers(-128, 128, (200, classes)).astype(np.int8)
        expected = []
        for row in scores.tolist():
            row.remove(best := max(row))
            expected.append(best - max(row))
        assert margins(scores).tolist() == expected
    assert margins(np.array([[-128, 127], [5, 5]], np.int8)).tolist() == [255, 0]


@pytest.mark.parametrize(
    "scores", [np.zeros((2, 3)), np.zeros(3, np.int8), np.zeros((2, 1), np.int8)]
)
def test_scores_are_stored_ones_of_two_classes(scores):
    with pytest.raises(DataError, match="scores are"):
        margins(scores)


def by_search(margin, first, second, asked):
    """Every threshold's share of exits and of right answers; the best and most careful one."""
    rows = []
    for t in range(NEVER + 1):
        right = [f if m >= t else s for m, f, s in zip(margin, first, second, strict=True)]
        exits = sum(int(m) >= t for m in margin)
        rows.append((exits, t, sum(right)))
    enough = [row for row in rows if row[2] >= asked * len(margin)]
    return max(enough, default=None)


@pytest.mark.parametrize("seed", range(40))
def test_the_threshold_saves_most_and_of_equal_ones_is_the_greatest(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    margin = rng.integers(0, rng.choice([3, 60, 256]), n).astype(np.int32)
    second = rng.random(n) < 0.8
    first = rng.random(n) < 0.3 + 0.7 * margin / 256
    asked = None if seed % 3 == 0 else float(rng.integers(0, n + 1)) / n
    wanted = by_search(margin, first, second, second.mean() if asked is None else asked)
    if wanted is None:
        with pytest.raises(DataError, match="no threshold reaches"):
            choose_threshold(margin, first, second, accuracy=asked)
        return
    found = choose_threshold(margin, first, second, accuracy=asked)
    exits, threshold, right = wanted
    assert found.threshold == threshold
    assert found.exits == pytest.approx(exits / n)
    assert found.accuracy == pytest.approx(right / n)
    assert found.first_accuracy == pytest.approx(sum(first) / n)
    assert found.second_accuracy == pytest.approx(sum(second) / n)
    assert found.samples == n


@pytest.mark.parametrize(
    ("exits", "threshold", "share"),
    [(0, 256, 0), (0.25, 90, 0.25), (0.26, 40, 0.75), (0.75, 40, 0.75), (0.8, 7, 1), (1, 7, 1)],
)
def test_exits_have_the_most_careful_threshold(exits, threshold, share):
    margin, right = np.array([90, 40, 7, 40], np.int32), np.array([True, False, True, True])
    found = choose_threshold(margin, right, ~right, exits=exits)
    assert (found.threshold, found.exits) == (threshold, share)


def test_what_cannot_be_chosen():
    margin, right = np.array([9, 1], np.int32), np.array([True, False])
    with pytest.raises(DataError, match=r"at most 50\.00%, which threshold 1 has on these 2") as e:
        choose_threshold(margin, right, right, accuracy=0.9)
    assert "90.00%" in str(e.value)
    with pytest.raises(DataError, match=r"accuracy of 0\.5 and exits of 0\.5"):
        choose_threshold(margin, right, right, accuracy=0.5, exits=0.5)
    with pytest.raises(DataError, match="no samples"):
        choose_threshold(margin[:0], right[:0], right[:0])
    for wrong in ({"accuracy": 1.5}, {"exits": -0.1}):
        with pytest.raises(DataError, match="the option"):
            choose_threshold(margin, right, right, **wrong)
