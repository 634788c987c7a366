"""The bytes that no placement can do without, step by step, where buffers share some."""

import numpy as np
import pytest

from tests.memory.test_regions import problem_of
from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.overlap import Lead
from tinyrt.memory.placing.problem import Problem

WHOLE, PART = 0, 1


@pytest.mark.parametrize(
    ("sizes", "lives", "ties", "bounds"),
    [
        # Side by side: nothing is shared.
        ((40, 20), [(0, 9), (3, 6)], {}, [40] * 3 + [60] * 4 + [40] * 3),
        # A part of a whole that dies first, or last.
        ((40, 20), [(0, 5), (3, 9)], {PART: (WHOLE, 8)}, [40] * 6 + [20] * 4),
        ((40, 20), [(3, 9), (0, 5)], {PART: (WHOLE, 8)}, [20] * 3 + [40] * 7),
        # Two parts that meet, and two with bytes between them.
        ((40, 20, 20), [(5, 9), (0, 9), (2, 9)], {1: (0, 0), 2: (0, 20)}, [20] * 2 + [40] * 8),
        ((40, 12, 12), [(7, 9), (0, 9), (0, 4)], {1: (0, 0), 2: (0, 28)},
         [24] * 5 + [12] * 2 + [40] * 3),
        # Parts that overlap in 8 bytes.
        ((40, 24, 24), [(8, 9), (0, 9), (0, 5)], {1: (0, 0), 2: (0, 16)},
         [40] * 6 + [24] * 2 + [40] * 2),
        # A part of a part.
        ((40, 24, 8), [(0, 3), (0, 6), (0, 9)], {1: (0, 8), 2: (1, 4)},
         [40] * 4 + [24] * 3 + [8] * 3),
        # Sizes that are no multiples of a word take whole words.
        ((38, 17), [(0, 5), (3, 9)], {PART: (WHOLE, 4)}, [40] * 6 + [20] * 4),
    ],
)  # fmt: skip
def test_parts_of_a_whole_are_counted_once(sizes, lives, ties, bounds):
    """Each step at which something else, of no bytes, begins."""
    ticks = [(step, step) for step in range(10)]
    problem = problem_of(*sizes, *([0] * 10), lives=[*lives, *ticks], ties=ties)
    assert problem.steps() == list(range(10))
    assert problem.bounds() == bounds
    assert problem.lower_bound() == max(bounds)


@pytest.mark.parametrize(
    ("lead", "y_bytes", "x_bytes", "together"),
    [
        (Lead(0), 40, 40, 40),
        (Lead(8), 40, 40, 48),
        (Lead(0), 40, 20, 40),
        (Lead(8), 40, 20, 40),
        (Lead(24), 40, 20, 44),
        (Lead(0), 20, 40, 40),
        (Lead(8), 20, 40, 48),
        (Lead(60), 20, 40, 60),
        (Lead(0, exact=True), 40, 40, 40),
    ],
)
def test_an_output_and_its_input_share_bytes_at_one_step(lead, y_bytes, x_bytes, together):
    made = [Buffer(("y",), y_bytes, 4, 9), Buffer(("x",), x_bytes, 0, 4)]
    made += [Buffer((f"t{step}",), 0, step, step) for step in range(10)]
    problem = Problem(made, {(0, 1): lead}, {}, 4)
    assert problem.bounds() == [x_bytes] * 4 + [together] + [y_bytes] * 5


def test_an_output_shares_no_more_bytes_with_all_its_inputs_than_it_has():
    made = [Buffer(("y",), 38, 1, 2), Buffer(("a",), 30, 0, 1), Buffer(("b",), 40, 0, 1)]
    for leads, together in (((1,), 72 + 8), ((2,), 72), ((1, 2), 72)):
        problem = Problem(made, {(0, x): Lead(0) for x in leads}, {}, 4)
        assert problem.bounds() == [72, together]


@pytest.mark.parametrize("seed", range(6))
def test_bytes_of_parts_in_parts_are_counted_once_whatever_their_order(seed):
    """Spans that lie in, cross and follow each other, against the bytes themselves."""
    rng = np.random.default_rng(seed)
    at = [0, *rng.integers(0, 12, 5).tolist()]
    sizes = [80, *rng.integers(1, 30, 5).tolist()]
    lives = [(20, 20), *((0, n) for n in rng.integers(0, 5, 5).tolist())]
    ties = {i: (0, 4 * at[i]) for i in range(1, 6)}
    problem = problem_of(*sizes, *([0] * 5), lives=[*lives, *((s, s) for s in range(5))], ties=ties)
    bounds = dict(zip(problem.steps(), problem.bounds(), strict=True))
    for step in range(5):
        alive = [i for i in range(1, 6) if lives[i][1] >= step]
        words = {w for i in alive for w in range(at[i], at[i] - (-sizes[i] // 4))}
        assert bounds[step] == 4 * len(words)
    assert bounds[20] == 80


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("least", [0, 3, 8, 33])
def test_the_lowest_place_is_the_first_multiple_that_is_free(seed, least):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 24, 6).tolist()
    lives = [(0, 9), *((2 * i, 9) for i in range(5))]
    problem = problem_of(*sizes, lives=lives, alignment=8)
    at = {g: 8 * int(n) for g, n in enumerate(rng.integers(0, 12, 6)) if g}
    taken = {byte for g, offset in at.items() for byte in range(offset, offset + sizes[g])}
    free = (n for n in range(0, 999, 8) if n >= least and taken.isdisjoint(range(n, n + sizes[0])))
    assert problem.lowest(0, at, least) == next(free)


@pytest.mark.parametrize("seed", range(8))
def test_gaps_between_some_groups_are_those_of_a_problem_of_their_own(seed):
    """Whether the whole problem's are known already, or not."""
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, 6, 12)
    made = [
        Buffer((f"b{i}",), int(rng.integers(1, 90)), int(begin), int(begin + rng.integers(0, 6)))
        for i, begin in enumerate(begins)
    ]
    ties = {5: (9, 4), 7: (5, 8), 2: (10, 0)}
    leads = {(4, 3): Lead(8), (11, 1): Lead(16, exact=True)}
    whole = Problem(made, leads, ties)
    chosen = sorted(rng.permutation(len(whole.groups))[:6].tolist())
    alone, members = whole.part(chosen)
    expected = alone.gaps
    assert any(whole.gaps)
    found, again = whole.part(chosen)
    assert (found.gaps, again) == (expected, members)
    assert members == sorted(b for g in chosen for b in whole.groups[g].members)
