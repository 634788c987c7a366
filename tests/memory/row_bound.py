"""The least memory in which a chain of ops can run row by row, by search over every order of rows.

Independent of the planner: it knows ops by their windows alone, and neither delays, batches, rings
nor offsets. Rows are whole, none is computed twice, and those of a tensor come from top to bottom.

A state says how many rows of each tensor there are. What it keeps is every row that will be read
again; going on by a row takes what is kept before, and the new row beside it unless the op is
element-wise. What is kept is a submodular function of the state: a row counts from when it is there
(modular) until all its readers are (a conjunction, which is supermodular). So a step after which no
more is kept than before can be taken at once: any way on that leaves it out stays within the same
memory when it is put in first. Other steps are searched exhaustively.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.memory.targets import DSP
from tinyrt.ir import Graph
from tinyrt.ops import OPS

State = tuple[int, ...]


@dataclass(frozen=True)
class Maker:
    """What makes the rows of a tensor: ``rows`` of ``nbytes`` each.

    Attributes:
        reads: number of a tensor, rows of a window, step, rows above.
        scratch: bytes while a row is made.
        apart: whether a row must not lie on what dies with it.
        sums: bytes that are kept from the first row on, where rows are only added up.

    """

    rows: int
    nbytes: int
    reads: tuple[tuple[int, int, int, int], ...] = ()
    scratch: int = 0
    apart: bool = True
    sums: int = 0


def makers_of(graph: Graph, stop: int, *, pushed: bool) -> list[Maker]:
    """The input, and the ops before ``stop``, with the scratch memory of the kernels of an M4."""
    (x,) = graph.input_values
    number = {x.name: 0}
    found = [Maker(x.shape[1], x.nbytes // x.shape[1], apart=pushed)]
    for i in range(stop):
        node = graph.bind(i)
        op = OPS[node.op].row_op(node)
        pairs = zip(node.inputs, op.windows, strict=True)
        reads = [(number[v.name], w.rows, w.step, w.above) for v, w in pairs if v and w]
        y = node.output
        number[y.name] = len(found)
        if op.fold is not None:
            (source,) = reads
            found.append(Maker(found[source[0]].rows, 0, (source,), sums=4 * op.fold.channels))
            continue
        scratch = DSP.scratch_bytes(op.on_rows(1))
        apart = OPS[node.op].macs(node) > 0
        found.append(Maker(y.shape[1], y.nbytes // y.shape[1], tuple(reads), scratch, apart))
    return found


class RowSearch:
    """Whether rows can be made in so many bytes."""

    def __init__(self, makers: list[Maker], held: bool) -> None:
        self.makers, self.held = makers, held
        self.readers = [
            [
                (i, step, above)
                for i, m in enumerate(makers)
                for s, _, step, above in m.reads
                if s == t
            ]
            for t in range(len(makers))
        ]

    def kept(self, state: State, tensors: Iterable[int]) -> int:
        """Bytes of these tensors' rows that are there and will be read again."""
        total = 0
        for t in tensors:
            maker, first = self.makers[t], state[t]
            for reader, step, above in self.readers[t]:
                if state[reader] < self.makers[reader].rows:
                    first = min(first, max(state[reader] * step - above, 0))
            total += (state[t] - first) * maker.nbytes + maker.sums * (state[t] > 0)
        return total

    def ready(self, state: State, t: int) -> bool:
        """Whether the next row of a tensor can be made."""
        maker, row = self.makers[t], state[t]
        return row < maker.rows and all(
            state[s] >= min(row * step - above + rows, self.makers[s].rows)
            for s, rows, step, above in maker.reads
        )

    def steps(self, state: State, kept: int, most: int) -> list[tuple[int, State]]:
        """What is kept after each step that takes no more than ``most`` bytes, and its state."""
        found = []
        for t, maker in enumerate(self.makers):
            if self.ready(state, t):
                after = (*state[:t], state[t] + 1, *state[t + 1 :])
                touched = t, *(source for source, *_ in maker.reads)
                then = kept - self.kept(state, touched) + self.kept(after, touched)
                new = maker.nbytes + maker.sums * (state[t] == 0)
                during = kept + new if maker.apart else max(kept, then)
                if during + maker.scratch <= most:
                    found.append((then, after))
        return found

    def fits(self, most: int) -> bool:
        """Whether there is an order of rows that never takes more than ``most`` bytes."""
        start = tuple(m.rows if self.held and not m.reads else 0 for m in self.makers)
        end = tuple(m.rows for m in self.makers)
        stack, seen = [start], {start}
        while stack:
            state = stack.pop()
            if state == end:
                return True
            kept = self.kept(state, range(len(state)))
            ways = self.steps(state, kept, most) if kept <= most else []
            least = min(ways, default=None)
            for _, after in [least] if least is not None and least[0] <= kept else ways:
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
        return False
