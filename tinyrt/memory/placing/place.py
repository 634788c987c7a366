"""Offsets for buffers: greedy in many orders, then an exact search if greedy is not proven best."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.exact import search
from tinyrt.memory.placing.overlap import Interval
from tinyrt.memory.placing.problem import Group, Problem

RESTARTS = 400
"""Orders that are tried after the fixed ones, each a small change of one of them."""

FEW = 12
"""Groups up to which the exact search is quick without a good placement to start from."""

PLACING_WORK = 400_000
"""Pairs of buffers that placing in further orders may look at; a bound on work, not on time, so
that every machine finds the same plan."""

# Large and long-lived buffers are hard to place late. Which property matters more depends on the
# graph.
_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.nbytes, b.first),
    lambda b: (-b.nbytes * (b.last - b.first + 1), b.first),
    lambda b: (-(b.last - b.first), -b.nbytes),
    lambda b: (b.first, -b.nbytes),
    lambda b: (-b.last, -b.nbytes),
)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the buffers lie.

    Attributes:
        offsets: of each buffer.
        nbytes: from the start to the end of the last one, aligned.
        lower_bound: the best known lower bound of the bytes of any placement.
        optimal: whether the placement is proven smallest.

    """

    offsets: list[int]
    nbytes: int
    lower_bound: int
    optimal: bool


def place(problem: Problem, enough: int = 0) -> Placement:
    """All buffers in as few bytes as found; deterministic.

    Args:
        problem: what to place.
        enough: bytes that are few enough: the search ends once a placement takes no more.

    """
    bound = problem.lower_bound()
    if problem.crowded:
        at = _as_needed(problem)
        size = problem.size(at)
        return Placement(problem.offsets(at), size, bound, size <= bound)
    goal = max(bound, enough)
    fixed = _fixed_orders(problem)
    best = place_in_order(problem, fixed[0])
    for order in fixed[1:]:
        if problem.size(best) <= goal:
            break
        best = min(best, place_in_order(problem, order), key=problem.size)
    if len(problem.groups) > FEW:
        best = _shuffled(problem, fixed, best, goal)
    exhausted = False
    if problem.size(best) > goal:
        best, exhausted = search(problem, best, goal)
    size = problem.size(best)
    optimal = exhausted or size <= bound
    return Placement(problem.offsets(best), size, size if optimal else bound, optimal)


def _as_needed(problem: Problem) -> dict[int, int]:
    """Place each group, in the order of live ranges, in the first gap that is large enough."""
    lives = [_as_buffer(problem, group) for group in problem.groups]
    order = sorted(range(len(lives)), key=lambda g: (lives[g].first, -lives[g].nbytes, g))
    ending: list[tuple[int, int]] = []
    free: list[Interval] = [(0, sum(problem.align(group.nbytes) for group in problem.groups))]
    at: dict[int, int] = {}
    for g in order:
        while ending and ending[0][0] < lives[g].first:
            ended = heappop(ending)[1]
            _give_back(free, (at[ended], at[ended] + problem.align(lives[ended].nbytes)))
        size = problem.align(lives[g].nbytes)
        i = next(i for i, (start, stop) in enumerate(free) if stop - start >= size)
        at[g] = free[i][0]
        free[i] = (at[g] + size, free[i][1])
        heappush(ending, (lives[g].last, g))
    return at


def _give_back(free: list[Interval], span: Interval) -> None:
    """Insert a gap into the sorted gaps, joined with the neighbours that it touches.

    The last gap lies behind all that is placed.
    """
    i = bisect_left(free, span)
    start, stop = span
    if free[i][0] == stop:
        stop = free.pop(i)[1]
    if i and free[i - 1][1] == start:
        i -= 1
        start = free.pop(i)[0]
    free.insert(i, (start, stop))


def place_in_order(problem: Problem, order: Sequence[int]) -> dict[int, int]:
    """Place each group in turn at the lowest offset that is free over its whole live range."""
    at: dict[int, int] = {}
    for group in order:
        at[group] = problem.lowest(group, at)
    return at


def greedy_size(problem: Problem) -> int:
    """Bytes of the greedy placement: largest group first, each as low as it goes."""
    return problem.size(place_in_order(problem, _fixed_orders(problem)[0]))


def _fixed_orders(problem: Problem) -> list[list[int]]:
    groups = [_as_buffer(problem, group) for group in problem.groups]
    indices = range(len(groups))
    return [sorted(indices, key=lambda i: (key(groups[i]), i)) for key in _ORDERS]


def _shuffled(
    problem: Problem, fixed: Sequence[Sequence[int]], best: dict[int, int], goal: int
) -> dict[int, int]:
    """The best placement: ``best``, or one from orders that differ a little from the fixed ones."""
    shuffle = random.Random(0)
    work = PLACING_WORK
    each = sum(len(gaps) for gaps in problem.gaps) + len(problem.groups)
    size = problem.size(best)
    for _ in range(RESTARTS):
        work -= each
        if size <= goal or work < 0:
            break
        order = list(fixed[shuffle.randrange(len(fixed))])
        for _ in range(1 + shuffle.randrange(4)):
            i, j = shuffle.randrange(len(order)), shuffle.randrange(len(order))
            order[i], order[j] = order[j], order[i]
        at = _placed_below(problem, order, size)
        if at is not None:
            best, size = at, problem.size(at)
    return best


def _placed_below(problem: Problem, order: Sequence[int], size: int) -> dict[int, int] | None:
    """As ``place_in_order``; None as soon as the placement takes ``size`` bytes or more."""
    at: dict[int, int] = {}
    for group in order:
        at[group] = problem.lowest(group, at)
        if problem.align(at[group] + problem.groups[group].nbytes) >= size:
            return None
    return at


def _as_buffer(problem: Problem, group: Group) -> Buffer:
    members = [problem.buffers[b] for b in group.members]
    first, last = min(b.first for b in members), max(b.last for b in members)
    return Buffer(members[0].names, group.nbytes, first, last)
