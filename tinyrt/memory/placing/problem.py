"""Buffers to place, and how near they may come to each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from tinyrt.memory.lifetimes import Buffer
from tinyrt.memory.placing.overlap import Interval, Leads

ALIGNMENT = 4
"""Bytes that offsets are multiples of: a word, so that kernels may load words."""

MAX_PAIRS = 400_000
"""Limit of pairs of buffers with overlapping live ranges. Beyond it, buffers are placed one after
the other as the program needs them."""

Tie = tuple[int, int]
"""(index of another buffer, bytes from that buffer's start): the place of a buffer inside it."""

Intervals = tuple[Interval, ...]


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
        ties: buffer -> the buffer whose bytes it shares, and the first of these bytes.
        alignment: offsets are multiples of this; distances in ``ties`` must be, too.
        groups: buffers placed as one: each buffer without a tie, with all buffers tied to it.
        gaps: for each group and each other group live at the same time: open intervals of distances
            between their offsets that are too small.
        pairs: number of pairs of buffers with overlapping live ranges.
        crowded: whether there are more than ``MAX_PAIRS`` of them; ``gaps`` is empty then.

    """

    buffers: Sequence[Buffer]
    leads: Leads
    ties: Mapping[int, Tie] = field(default_factory=dict)
    alignment: int = ALIGNMENT
    groups: list[Group] = field(init=False)
    pairs: int = field(init=False)
    crowded: bool = field(init=False)
    _gaps: list[dict[int, Intervals]] = field(init=False, default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.groups = self._grouped()
        self.pairs = self._pairs()
        self.crowded = self.pairs > MAX_PAIRS

    @property
    def gaps(self) -> list[dict[int, Intervals]]:
        """See above; found when it is first asked for, which bounds alone never do."""
        if not self._gaps:
            self._gaps = [{} for _ in self.groups]
            if not self.crowded:
                self._find_gaps()
        return self._gaps

    def _find_gaps(self) -> None:
        home = {b: g for g, group in enumerate(self.groups) for b in group.members}
        # Many pairs have the same distances: store each tuple of them once.
        shared: dict[Intervals, Intervals] = {}
        by_first = sorted(range(len(self.buffers)), key=lambda i: self.buffers[i].first)
        alive: list[int] = []
        for i in by_first:
            alive = [j for j in alive if self.buffers[j].last >= self.buffers[i].first]
            for j in alive:
                # Within a group, buffers that share bytes hold the same in them.
                if home[i] != home[j]:
                    self._keep_apart(i, home[i], j, home[j], shared)
            alive.append(i)

    def _pairs(self) -> int:
        """The number of pairs of buffers with overlapping live ranges."""
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
            end = max(at + self.buffers[b].nbytes for b, at in offsets.items())
            groups.append(Group(offsets, end))
        return groups

    def _keep_apart(
        self, i: int, group_i: int, j: int, group_j: int, shared: dict[Intervals, Intervals]
    ) -> None:
        shift = self.groups[group_j].members[j] - self.groups[group_i].members[i]
        near = tuple([(low + shift, high + shift) for low, high in self.too_near(i, j)])
        far = tuple([(-high, -low) for low, high in near])
        for a, b, spans in ((group_i, group_j, near), (group_j, group_i, far)):
            spans = self._gaps[a].get(b, ()) + spans
            self._gaps[a][b] = shared.setdefault(spans, spans)

    def align(self, nbytes: int) -> int:
        """The next multiple of the alignment."""
        return -(-nbytes // self.alignment) * self.alignment

    def too_near(self, i: int, j: int) -> list[Interval]:
        """Distances (exclusive) from buffer ``j``'s start at which ``i`` must not begin.

        Requires that ``j`` is there first, as an op's input is before its output.
        """
        i_bytes, j_bytes = self.buffers[i].nbytes, self.buffers[j].nbytes
        if (i, j) in self.leads:
            return self.leads[i, j].forbidden_output(i_bytes, j_bytes)
        return [(-i_bytes, j_bytes)]

    def lowest(self, group: int, at: Mapping[int, int], least: int = 0) -> int:
        """The lowest offset from ``least`` on at which the group fits beside those placed."""
        gaps = self.gaps[group]
        beside = at if len(at) < len(gaps) else gaps
        spans = [
            (at[j] + low, at[j] + high)
            for j in beside
            if j in gaps and j in at
            for low, high in gaps[j]
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
        offsets = [0] * len(self.buffers)
        for g, group in enumerate(self.groups):
            for member, distance in group.members.items():
                offsets[member] = at[g] + distance
        return offsets

    def part(self, groups: Sequence[int]) -> tuple[Problem, list[int]]:
        """The problem of placing these groups alone, and the indices of their buffers."""
        chosen = sorted(b for g in groups for b in self.groups[g].members)
        index = {b: i for i, b in enumerate(chosen)}
        leads = {
            (index[y], index[x]): lead
            for (y, x), lead in self.leads.items()
            if y in index and x in index
        }
        ties = {index[b]: (index[a], d) for b, (a, d) in self.ties.items() if b in index}
        buffers = [self.buffers[b] for b in chosen]
        part = Problem(buffers, leads, ties, self.alignment)
        if self._gaps and not self.crowded:
            part._gaps = self._gaps_among(groups)
        return part, chosen

    def _gaps_among(self, groups: Iterable[int]) -> list[dict[int, Intervals]]:
        """The gaps between some groups, which keep their order in a problem of their own."""
        number = {g: i for i, g in enumerate(sorted(groups))}
        return [
            {number[h]: near for h, near in self._gaps[g].items() if h in number} for g in number
        ]

    def steps(self) -> list[int]:
        """Steps at which a live range begins: the arena is fullest at one of them."""
        return sorted({b.first for b in self.buffers})

    def savings(self) -> list[int]:
        """For each of ``steps``: the most bytes that the buffers live then can share.

        Outputs may overlap inputs by their leads. Buffers of one group overlap each other.
        """
        steps = self.steps()
        changes = [0] * (len(steps) + 1)
        for group in self.groups:
            if len(group.members) > 1:
                self._add_savings(group, steps, changes)
        savings = list(accumulate(changes[:-1]))
        shared: dict[int, int] = {}
        for y, x in self.leads:
            shared[y] = shared.get(y, 0) + self._shared(y, x)
        for y, nbytes in shared.items():
            most = self.align(self.buffers[y].nbytes)
            savings[bisect_left(steps, self.buffers[y].first)] += min(nbytes, most)
        return savings

    def _add_savings(self, group: Group, steps: Sequence[int], changes: list[int]) -> None:
        """Add the bytes that a group's buffers share, as changes from step to step."""
        lives = {b: self._life(b, steps) for b in group.members}
        moments = sorted({moment for life in lives.values() for moment in life})
        for begin, end in pairwise(moments):
            alive = [b for b, (first, last) in lives.items() if first <= begin < last]
            parts = [(group.members[b], self.buffers[b].nbytes) for b in alive]
            saved = sum(self.align(nbytes) for _, nbytes in parts)
            saved -= _covered([(d, d + nbytes) for d, nbytes in parts], self.align)
            changes[begin] += saved
            changes[end] -= saved

    def _life(self, i: int, steps: Sequence[int]) -> Interval:
        """The indices [begin, end) of the steps at which a buffer is live."""
        return bisect_left(steps, self.buffers[i].first), bisect_right(steps, self.buffers[i].last)

    def alive(self, i: int, step: int) -> bool:
        """Whether buffer ``i`` is live at a step."""
        return self.buffers[i].first <= step <= self.buffers[i].last

    def lower_bound(self) -> int:
        """The lower bound of any placement: live bytes at the fullest step.

        The most that these buffers can share is subtracted.
        """
        return max(self.bounds(), default=0)

    def bounds(self) -> list[int]:
        """For each of ``steps``: the lower bound of any placement."""
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


def _covered(spans: Iterable[Interval], align: Callable[[int], int]) -> int:
    """Bytes in any of these spans, each reaching to the next multiple of the alignment."""
    total = end = 0
    for start, stop in sorted((start, align(stop)) for start, stop in spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total
