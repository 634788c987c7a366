"""Regions of a model with segments: what goes to the first ones, and what an overflow says."""

import numpy as np
import pytest

from tests.memory.two_regions import FAST, MOST_USED, SLOW, two
from tinyrt.errors import BudgetError
from tinyrt.memory.placing.overlap import Lead
from tinyrt.memory.regions import Region
from tinyrt.memory.rows.divide import divide
from tinyrt.memory.rows.extents import FREE, Extents
from tinyrt.memory.rows.packing import Packing

TIMES = 4
TRIES = 20


def packing_of(sizes, lives=None, leads=None, alignment=4):
    """Buffers of these sizes, live as a whole at all times, or from the first to the last."""
    shape = len(sizes), TIMES
    low, high = np.full(shape, FREE), np.full(shape, -FREE)
    for i, (first, last) in enumerate(lives or [(0, TIMES - 1)] * len(sizes)):
        low[i, first : last + 1], high[i, first : last + 1] = 0, sizes[i]
    names = [f"b{i}" for i in range(len(sizes))]
    return Packing(Extents(names, list(sizes), low, high), leads or {}, alignment)


@pytest.mark.parametrize(
    ("sizes", "traffic", "fast", "region"),
    [
        *MOST_USED,
        ((0, 40), (0, 1), 40, [FAST, FAST]),
        ((1, 4), (3, 8), 4, [FAST, SLOW]),
    ],
)
def test_the_first_region_has_what_is_used_most_for_its_size(sizes, traffic, fast, region):
    found = divide(packing_of(sizes, alignment=1), [], two(fast), traffic, TRIES)
    assert found.region == region
    assert found.sizes == [
        sum(n for n, r in zip(sizes, region, strict=True) if r == which) for which in (FAST, SLOW)
    ]
    for which in (FAST, SLOW):
        there = [
            (at, n)
            for at, n, r in zip(found.offsets, sizes, region, strict=True)
            if r == which and n
        ]
        ends = [0, *(at + n for at, n in sorted(there))]
        assert [at for at, _ in sorted(there)] == ends[:-1]


@pytest.mark.parametrize(
    ("together", "region"),
    [
        ([], [FAST, SLOW, FAST]),
        ([[]], [FAST, SLOW, FAST]),
        ([[0, 1]], [FAST, FAST, SLOW]),
        ([[1, 2]], [FAST, SLOW, SLOW]),
        ([[0], [2, 1]], [FAST, SLOW, SLOW]),
        ([[0, 1, 2]], [SLOW, SLOW, SLOW]),
    ],
)
def test_what_steps_move_goes_to_one_region(together, region):
    found = divide(packing_of((60, 40, 48)), together, two(108), (12, 4, 6), TRIES)
    assert found.region == region


def test_buffers_that_are_never_live_together_share_a_region_s_bytes():
    packing = packing_of((60, 60), [(0, 1), (2, 3)])
    found = divide(packing, [], two(60), (1, 1), TRIES)
    assert (found.region, found.offsets, found.sizes) == ([FAST, FAST], [0, 0], [60, 0])


def test_an_output_begins_before_its_input_in_any_region():
    packing = packing_of((40, 20, 20), leads={(1, 2): Lead(4)})
    found = divide(packing, [], two(40), (9, 1, 1), TRIES)
    assert (found.region, found.sizes) == ([FAST, SLOW, SLOW], [40, 24])
    assert found.offsets[1] + 4 == found.offsets[2]


def test_regions_are_filled_in_their_order():
    regions = (Region("a", 40), Region("b", 40), Region("c"))
    found = divide(packing_of((40, 40, 40)), [], regions, (1, 3, 2), TRIES)
    assert (found.region, found.sizes) == ([2, 0, 1], [40, 40, 40])


def test_a_region_without_limit_takes_all():
    found = divide(packing_of((100, 40)), [], (Region("a"), Region("b", 10)), (1, 1), TRIES)
    assert (found.region, found.sizes) == ([0, 0], [140, 0])


def test_where_the_most_used_leave_too_little_the_largest_go_first():
    found = divide(packing_of((60, 100)), [], two(100, 60), (900, 1), TRIES)
    assert found.region == [SLOW, FAST]


def test_the_size_of_a_group_is_what_it_holds_at_its_fullest_time():
    """Two of 52 bytes that are live in turn are not larger than one of 60."""
    packing = packing_of((60, 52, 52), [(0, 0), (0, 1), (2, 3)])
    found = divide(packing, [[1, 2]], two(60, 52), (1, 900, 900), TRIES)
    assert found.region == [FAST, SLOW, SLOW]


def test_the_size_of_a_buffer_is_what_is_live_of_it():
    packing = packing_of((80, 100))
    packing.extents.low[0], packing.extents.high[0] = 35, 75
    found = divide(packing, [], two(100, 80), (900, 1), TRIES)
    assert found.region == [SLOW, FAST]


def test_and_then_those_that_are_kept_longest_go_first():
    packing = packing_of((60, 52, 52), [(3, 3), (0, 3), (0, 3)])
    found = divide(packing, [], two(104, 92), (900, 1, 1), TRIES)
    assert found.region == [SLOW, FAST, FAST]


def test_an_overflow_names_what_is_kept_at_the_fullest_time():
    lives = [(0, 0), (1, 2), (2, 3), (3, 3)]
    packing = packing_of((40, 60, 1000, 2000), lives)
    packing.extents.low[2, 3] = 100
    with pytest.raises(BudgetError) as caught:
        divide(packing, [], two(100, 1500), (9, 9, 2, 1), TRIES)
    text = str(caught.value)
    assert "region 'slow' would need 2,900 bytes" in text
    assert "kept in it at its fullest moment, in bytes: 'b3' 2,000, 'b2' 900" in text
    assert text.count("'b") == 2
    assert "at most 1,500" in text
    assert "--region name=size" in text


def test_what_has_no_bytes_is_not_named():
    with pytest.raises(BudgetError) as caught:
        divide(packing_of((40, 0)), [], (Region("only", 36),), (1, 1), TRIES)
    assert str(caught.value).count("'b") == 1


def test_the_first_order_s_overflow_is_told():
    with pytest.raises(BudgetError, match="region 'slow' would need 100 bytes"):
        divide(packing_of((60, 100)), [], two(100, 40), (900, 1), TRIES)


@pytest.mark.parametrize("alignment", [4, 32])
def test_offsets_are_aligned_in_every_region(alignment):
    packing = packing_of((33, 33, 33), alignment=alignment)
    found = divide(packing, [], two(2 * 64), (1, 1, 1), TRIES)
    assert all(offset % alignment == 0 for offset in found.offsets)
    assert all(nbytes % alignment == 0 for nbytes in found.sizes)
