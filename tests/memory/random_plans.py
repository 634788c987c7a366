"""Random programs without kernels, and what the planner's properties are held against.

A program is a list of ops on buffers of bytes. The planner sees lifetimes, distances and ties; the
simulator sees only the ops and moves bytes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tinyrt.memory import Buffer
from tinyrt.memory.placing.overlap import Lead
from tinyrt.memory.placing.problem import ALIGNMENT, Problem


@dataclass
class Op:
    """One op.

    Attributes:
        kind: ``compute`` reads all inputs while it writes; ``sweep`` writes byte k of its output
            once the first input's bytes up to k - lead are read; ``planes`` reads and writes every
            third byte, then again from the next on; ``part`` and ``join`` move bytes.
        reads: the buffers it reads.
        writes: the buffer it writes.
        start: for ``part``, the first byte that it takes.
        lead: for ``sweep``.
        tied: for ``part`` and ``join``, whether its output is to lie where its input does.

    """

    kind: str
    reads: list[int]
    writes: int
    start: int = 0
    lead: int = 0
    tied: bool = False


@dataclass
class Program:
    """Buffers by number, each with its size; ops in order; one model input, number 0."""

    sizes: list[int]
    ops: list[Op] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def lifetimes(self) -> list[Buffer]:
        """The buffers as the planner takes them."""
        first = {0: -1} | {op.writes: i for i, op in enumerate(self.ops)}
        last = dict(first)
        for i, op in enumerate(self.ops):
            last.update(dict.fromkeys(op.reads, i))
        last.update(dict.fromkeys(self.outputs, len(self.ops)))
        return [Buffer((f"b{i}",), n, first[i], last[i]) for i, n in enumerate(self.sizes)]

    def problem(self) -> Problem:
        """What the planner is asked."""
        buffers = self.lifetimes()
        leads, ties = {}, {}
        for i, op in enumerate(self.ops):
            if op.kind in ("sweep", "planes") and buffers[op.reads[0]].last == i:
                leads[op.writes, op.reads[0]] = Lead(op.lead, exact=op.kind == "planes")
            if op.tied and op.kind == "part":
                ties[op.writes] = (op.reads[0], op.start)
            if op.tied and op.kind == "join":
                starts = [sum(self.sizes[b] for b in op.reads[:n]) for n in range(len(op.reads))]
                ties |= {b: (op.writes, at) for b, at in zip(op.reads, starts, strict=True)}
        return Problem(buffers, leads, ties)


def random_program(seed: int) -> Program:
    """Up to nine ops; sizes of a few words."""
    rng = random.Random(seed)
    program = Program([rng.randrange(1, 40)])
    tied: set[int] = set()
    for _ in range(rng.randrange(1, 10)):
        y = len(program.sizes)
        kind = rng.choice(("compute", "compute", "sweep", "sweep", "planes", "part", "join"))
        x = rng.randrange(max(0, y - 3), y)
        op = Op(kind, [x], y)
        if kind == "compute":
            op.reads = sorted(rng.sample(range(y), min(y, rng.randrange(1, 4))))
            size = rng.randrange(1, 40)
        elif kind == "sweep":
            size = max(1, program.sizes[x] + rng.randrange(-8, 9))
            op.lead = rng.randrange(0, size + 1)
        elif kind == "planes":
            size = program.sizes[x]
        elif kind == "part":
            op.start = rng.randrange(program.sizes[x])
            op.tied = op.start % ALIGNMENT == 0
            size = rng.randrange(1, program.sizes[x] - op.start + 1)
        else:
            op.reads = rng.sample(range(y), min(y, rng.randrange(1, 4)))
            aligned = all(program.sizes[b] % ALIGNMENT == 0 for b in op.reads[:-1])
            op.tied = aligned and 0 not in op.reads and not tied.intersection(op.reads)
            size = sum(program.sizes[b] for b in op.reads)
        if op.tied:
            tied.update([y] if kind == "part" else op.reads)
        program.ops.append(op)
        program.sizes.append(size)
    read = {b for op in program.ops for b in op.reads}
    program.outputs = [b for b in range(len(program.sizes)) if b not in read]
    return program


def simulate(program: Program, offsets: list[int], nbytes: int) -> None:
    """Run the program in an arena and fail where a byte is not what it should be."""
    arena: list[object] = [None] * nbytes
    wanted: dict[int, list[object]] = {}

    def write(b: int, k: int) -> None:
        arena[offsets[b] + k] = wanted[b][k]

    def check(b: int, start: int, stop: int) -> None:
        at = offsets[b]
        assert at >= 0
        assert at + program.sizes[b] <= nbytes
        assert arena[at + start : at + stop] == wanted[b][start:stop], f"buffer {b}"

    wanted[0] = [(0, k) for k in range(program.sizes[0])]
    for k in range(program.sizes[0]):
        write(0, k)
    for op in program.ops:
        y, size = op.writes, program.sizes[op.writes]
        if op.kind in ("part", "join"):
            content = [byte for b in op.reads for byte in wanted[b]]
            wanted[y] = content[op.start : op.start + size]
        else:
            wanted[y] = [(y, k) for k in range(size)]
        for b in op.reads:
            check(b, 0, program.sizes[b])
        if op.kind == "sweep":
            x, done = op.reads[0], 0
            for k in range(size):
                upto = min(max(done, k - op.lead + 1), program.sizes[x])
                check(x, done, upto)
                done = upto
                write(y, k)
            check(x, done, program.sizes[x])
        elif op.kind == "planes":
            x = op.reads[0]
            for k in (k for plane in range(3) for k in range(plane, size, 3)):
                check(x, k, k + 1)
                write(y, k)
        elif not op.tied:
            for k in range(size):
                write(y, k)
            for b in op.reads:
                check(b, 0, program.sizes[b])
        check(y, 0, size)
    for b in program.outputs:
        check(b, 0, program.sizes[b])


def greedy(buffers: list[Buffer]) -> int:
    """Bytes of the plain greedy plan: largest first, at the lowest offset with no neighbour."""
    placed: list[tuple[int, Buffer]] = []
    for b in sorted(buffers, key=lambda b: (-b.nbytes, b.first)):
        at = 0
        for start, other in sorted(placed, key=lambda p: p[0]):
            if b.first <= other.last and other.first <= b.last and at + b.nbytes > start:
                at = max(at, -(-(start + other.nbytes) // ALIGNMENT) * ALIGNMENT)
        placed.append((at, b))
    return -(-max(at + b.nbytes for at, b in placed) // ALIGNMENT) * ALIGNMENT


def fits(problem: Problem, nbytes: int) -> bool:
    """Whether any placement takes at most so many bytes: all of them are tried."""
    places = range(0, max(nbytes, 0) + 1, ALIGNMENT)
    count = len(problem.buffers)
    # For buffer i and each place of j: a bit set of the places of i.
    allowed = [
        [
            [
                sum(1 << n for n, at in enumerate(places) if _apart(problem, i, at, j, at_j))
                for at_j in places
            ]
            for j in range(i)
        ]
        for i in range(count)
    ]
    inside = [
        sum(1 << n for n, at in enumerate(places) if at + b.nbytes <= nbytes)
        for b in problem.buffers
    ]

    def extend(at: list[int]) -> bool:
        i = len(at)
        free = inside[i]
        for j, place in enumerate(at):
            free &= allowed[i][j][place]
        if i == count - 1:
            return free != 0
        return any(free >> n & 1 and extend([*at, n]) for n in range(len(places)))

    return extend([])


def _apart(problem: Problem, i: int, at_i: int, j: int, at_j: int) -> bool:
    a, b = problem.buffers[i], problem.buffers[j]
    if a.last < b.first or b.last < a.first:
        return True
    if at_i + a.nbytes <= at_j or at_j + b.nbytes <= at_i:
        return True
    for (y, at_y), (x, at_x) in (((i, at_i), (j, at_j)), ((j, at_j), (i, at_i))):
        lead = problem.leads.get((y, x))
        if lead and (at_y == at_x if lead.exact else at_y + lead.least <= at_x):
            return True
    return False
