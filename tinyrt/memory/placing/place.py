"""Offsets for buffers: greedy in many orders, then exact where that is not provably best."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.exact import search
from tinyrt.memory.placing.overlap import Leads, Span

ALIGNMENT = 4
"""Bytes that offsets are multiples of: a word, so that kernels may load words."""

RESTARTS = 400
"""Orders that are tried after the fixed ones, each a small change of one of them."""

FEW = 12
"""Groups up to which the search is soon done, with no need of a good placement to begin with."""

PLACING_WORK = 400_000
"""Pairs of buffers that placing in further orders may look at; a bound on work, not on time, so
that every machine finds the same plan."""

MOST_PAIRS = 400_000
"""Pairs of buffers kept at the same time up to which all of them are looked at; where there are
more, buffers are placed one after the other as the program needs them."""

Tie = tuple[int, int]
"""(index of another buffer, bytes from its start): where a buffer lies that shares its bytes."""

Spans = tuple[Span, ...]

# Large and long-lived buffers are hard to place late; which matters more depends on the graph.
_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.nbytes, b.first),
    lambda b: (-b.nbytes * (b.last - b.first + 1), b.first),
    lambda b: (-(b.last - b.first), -b.nbytes),
    lambda b: (b.first, -b.nbytes),
    lambda b: (-b.last, -b.nbytes),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Buffers at fixed distances from each other: they share bytes.

    Attributes:
        members: buffer -> bytes from the group's own start.
        nbytes: from its start to its end.

    """

    members: dict[int, int]
    nbytes: int


