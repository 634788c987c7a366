"""Execution order: finds the order with the lowest peak of live bytes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinyrt.ir import Graph
from tinyrt.memory.lifetimes import view_roots
from tinyrt.ops import verify

SEARCH_STATES = 20_000
"""States that the exact search may visit; beyond, a beam search takes over."""

SEARCH_STEPS = 200_000
"""Steps from a state to the next that the exact search may examine. A bound on work, so that every
machine finds the same order."""

READY_PER_STEP = 8
"""Ready nodes that count as one further step: a state's list of them takes work to build."""

BEAM = 32
"""States that the beam keeps after each node."""

BEAM_STEPS = 500_000
"""Steps that the beam search may examine: for long or wide graphs it keeps fewer states."""

MAX_NODES = 10_000
"""Nodes up to which there is a search; longer graphs keep their order."""


def schedule(graph: Graph) -> Graph:
    """The graph with its nodes in the order of the lowest peak; unchanged if that gains nothing.

    The order is exact for graphs with few branches, else the best that a beam search finds. It does
    not consider overlap of an op's output with its input, which depends on the kernels.
    """
    if len(graph.nodes) > MAX_NODES:
        return graph
    problem = _Problem.of(graph)
    peak = problem.peak(range(len(graph.nodes)))
    if peak <= problem.bound():
        return graph
    order = _exact(problem) or _beam(problem)
    if order is None or problem.peak(order) >= peak:
        return graph
    return verify(replace(graph, nodes=tuple(graph.nodes[i] for i in order)))


def peak_bytes(graph: Graph) -> int:
    """Bytes alive at the fullest step of the graph's own order, outputs and inputs included."""
    return _Problem.of(graph).peak(range(len(graph.nodes)))


class _State(NamedTuple):
    """The state after some nodes have run.

    Attributes:
        executed: the nodes that have run, as a bit set.
        alive: the live bytes after them.
        peak: the most live bytes so far.
        ready: nodes that may come next, in the graph's own order.
        node: the last one executed; -1 at the start.
        before: the state before ``node`` ran.

    """

    executed: int
    alive: int
    peak: int
    ready: tuple[int, ...]
    node: int = -1
    before: _State | None = None

    def order(self) -> tuple[int, ...]:
        """The nodes that have run, from the first to the last."""
        order, state = [], self
        while state.before is not None:
            order.append(state.node)
            state = state.before
        return tuple(reversed(order))


