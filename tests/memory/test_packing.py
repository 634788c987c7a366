"""Outputs and inputs that may overlap, beside the bytes that they then share."""

import numpy as np
import pytest

from tinyrt.memory.placing.overlap import Lead
from tinyrt.memory.rows.extents import FREE, Extents
from tinyrt.memory.rows.packing import Packing, gaps_of

Y, X, OTHER = 0, 1, 2


def buffers(*sizes, times=3, dead=()):
    """Whole buffers: the output from the second time on, the input until then; others always."""
    lives = [(1, times), (0, 2)] + [(0, times)] * (len(sizes) - 2)
    low, high = (np.full((len(sizes), times), end) for end in (FREE, -FREE))
    for i, (first, stop) in enumerate(lives):
        if i not in dead:
            low[i, first:stop], high[i, first:stop] = 0, sizes[i]
    return Extents([f"b{i}" for i in range(len(sizes))], list(sizes), low, high)


def fits(lead, y_at, y_bytes, x_at, x_bytes):
    """Whether the two may lie so: apart, or the output so far before the input."""
    apart = y_at + y_bytes <= x_at or x_at + x_bytes <= y_at
    close = y_at == x_at if lead.exact else y_at + lead.least <= x_at
    return apart or close


PAIRS = [
    *((Lead(least), y, x) for least in (0, 3, 8, 20) for y, x in ((8, 8), (12, 5), (5, 12))),
    (Lead(0, exact=True), 8, 8),
]


@pytest.mark.parametrize(("lead", "y_bytes", "x_bytes"), PAIRS)
def test_gaps_leave_every_distance_that_is_allowed(lead, y_bytes, x_bytes):
    gaps = gaps_of(buffers(y_bytes, x_bytes), {(Y, X): lead})
    for distance in range(-30, 31):
        allowed = fits(lead, 30 + distance, y_bytes, 30, x_bytes)
        assert all(not low < distance < high for low, high in gaps[Y][X]) is allowed
        assert all(not low < -distance < high for low, high in gaps[X][Y]) is allowed


@pytest.mark.parametrize(("lead", "y_bytes", "x_bytes"), PAIRS)
def test_the_bound_of_a_pair_is_the_least_that_holds_both(lead, y_bytes, x_bytes):
    packing = Packing(buffers(y_bytes, x_bytes), {(Y, X): lead}, 1)
    spans = [
        max(y_at + y_bytes, x_at + x_bytes)
        for y_at in range(30)
        for x_at in range(30)
        if fits(lead, y_at, y_bytes, x_at, x_bytes)
    ]
    assert packing.bound == min(spans)
    assert packing.size(packing.pack()) == min(spans)


def test_bytes_are_shared_only_while_the_output_is_written():
    packing = Packing(buffers(8, 8, 4), {(Y, X): Lead(0)}, 4)
    assert packing.live.tolist() == [12, 12, 12]
    assert packing.part([OTHER, X]).live.tolist() == [12, 12, 4]
    assert packing.part([X, OTHER, Y]).live.tolist() == [12, 12, 12]


def test_buffers_that_are_never_live_take_no_place():
    packing = Packing(buffers(8, 8, 4, dead=(X,)), {}, 4)
    assert packing.gaps[X] == {}
    assert all(X not in gaps for gaps in packing.gaps)
    assert packing.size(packing.pack()) == 12


def test_no_buffers_take_no_bytes():
    packing = Packing(Extents([], [], np.zeros((0, 3)), np.zeros((0, 3))), {}, 4)
    assert (packing.bound, packing.pack(), packing.size({})) == (0, {}, 0)


@pytest.mark.parametrize(("most", "at"), [(None, {2: 0, 0: 4, 1: 12}), (20, None), (24, None)])
def test_an_order_ends_where_it_takes_too_much(most, at):
    packing = Packing(buffers(8, 13, 4), {}, 4)
    assert packing.in_order([2, 0, 1], most) == at


@pytest.mark.parametrize("most", [25, 26])
def test_an_order_may_take_just_what_is_allowed(most):
    packing = Packing(buffers(8, 13, 4), {}, 4)
    assert packing.in_order([2, 0, 1], most) == {2: 0, 0: 4, 1: 12}
    assert packing.in_order([2, 0, 1], most, {2: 0, 0: 4}) == {2: 0, 0: 4, 1: 12}


def test_a_buffer_goes_into_the_lowest_gap_that_is_large_enough():
    packing = Packing(buffers(8, 8, 4, 4, 8), {}, 4)
    assert packing.lowest(3, {2: 0, 4: 8}) == 4
    assert packing.lowest(0, {2: 0, 4: 8}) == 16
    assert packing.lowest(0, {2: 0, 4: 12}) == 4
    assert packing.lowest(0, {4: 12, 2: 0, 3: 4}) == 20


@pytest.fixture
def tried(monkeypatch):
    """How many orders were placed: `len(tried)`. No order of these buffers reaches the bound."""
    seen = []
    in_order = Packing.in_order

    def counted(problem, order, *rest):
        seen.append(order)
        return in_order(problem, order, *rest)

    monkeypatch.setattr(Packing, "in_order", counted)
    problem = Packing(sliding(), {}, 4)
    assert problem.bound < problem.size(problem.pack())
    seen.clear()
    return seen


def sliding():
    """Three buffers; at any time one of them is live to the half, which is of no use to others."""
    low, high = np.full((3, 3), FREE), np.full((3, 3), -FREE)
    for i in range(3):
        low[i], high[i] = 0, 8
        low[i, i] = 4
    return Extents(["a", "b", "c"], [8, 8, 8], low, high)


FIXED = 5
"""Orders that are tried before any is changed."""


@pytest.mark.parametrize(
    ("tries", "most", "patience", "orders"),
    [
        (0, 999, 999, 0),
        (7, 999, 999, 7),
        (99, 12, 999, 4),
        (99, 999, 6, 7),
    ],
)
def test_orders_are_tried_up_to_the_limits(tries, most, patience, orders, tried, monkeypatch):
    monkeypatch.setattr("tinyrt.memory.rows.packing.MAX_PLACED", most)
    monkeypatch.setattr("tinyrt.memory.rows.packing.PATIENCE", patience)
    Packing(sliding(), {}, 4).pack(tries)
    assert len(tried) == FIXED + orders


def test_one_buffer_is_placed_in_one_way(tried):
    half_live = Extents(["a"], [8], np.array([[4]]), np.array([[8]]))
    assert Packing(half_live, {}, 4).pack() == {0: 0}
    assert len(tried) == FIXED
