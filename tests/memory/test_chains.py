"""Ways through a model with segments: those that no other beats, beside all ways there are."""

from random import Random
from types import SimpleNamespace

import pytest

from tinyrt.memory.rows.chains import Piece, chains
from tinyrt.memory.rows.choose import _several
from tinyrt.memory.rows.costs import MAX_GROWTH, Cost

NODES = 6


def piece(first, stop, peak, instructions):
    return Piece(SimpleNamespace(first=first, stop=stop), peak, instructions)


def every_way(pieces, live, node=0):
    """All ways from a node on: their peak, work and pieces."""
    if node == len(live):
        yield 0, 0, ()
        return
    for peak, work, rest in every_way(pieces, live, node + 1):
        yield max(peak, live[node]), work, rest
    for p in pieces:
        if p.segment.first == node:
            for peak, work, rest in every_way(pieces, live, p.segment.stop):
                yield max(peak, p.peak), work + p.instructions, (p, *rest)


def random_case(seed):
    rng = Random(seed)
    live = [rng.randrange(1, 12) for _ in range(NODES)]
    pieces = []
    for _ in range(rng.randrange(1, 9)):
        first = rng.randrange(NODES)
        stop = rng.randrange(first + 1, NODES + 1)
        pieces.append(piece(first, stop, rng.randrange(1, 12), rng.randrange(-2, 9)))
    return pieces, live, rng.randrange(2, 14)


@pytest.mark.parametrize("seed", range(60))
def test_chains_are_the_ways_that_no_other_beats(seed):
    pieces, live, most = random_case(seed)
    ways = [way for way in every_way(pieces, live) if way[0] < most]
    best, least = [], None
    for peak in sorted({way[0] for way in ways}):
        work = min(way[1] for way in ways if way[0] <= peak)
        if least is None or work < least:
            least = work
            best.append((peak, work))
    found = []
    for chain in chains(pieces, live, most):
        covered = {n for p in chain for n in range(p.segment.first, p.segment.stop)}
        alone = [nbytes for n, nbytes in enumerate(live) if n not in covered]
        assert sum(p.segment.stop - p.segment.first for p in chain) == len(covered)
        found.append((max([*alone, *(p.peak for p in chain)]), sum(p.instructions for p in chain)))
    assert found == best


def test_of_equal_work_the_fewest_segments_are_taken():
    one, halves = piece(0, 2, 5, 4), (piece(0, 1, 5, 2), piece(1, 2, 5, 2))
    for pieces in ([one, *halves], [*halves, one]):
        assert chains(pieces, [9, 9], 9) == [(one,)]


def test_several_segments_are_two_or_more():
    first, second, whole = piece(0, 1, 5, 2), piece(1, 2, 5, 2), piece(0, 2, 5, 9)
    assert _several([first, second], [9, 9], 9) == [(first, second)]
    assert _several([whole], [9, 9], 9) == []
    assert _several([], [4, 4], 9) == []


@pytest.mark.parametrize(("limit", "cheap"), [(0, True), (1, False)])
@pytest.mark.parametrize("field", ["instructions", "code"])
def test_a_program_may_grow_by_three_per_cent(field, limit, cheap):
    base = Cost(20_000, 10_000)
    more = {"instructions": 0, "code": 0}
    more[field] = getattr(base, field) * 3 // 100 + limit
    assert MAX_GROWTH == 3
    assert Cost(**more).is_cheap(base) is cheap
