"""Which ops of a model run row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tinyrt.ir import Graph
from tinyrt.memory.kernels import Kernels
from tinyrt.memory.plan import MemoryOptions
from tinyrt.memory.regions import NO_LIMIT
from tinyrt.memory.rows.candidates import THOROUGH, Candidate, Effort, Model, PlacedSegments
from tinyrt.memory.rows.chains import Chain, Piece, chains
from tinyrt.memory.rows.costs import Cost, whole_cost
from tinyrt.memory.segments import Segment
from tinyrt.ops.shared.rows import RowOp

MAX_SEVERAL = 4
"""Ways through a model with several segments whose buffers are placed."""

SOON = 20
"""Orders in which the buffers of cheap candidates are placed."""

BATCHES = (2, 4, 8, 16)
"""Numbers of times that are tried as a batch."""

MAX_RANGES = 20_000
"""Runs of ops that the search considers: all the runs within 200 ops."""

MAX_OF_LEAST = 150
"""Per cent of the least bound that an arena with a pushed input may take to save instructions."""


def choose_segments(
    graph: Graph,
    kernels: Kernels,
    options: MemoryOptions,
    *,
    most: int,
    enough: int = 0,
    pushed: str | None = None,
    costly: bool = False,
    effort: Effort = THOROUGH,
) -> PlacedSegments | None:
    """The segments that make the smallest arena at little cost, placed.

    None if there is no arena that is smaller than ``most``.

    Args:
        graph: a verified graph.
        kernels: the target's; the arena holds their scratch memory.
        options: ports outside the arena, and alignment.
        most: bytes that the arena must be smaller than.
        enough: bytes that are few enough. If no arena of this size is cheap, see ``costs``, the
            search takes one that costs more.
        pushed: a model input that comes row by row and is never held whole.
        costly: whether a smaller arena is worth any cost.
        effort: how far the search goes.

    """
    model = Model(graph, kernels, options, effort)
    goal = _Goal(most, enough, pushed is not None, None if costly else whole_cost(graph, kernels))
    variants = _with_one(model, pushed, most, enough)
    best = goal.best_of(variants)
    if best is None and pushed is not None:
        return None
    least = most if best is None else best.size
    if effort.several and (best is None or best.size > enough):
        best = goal.best_of([*variants, *_with_several(model, pushed, least)])
    return best.finished() if best is not None else None


@dataclass(frozen=True, slots=True)
class _Goal:
    """Chooses one of several candidates.

    Attributes:
        most: bytes that the candidate's arena must be smaller than.
        enough: bytes that are few enough.
        pushed: whether rows of the input are pushed.
        base: of the program to which little may be added; None where a candidate may cost anything.

    """

    most: int
    enough: int
    pushed: bool
    base: Cost | None

    def best_of(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The best candidate, placed; None if all are too large."""
        best = (
            self._pushing(candidates)
            if self.pushed
            else _smallest(candidates, self.most, base=self.base)
        )
        if self.enough and (best is None or best.size > self.enough):
            best = _cheapest(candidates, self.enough) or _smallest(
                candidates, self.most, self.enough
            )
        return best

    def _pushing(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """As ``best_of`` for rows that are pushed.

        A user who cannot hold the input prefers more flash to more time. Either is better than an
        arena nearly as large as one that holds the input.
        """
        if self.base is None or not candidates:
            return _smallest(candidates, self.most)
        least = min(candidate.bound for candidate in candidates)
        most = min(self.most, least * MAX_OF_LEAST // 100 + 1)
        for base in (self.base, replace(self.base, code=NO_LIMIT)):
            best = _smallest(candidates, most, base=base)
            if best is not None:
                return best
        return _cheapest(candidates, most - 1) or _smallest(candidates, self.most)


def _with_one(model: Model, pushed: str | None, most: int, enough: int) -> list[Candidate]:
    """Candidates with one segment."""
    candidates: list[Candidate] = []
    least = most
    for first, stop in islice(_ranges(model.graph, model.ops, pushed), MAX_RANGES):
        if model.live_outside(first, stop) > least:
            continue
        candidate = model.candidate(first, stop, pushed)
        if candidate is None:
            continue
        if candidate.bound <= least:
            candidates.append(candidate)
        if candidate.bound < least:
            candidate.place(model.effort.first_tries)
            least = max(min(least, candidate.size), enough + 1)
    variants = []
    for candidate in _promising(candidates, model.effort.finalists):
        (segment,) = candidate.segments
        others = (Candidate(model, (other,)) for other in _ways(model, segment))
        variants += [candidate, *(other for other in others if other.bound < most)]
    return variants


def _with_several(model: Model, pushed: str | None, most: int) -> list[Candidate]:
    """Candidates with more than one segment, whose buffers may take less than ``most`` bytes."""
    live = model.live_alone(pushed)
    several = _several(_pieces(model, pushed, live, most), live, most)
    finalists = model.effort.finalists
    promising = [*several[:finalists], *several[-finalists:]]
    segments = {(p.segment.first, p.segment.stop): p.segment for c in promising for p in c}
    ways = [
        piece
        for segment in segments.values()
        for other in (segment, *_ways(model, segment))
        if (piece := _piece(Candidate(model, (other,)))).peak < most
    ]
    chosen = _several(ways, live, most)[:MAX_SEVERAL]
    return [Candidate(model, tuple(p.segment for p in chain)) for chain in chosen]


def _several(pieces: Sequence[Piece], live: Sequence[int], most: int) -> list[Chain]:
    """Ways with more than one segment."""
    return [chain for chain in chains(pieces, live, most) if len(chain) > 1]


def _pieces(model: Model, pushed: str | None, live: Sequence[int], most: int) -> list[Piece]:
    """Segments that may be parts of ways below ``most`` bytes."""
    runs = islice(_ranges(model.graph, model.ops, pushed), MAX_RANGES)
    ranges = [(first, stop, pushed) for first, stop in runs]
    if pushed is not None:
        behind = min(stop for _, stop, _ in ranges)
        rest = islice(_ranges(model.graph, model.ops, None), MAX_RANGES)
        ranges += [(first, stop, None) for first, stop in rest if first >= behind]
    across = model.live_across(pushed)
    ranges = [r for r in ranges if across[r[0]] < most and across[r[1]] < most]
    # Each way has a piece for the fullest node. A node that keeps fewer bytes live than such a
    # piece needs may as well run alone.
    fullest = max(range(len(live)), key=live.__getitem__)
    central = [r for r in ranges if r[0] <= fullest < r[1]]
    pieces = _built(model, central, most)
    least = min((piece.peak for piece in pieces), default=NO_LIMIT)
    crowded = {n for n, nbytes in enumerate(live) if nbytes > least}
    # In the order of ranges, which is the same in every process.
    others = [r for r in dict.fromkeys(ranges) if not r[0] <= fullest < r[1]]
    return pieces + _built(model, [r for r in others if crowded & {*range(*r[:2])}], most)


def _built(model: Model, ranges: Sequence[tuple[int, int, str | None]], most: int) -> list[Piece]:
    candidates = [c for r in ranges if (c := model.candidate(*r)) is not None]
    pieces = (_piece(c) for c in candidates)
    return [piece for piece in pieces if piece.peak < most]


def _piece(candidate: Candidate) -> Piece:
    return Piece(candidate.segments[0], candidate.peak, candidate.instructions)


def _promising(candidates: Sequence[Candidate], finalists: int) -> list[Candidate]:
    """Runs of ops that may give a small arena; among those, the runs with little work."""
    by_bound = sorted(candidates, key=lambda c: (c.bound, c.instructions))
    by_work = sorted(candidates, key=lambda c: c.instructions)
    return list(dict.fromkeys([*by_bound[:finalists], *by_work[:finalists]]))


def _ways(model: Model, segment: Segment) -> Iterator[Segment]:
    """The same ops with other batch sizes, and with rings that shift earlier."""
    ways = [(1, True), *((n, early) for n in BATCHES for early in (True, False))]
    for times, early in ways:
        other = model.build(segment.first, segment.stop, segment.pushed, times, early)
        if other is not None:
            yield other


def _cheapest(candidates: Sequence[Candidate], enough: int) -> Candidate | None:
    """The candidate with the fewest instructions that is quickly placed in ``enough`` bytes."""
    fitting = (candidate for candidate in candidates if candidate.bound <= enough)
    for candidate in sorted(fitting, key=lambda c: (c.instructions, c.bound)):
        candidate.place(SOON)
        if candidate.size <= enough:
            return candidate
    return None


def _smallest(
    candidates: Sequence[Candidate], most: int, enough: int = 0, base: Cost | None = None
) -> Candidate | None:
    """The candidate with the smallest arena below ``most``, or the first within ``enough`` bytes.

    Of two candidates with the same arena size, it takes the one with less work.

    Args:
        candidates: in any order.
        most: bytes.
        enough: bytes.
        base: of the program to which little may be added; None where a candidate may cost anything.

    """
    best: Candidate | None = None
    least = most, -1
    for candidate in sorted(candidates, key=lambda c: (c.bound, c.instructions)):
        if (candidate.bound, candidate.instructions) >= least:
            break
        if base is not None and not candidate.is_cheap(base):
            continue
        candidate.place()
        if (candidate.size, candidate.instructions) < least:
            best, least = candidate, (candidate.size, candidate.instructions)
        if candidate.size <= enough:
            break
    return best


def place_segments(
    graph: Graph, kernels: Kernels, options: MemoryOptions, segments: tuple[Segment, ...]
) -> PlacedSegments:
    """A model with just these segments, placed."""
    return Candidate(Model(graph, kernels, options), segments).finished()


def _ranges(
    graph: Graph, ops: Sequence[RowOp | None], pushed: str | None
) -> Iterator[tuple[int, int]]:
    """Runs of ops that work row by row; with a pushed input, those that hold all its readers."""
    if pushed is not None:
        readers = [i for i, n in enumerate(graph.nodes) if pushed in n.inputs]
        if readers:
            for stop in range(readers[-1] + 1, len(ops) + 1):
                yield readers[0], stop
        return
    for first in range(len(ops)):
        stop = first
        while stop < len(ops) and ops[stop] is not None:
            stop += 1
            yield first, stop