@dataclass(slots=True)
class Problem:
    """Buffers to place, which of them may overlap, and which of them must share bytes.

    Attributes:
        buffers: what to place.
        leads: pairs that may overlap, see ``overlap``.
        ties: buffer -> the other one whose bytes it shares, and from which byte on.
        alignment: what offsets are multiples of; distances in ``ties`` must be, too.
        groups: what is placed as one: each buffer without a tie, with all those tied to it.
        gaps: for each group and each other one that it must keep away from: the distances between
            their offsets, as open intervals, that are too close.
        pairs: of buffers that are kept at the same time.
        crowded: whether that is too many; ``gaps`` is empty then.

    """

    buffers: Sequence[Buffer]
    leads: Leads
    ties: Mapping[int, Tie] = field(default_factory=dict)
    alignment: int = ALIGNMENT
    groups: list[Group] = field(init=False)
    gaps: list[dict[int, Spans]] = field(init=False)
    pairs: int = field(init=False)
    crowded: bool = field(init=False)

    def __post_init__(self) -> None:
        self.groups = self._grouped()
        home = {b: g for g, group in enumerate(self.groups) for b in group.members}
        self.gaps = [{} for _ in self.groups]
        self.pairs = self._pairs()
        self.crowded = self.pairs > MOST_PAIRS
        if self.crowded:
            return
        # The same distances are those of many pairs.
        known: dict[Spans, Spans] = {}
        by_first = sorted(range(len(self.buffers)), key=lambda i: self.buffers[i].first)
        alive: list[int] = []
        for i in by_first:
            alive = [j for j in alive if self.buffers[j].last >= self.buffers[i].first]
            for j in alive:
                # Within a group, buffers that share bytes hold the same in them.
                if home[i] != home[j]:
                    self._keep_apart(i, home[i], j, home[j], known)
            alive.append(i)

    def _pairs(self) -> int:
        """Buffers that are kept when another one begins to be, in all."""
        begins, ends = sorted(b.first for b in self.buffers), sorted(b.last for b in self.buffers)
        return sum(i - bisect_left(ends, first) for i, first in enumerate(begins))

    def _grouped(self) -> list[Group]:
        members: dict[int, dict[int, int]] = {}
        for i in range(len(self.buffers)):
            root, offset = i, 0
            while root in self.ties:
                root, step = self.ties[root]
                offset += step
            members.setdefault(root, {})[i] = offset
        groups = []
        for offsets in members.values():
            start = min(offsets.values())
            relative = {b: at - start for b, at in offsets.items()}
            end = max(at + self.buffers[b].nbytes for b, at in relative.items())
            groups.append(Group(relative, end))
        return groups

    def _keep_apart(
        self, i: int, group_i: int, j: int, group_j: int, known: dict[Spans, Spans]
    ) -> None:
        shift = self.groups[group_j].members[j] - self.groups[group_i].members[i]
        near = tuple((low + shift, high + shift) for low, high in self.too_near(i, j))
        far = tuple((-high, -low) for low, high in near)
        for a, b, spans in ((group_i, group_j, near), (group_j, group_i, far)):
            spans = self.gaps[a].get(b, ()) + spans
            self.gaps[a][b] = known.setdefault(spans, spans)

    def align(self, nbytes: int) -> int:
        """The next multiple of the alignment."""
        return -(-nbytes // self.alignment) * self.alignment

    def too_near(self, i: int, j: int) -> list[Span]:
        """Distances (exclusive) from buffer ``j``'s start at which ``i`` must not begin."""
        i_bytes, j_bytes = self.buffers[i].nbytes, self.buffers[j].nbytes
        if (i, j) in self.leads:
            return self.leads[i, j].forbidden_output(i_bytes, 0, j_bytes)
        if (j, i) in self.leads:
            return self.leads[j, i].forbidden_input(i_bytes, 0, j_bytes)
        return [(-i_bytes, j_bytes)]

    def lowest(self, group: int, at: Mapping[int, int], least: int = 0) -> int:
        """The lowest offset from ``least`` on at which the group fits beside those placed."""
        spans = [
            (at[j] + low, at[j] + high)
            for j, gaps in self.gaps[group].items()
            if j in at
            for low, high in gaps
        ]
        spans.sort()
        offset = self.align(least)
        for low, high in spans:
            if low >= offset:
                break
            if high > offset:
                offset = self.align(high)
        return offset

    def size(self, at: Mapping[int, int]) -> int:
        """Bytes from the start to the end of the last of these groups, aligned."""
        return self.align(max((at[g] + self.groups[g].nbytes for g in at), default=0))

    def offsets(self, at: Mapping[int, int]) -> list[int]:
        """Each buffer's offset, from the groups'."""
        found = [0] * len(self.buffers)
        for g, group in enumerate(self.groups):
            for member, distance in group.members.items():
                found[member] = at[g] + distance
        return found

    def part(self, groups: Sequence[int]) -> tuple[Problem, list[int]]:
        """The problem of placing these groups alone, and which buffers those are."""
        chosen = sorted(b for g in groups for b in self.groups[g].members)
        index = {b: i for i, b in enumerate(chosen)}
        leads = {
            (index[y], index[x]): lead
            for (y, x), lead in self.leads.items()
            if y in index and x in index
        }
        ties = {index[b]: (index[a], d) for b, (a, d) in self.ties.items() if b in index}
        buffers = [self.buffers[b] for b in chosen]
        return Problem(buffers, leads, ties, self.alignment), chosen

    def steps(self) -> list[int]:
        """Steps at which something begins to be kept: the arena is fullest at one of them."""
        return sorted({b.first for b in self.buffers})

    def savings(self) -> list[int]:
        """For each of ``steps``: bytes that buffers alive then can have in common, at most.

        Outputs may lie on inputs by their leads, and those of one group on each other.
        """
        steps = self.steps()
        changes = [0] * (len(steps) + 1)
        for group in self.groups:
            if len(group.members) > 1:
                self._add_savings(group, steps, changes)
        found = list(accumulate(changes[:-1]))
        shared: dict[int, int] = {}
        for y, x in self.leads:
            shared[y] = shared.get(y, 0) + self._shared(y, x)
        for y, nbytes in shared.items():
            most = self.align(self.buffers[y].nbytes)
            found[bisect_left(steps, self.buffers[y].first)] += min(nbytes, most)
        return found

    def _add_savings(self, group: Group, steps: Sequence[int], changes: list[int]) -> None:
        """What the buffers of a group have in common, as changes from step to step."""
        lives = {b: self._life(b, steps) for b in group.members}
        moments = sorted({moment for life in lives.values() for moment in life})
        for begin, end in pairwise(moments):
            alive = [b for b, (first, last) in lives.items() if first <= begin < last]
            if len(alive) > 1:
                parts = [(group.members[b], self.buffers[b].nbytes) for b in alive]
                saved = sum(self.align(nbytes) for _, nbytes in parts)
                saved -= _covered([(d, d + nbytes) for d, nbytes in parts], self.align)
                changes[begin] += saved
                changes[end] -= saved

    def _life(self, i: int, steps: Sequence[int]) -> Span:
        """The first of these steps at which a buffer is kept, and the first one behind."""
        return bisect_left(steps, self.buffers[i].first), bisect_right(steps, self.buffers[i].last)

    def alive(self, i: int, step: int) -> bool:
        """Whether buffer ``i`` is kept at a step."""
        return self.buffers[i].first <= step <= self.buffers[i].last

    def lower_bound(self) -> int:
        """Bytes that no placement can do without: those alive at the fullest step.

        They are credited with the most that they can have in common.
        """
        return max(self.bounds(), default=0)

    def bounds(self) -> list[int]:
        """For each of ``steps``: bytes that no placement can do without."""
        steps = self.steps()
        changes = [0] * (len(steps) + 1)
        for i, buffer in enumerate(self.buffers):
            begin, end = self._life(i, steps)
            changes[begin] += self.align(buffer.nbytes)
            changes[end] -= self.align(buffer.nbytes)
        return [n - s for n, s in zip(accumulate(changes[:-1]), self.savings(), strict=True)]

    def _shared(self, y: int, x: int) -> int:
        """Bytes that output ``y`` and input ``x`` can have in common."""
        y_bytes, x_bytes = self.buffers[y].nbytes, self.buffers[x].nbytes
        together = max(y_bytes, min(self.leads[y, x].least, y_bytes) + x_bytes)
        return self.align(y_bytes) + self.align(x_bytes) - self.align(together)


def _covered(spans: Iterable[Span], align: Callable[[int], int]) -> int:
    """Bytes in any of these spans, each reaching to the next multiple of the alignment."""
    total = end = 0
    for start, stop in sorted((start, align(stop)) for start, stop in spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the buffers lie.

    Attributes:
        offsets: of each buffer.
        nbytes: from the start to the end of the last one, aligned.
        lower_bound: bytes that no placement can do without, as far as is known.
        optimal: whether it is known that there is no smaller one.

    """

    offsets: list[int]
    nbytes: int
    lower_bound: int
    optimal: bool


def place(problem: Problem, enough: int = 0) -> Placement:
    """All buffers in as few bytes as found; deterministic.

    Args:
        problem: what to place.
        enough: bytes that are few enough: the search ends where it has reached them.

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
    """Each group, when it begins to be kept, in the first gap that is large enough."""
    lives = [_as_buffer(problem, group) for group in problem.groups]
    order = sorted(range(len(lives)), key=lambda g: (lives[g].first, -lives[g].nbytes, g))
    ending: list[tuple[int, int]] = []
    free: list[Span] = [(0, sum(problem.align(group.nbytes) for group in problem.groups))]
    at: dict[int, int] = {}
    for g in order:
        while ending and ending[0][0] < lives[g].first:
            done = heappop(ending)[1]
            _give_back(free, (at[done], at[done] + problem.align(lives[done].nbytes)))
        size = problem.align(lives[g].nbytes)
        i = next(i for i, (start, stop) in enumerate(free) if stop - start >= size)
        at[g] = free[i][0]
        free[i] = (at[g] + size, free[i][1])
        heappush(ending, (lives[g].last, g))
    return at


def _give_back(free: list[Span], span: Span) -> None:
    """Add to the gaps, in order, one that may touch its neighbours."""
    i = bisect_left(free, span)
    start, stop = span
    if i < len(free) and free[i][0] == stop:
        stop = free.pop(i)[1]
    if i and free[i - 1][1] == start:
        i -= 1
        start = free.pop(i)[0]
    free.insert(i, (start, stop))


def place_in_order(problem: Problem, order: Sequence[int]) -> dict[int, int]:
    """Each group in turn at the lowest place that is free over its whole life."""
    at: dict[int, int] = {}
    for group in order:
        at[group] = problem.lowest(group, at)
    return at


def greedy_size(problem: Problem) -> int:
    """Bytes that the largest group first, each as low as it goes, comes to."""
    return problem.size(place_in_order(problem, _fixed_orders(problem)[0]))


def _fixed_orders(problem: Problem) -> list[list[int]]:
    groups = [_as_buffer(problem, group) for group in problem.groups]
    indices = range(len(groups))
    return [sorted(indices, key=lambda i: (key(groups[i]), i)) for key in _ORDERS]


def _shuffled(
    problem: Problem, fixed: Sequence[Sequence[int]], best: dict[int, int], goal: int
) -> dict[int, int]:
    """The best of ``best`` and of placing in orders that differ a little from the fixed ones."""
    shuffle = random.Random(0)
    work = PLACING_WORK
    each = sum(len(gaps) for gaps in problem.gaps) + len(problem.groups)
    for _ in range(RESTARTS):
        work -= each
        if problem.size(best) <= goal or work < 0:
            break
        order = list(fixed[shuffle.randrange(len(fixed))])
        for _ in range(1 + shuffle.randrange(4)):
            i, j = shuffle.randrange(len(order)), shuffle.randrange(len(order))
            order[i], order[j] = order[j], order[i]
        best = _placed_below(problem, order, problem.size(best)) or best
    return best


def _placed_below(problem: Problem, order: Sequence[int], size: int) -> dict[int, int] | None:
    """As ``place_in_order``; None as soon as it takes that size or more."""
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
