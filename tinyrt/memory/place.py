"""Offsets for buffers: greedy in a given order, then exact where that is not provably best."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.overlap import Leads, Span

ALIGNMENT = 4
"""Bytes that offsets are multiples of: a word, so that kernels may load words."""

RESTARTS = 400
"""Random orders that are tried before the exact search."""

SEARCH_STEPS = 20_000
"""Placements that the exact search may try; a bound on work, not on time, for repeatability."""

MOST_SEARCHED = 200
"""Buffers up to which more than the fixed orders is tried: each placement costs their square."""

# Large and long-lived buffers are hard to place late; which matters more depends on the graph.
_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.nbytes, b.first),
    lambda b: (-b.nbytes * (b.last - b.first + 1), b.first),
    lambda b: (-(b.last - b.first), -b.nbytes),
    lambda b: (b.first, -b.nbytes),
    lambda b: (-b.last, -b.nbytes),
)


@dataclass(slots=True)
class Problem:
    """Buffers to place, and which of them may overlap.

    Attributes:
        buffers: what to place.
        leads: pairs that may overlap, see ``overlap``.
        clashes: for each buffer, the others that are alive with it.

    """

    buffers: Sequence[Buffer]
    leads: Leads
    clashes: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        count = range(len(self.buffers))
        self.clashes = [
            [j for j in count if j != i and self.buffers[i].alive_with(self.buffers[j])]
            for i in count
        ]

    def forbidden(self, i: int, j: int, at_j: int) -> list[Span]:
        """Offsets (exclusive) at which buffer ``i`` must not begin if ``j`` lies at ``at_j``."""
        i_bytes, j_bytes = self.buffers[i].nbytes, self.buffers[j].nbytes
        if (i, j) in self.leads:
            return self.leads[i, j].forbidden_output(i_bytes, at_j, j_bytes)
        if (j, i) in self.leads:
            return self.leads[j, i].forbidden_input(i_bytes, at_j, j_bytes)
        return [(at_j - i_bytes, at_j + j_bytes)]

    def lowest(self, i: int, at: dict[int, int], least: int = 0) -> int:
        """The lowest offset from ``least`` on at which buffer ``i`` fits beside those placed."""
        placed = (j for j in self.clashes[i] if j in at)
        gaps = sorted(gap for j in placed for gap in self.forbidden(i, j, at[j]))
        offset = align(least)
        moved = True
        while moved:
            moved = False
            for low, high in gaps:
                if low < offset < high:
                    offset, moved = align(high), True
        return offset

    def size(self, at: dict[int, int]) -> int:
        """Bytes from the start to the end of the last buffer, aligned."""
        return align(max((at[i] + self.buffers[i].nbytes for i in at), default=0))

    def lower_bound(self) -> int:
        """Bytes that no placement can do without: those alive at the fullest step.

        Where buffers may overlap, the step is credited with the most that one pair can share.
        """
        bound = 0
        for step in {b.first for b in self.buffers}:
            alive = [i for i, b in enumerate(self.buffers) if b.first <= step <= b.last]
            total = sum(self.buffers[i].nbytes for i in alive)
            shared = [self._shared(y, x) for (y, x) in self.leads if self.buffers[y].first == step]
            bound = max(bound, total - max(shared, default=0))
        return align(bound)

    def _shared(self, y: int, x: int) -> int:
        """Bytes that output ``y`` and input ``x`` can have in common."""
        y_bytes, x_bytes = self.buffers[y].nbytes, self.buffers[x].nbytes
        return y_bytes + x_bytes - max(y_bytes, min(self.leads[y, x].least, y_bytes) + x_bytes)


def place(problem: Problem) -> list[int]:
    """Offsets of all buffers in as few bytes as found; deterministic."""
    best: dict[int, int] = {}
    best_size = 0
    goal = problem.lower_bound()
    for order in _orders(problem):
        at = place_in_order(problem, order)
        size = problem.size(at)
        if not best or size < best_size:
            best, best_size = at, size
        if best_size <= goal:
            break
    else:
        if len(problem.buffers) <= MOST_SEARCHED:
            best = _Search(problem, best, goal).run()
    return [best[i] for i in range(len(problem.buffers))]


def place_in_order(problem: Problem, order: Sequence[int]) -> dict[int, int]:
    """Each buffer in turn at the lowest place that is free over its whole life."""
    at: dict[int, int] = {}
    for i in order:
        at[i] = problem.lowest(i, at)
    return at


def _orders(problem: Problem) -> list[list[int]]:
    found = problem.buffers
    indices = list(range(len(found)))
    orders = [sorted(indices, key=lambda i: (key(found[i]), i)) for key in _ORDERS]
    if problem.leads and len(found) <= MOST_SEARCHED:
        shuffle = random.Random(0)
        for _ in range(RESTARTS):
            order = list(orders[shuffle.randrange(len(_ORDERS))])
            for _ in range(1 + shuffle.randrange(4)):
                i, j = shuffle.randrange(len(order)), shuffle.randrange(len(order))
                order[i], order[j] = order[j], order[i]
            orders.append(order)
    return orders


class _Search:
    """Branch and bound over placements from the bottom up.

    Some best placement has every buffer resting on the bottom or on a constraint with a lower one;
    placing buffers in the order of their offsets, each as low as it goes, finds it.
    """

    def __init__(self, problem: Problem, best: dict[int, int], goal: int) -> None:
        self.problem = problem
        self.best = best
        self.size = problem.size(best)
        self.goal = goal
        self.steps = 0

    def run(self) -> dict[int, int]:
        self._extend({}, 0)
        return self.best

    def _extend(self, at: dict[int, int], least: int) -> None:
        rest = [i for i in range(len(self.problem.buffers)) if i not in at]
        if not rest:
            size = self.problem.size(at)
            if size < self.size:
                self.best, self.size = dict(at), size
            return
        options = sorted((self.problem.lowest(i, at, least), i) for i in rest)
        if max(o + self.problem.buffers[i].nbytes for o, i in options) >= self.size:
            return
        for offset, i in options:
            self.steps += 1
            if self.steps > SEARCH_STEPS or self.size <= self.goal:
                return
            self._extend({**at, i: offset}, offset)


def align(nbytes: int) -> int:
    """The next multiple of ``ALIGNMENT``."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
