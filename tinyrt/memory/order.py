"""Execution order: the one that keeps the fewest bytes alive at its fullest step."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import view_roots
from tinyrt.ops import verify

SEARCH_STATES = 20_000
"""States that the exact search may visit; beyond, a beam is followed."""

BEAM = 32
"""States that the beam keeps after each node."""


def schedule(graph: Graph) -> Graph:
    """The graph with its nodes in the order of the lowest peak; unchanged if that gains nothing.

    Exact for graphs with few branches, else the best that a beam search finds. Overlap of an op's
    output with its input is not considered: it depends on the kernels.
    """
    problem = _Problem.of(graph)
    order = _exact(problem) or _beam(problem)
    if problem.peak(order) >= problem.peak(range(len(graph.nodes))):
        return graph
    return verify(replace(graph, nodes=tuple(graph.nodes[i] for i in order)))


def peak_bytes(graph: Graph) -> int:
    """Bytes alive at the fullest step of the graph's own order, outputs and inputs included."""
    return _Problem.of(graph).peak(range(len(graph.nodes)))


@dataclass(frozen=True, slots=True)
class _State:
    """Some nodes done: which (a bit set), the bytes alive after them, the peak so far."""

    done: int
    alive: int
    peak: int
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Problem:
    """A graph reduced to bit sets and bytes.

    Attributes:
        needs: for each node, the nodes that must be done before it.
        reads: for each node, the buffers that it reads.
        writes: for each node, the buffers that it creates.
        nbytes: size of each buffer.
        readers: for each buffer, the nodes that read it; outputs are never given up.
        kept: buffers that live to the end.
        start: bytes of the model inputs.

    """

    needs: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[int, ...], ...]
    nbytes: tuple[int, ...]
    readers: tuple[int, ...]
    kept: frozenset[int]
    start: int

    @classmethod
    def of(cls, graph: Graph) -> _Problem:
        roots = view_roots(graph)
        index: dict[str, int] = {}
        nbytes: list[int] = []
        for name in (*graph.inputs, *(o for n in graph.nodes for o in n.outputs)):
            if roots.get(name, name) == name:
                index[name] = len(nbytes)
                nbytes.append(graph.value(name).nbytes)
        readers = [0] * len(nbytes)
        reads: list[tuple[int, ...]] = []
        writes: list[tuple[int, ...]] = []
        producer: dict[str, int] = {}
        needs: list[int] = []
        for i, node in enumerate(graph.nodes):
            sources = {roots.get(n, n) for n in node.inputs if n} & index.keys()
            reads.append(tuple(sorted(index[n] for n in sources)))
            writes.append(tuple(index[o] for o in node.outputs if o in index))
            needs.append(sum({1 << producer[n] for n in node.inputs if n in producer}))
            for n in sources:
                readers[index[n]] |= 1 << i
            producer.update(dict.fromkeys(node.outputs, i))
        outputs = {roots.get(n, n) for n in graph.outputs} & index.keys()
        return cls(
            tuple(needs),
            tuple(reads),
            tuple(writes),
            tuple(nbytes),
            tuple(readers),
            frozenset(index[n] for n in outputs),
            sum(nbytes[index[n]] for n in graph.inputs),
        )

    def initial(self) -> _State:
        return _State(0, self.start, self.start, ())

    def ready(self, state: _State) -> list[int]:
        """Nodes that may come next, in the graph's own order."""
        return [
            i
            for i, needs in enumerate(self.needs)
            if not state.done >> i & 1 and needs & ~state.done == 0
        ]

    def step(self, state: _State, node: int) -> _State:
        """The state after one more node."""
        done = state.done | 1 << node
        during = state.alive + sum(self.nbytes[b] for b in self.writes[node])
        freed = sum(
            self.nbytes[b]
            for b in {*self.reads[node], *self.writes[node]}
            if b not in self.kept and self.readers[b] & ~done == 0
        )
        return _State(done, during - freed, max(state.peak, during), (*state.order, node))

    def peak(self, order: range | tuple[int, ...]) -> int:
        state = self.initial()
        for node in order:
            state = self.step(state, node)
        return state.peak


def _exact(problem: _Problem) -> tuple[int, ...] | None:
    """Lowest peak first: the first complete order found is the best; None if too many states."""
    everything = (1 << len(problem.needs)) - 1
    queue = [(problem.start, 0, problem.initial())]
    seen: set[int] = set()
    pushed = 0
    while queue:
        _, _, state = heapq.heappop(queue)
        if state.done == everything:
            return state.order
        if state.done in seen:
            continue
        seen.add(state.done)
        if len(seen) > SEARCH_STATES:
            return None
        for node in problem.ready(state):
            pushed -= 1  # of equal peaks, go deeper first
            after = problem.step(state, node)
            heapq.heappush(queue, (after.peak, pushed, after))
    return None


def _beam(problem: _Problem) -> tuple[int, ...]:
    states = [problem.initial()]
    for _ in problem.needs:
        after: dict[int, _State] = {}
        for state in states:
            for node in problem.ready(state):
                new = problem.step(state, node)
                old = after.get(new.done)
                if old is None or new.peak < old.peak:
                    after[new.done] = new
        states = sorted(after.values(), key=lambda s: (s.peak, s.alive))[:BEAM]
    return states[0].order