@dataclass(frozen=True, slots=True)
class _Problem:
    """A graph reduced to bit sets and bytes.

    Attributes:
        needs: for each node, the nodes that must run before it, as a bit set.
        feeds: for each node, the nodes that need it.
        touches: for each node, the buffers that it reads or creates.
        writes: for each node, the bytes of the buffers that it creates.
        nbytes: size of each buffer.
        readers: for each buffer, the nodes that read it, as a bit set.
        persistent: buffers that live to the end.
        start: bytes of the model inputs.

    """

    needs: tuple[int, ...]
    feeds: tuple[tuple[int, ...], ...]
    touches: tuple[tuple[int, ...], ...]
    writes: tuple[int, ...]
    nbytes: tuple[int, ...]
    readers: tuple[int, ...]
    persistent: frozenset[int]
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
        readers: list[list[int]] = [[] for _ in nbytes]
        feeds: list[list[int]] = [[] for _ in graph.nodes]
        touches: list[tuple[int, ...]] = []
        writes: list[int] = []
        producer: dict[str, int] = {}
        needs: list[int] = []
        for i, node in enumerate(graph.nodes):
            sources = {roots.get(n, n) for n in node.inputs} & index.keys()
            created = [index[o] for o in node.outputs if o in index]
            touches.append(tuple(sorted({*created, *(index[n] for n in sources)})))
            writes.append(sum(nbytes[b] for b in created))
            before = {producer[n] for n in node.inputs if n in producer}
            needs.append(_bits(before))
            for earlier in before:
                feeds[earlier].append(i)
            for n in sources:
                readers[index[n]].append(i)
            producer.update(dict.fromkeys(node.outputs, i))
        outputs = {roots.get(n, n) for n in graph.outputs} & index.keys()
        return cls(
            tuple(needs),
            tuple(map(tuple, feeds)),
            tuple(touches),
            tuple(writes),
            tuple(nbytes),
            tuple(map(_bits, readers)),
            frozenset(index[n] for n in outputs),
            sum(nbytes[index[n]] for n in graph.inputs),
        )

    def initial(self) -> _State:
        ready = tuple(i for i, needs in enumerate(self.needs) if not needs)
        return _State(0, self.start, self.start, ready)

    def step(self, state: _State, node: int) -> _State:
        """The state after one more node."""
        executed = state.executed | 1 << node
        during = state.alive + self.writes[node]
        freed = sum(
            self.nbytes[b]
            for b in self.touches[node]
            if b not in self.persistent and not self.readers[b] & ~executed
        )
        ready = tuple(i for i in state.ready if i != node)
        new = [i for i in self.feeds[node] if not self.needs[i] & ~executed]
        if new:
            ready = tuple(sorted((*ready, *new)))
        return _State(executed, during - freed, max(state.peak, during), ready, node, state)

    def peak(self, order: Iterable[int]) -> int:
        """Bytes alive at the fullest step of an order."""
        alive = most = self.start
        remaining = [readers.bit_count() for readers in self.readers]
        for node in order:
            alive += self.writes[node]
            most = max(most, alive)
            for b in self.touches[node]:
                remaining[b] -= self.readers[b] >> node & 1
                alive -= self.nbytes[b] * (remaining[b] == 0 and b not in self.persistent)
        return most

    def bound(self) -> int:
        """Bytes that are alive at some step of every order: all that one node touches."""
        return max((sum(self.nbytes[b] for b in t) for t in self.touches), default=0)


def _bits(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def _steps(state: _State) -> int:
    """Work of examining all steps from a state."""
    return len(state.ready) * (1 + len(state.ready) // READY_PER_STEP)


def _exact(problem: _Problem) -> tuple[int, ...] | None:
    """Lowest peak first: the first complete order found is the best; None if too many states."""
    everything = (1 << len(problem.needs)) - 1
    queue = [(problem.start, 0, problem.initial())]
    visited: set[int] = set()
    pushed = steps = 0
    while True:  # a graph has no cycles: some order is complete
        _, _, state = heapq.heappop(queue)
        if state.executed == everything:
            return state.order()
        if state.executed in visited:
            continue
        visited.add(state.executed)
        steps += _steps(state)
        if len(visited) > SEARCH_STATES or steps > SEARCH_STEPS:
            return None
        for node in state.ready:
            pushed -= 1  # of equal peaks, go deeper first
            after = problem.step(state, node)
            heapq.heappush(queue, (after.peak, pushed, after))


def _beam(problem: _Problem) -> tuple[int, ...] | None:
    """The best order of the widest beam search that the work allows; None if it allows none."""
    steps, order = _follow(problem, 1)
    if order is None:
        return None
    width = min(BEAM, BEAM_STEPS // max(steps, 1))
    return (_follow(problem, width)[1] if width > 1 else None) or order


def _follow(problem: _Problem, width: int) -> tuple[int, tuple[int, ...] | None]:
    """Steps examined by a beam of this width, and its order; None if it ran out of steps."""
    states, steps = [problem.initial()], 0
    for _ in problem.needs:
        steps += sum(map(_steps, states))
        if steps > 2 * BEAM_STEPS:
            return steps, None
        after: dict[int, _State] = {}
        for state in states:
            for node in state.ready:
                new = problem.step(state, node)
                old = after.get(new.executed)
                if old is None or new.peak < old.peak:
                    after[new.executed] = new
        states = sorted(after.values(), key=lambda s: (s.peak, s.alive))[:width]
    return steps, states[0].order()
