"""Segments: runs of ops that work row by row, on a few rows of each tensor.

A tensor between two ops of a segment is a ring: as many rows as its readers' windows need, one
behind the other. To *advance* a ring means to move its rows one place towards its start, which
drops the oldest row, and to fill the last place with the padding's value. Its op then writes a row
into the last place.
The order of all this is fixed when the segment is built: a stage of period ``p`` and delay ``d``
computes row ``r`` at time ``d + r * p``, as soon as the rows that it reads are there. Every stage
then finds its rows at the same places each time, and no row is computed twice.

Several times can make a *batch*: then a stage computes all of its rows of these times at once, and
rings are larger by as many rows. The first and the last batch of a stage may have fewer rows than
others; their rows lie where they would lie in a whole batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tinyrt.ir import BoundNode
from tinyrt.ops.shared.rows import Fold


@dataclass(frozen=True, slots=True)
class Ring:
    """The newest rows of a tensor.

    Attributes:
        name: the buffer's name in a plan.
        value: the tensor.
        rows: number of rows that the ring holds.
        row_bytes: size of a row.
        fill: the raw value of padding; None without padding.
        block: rows dropped and written at once.

    """

    name: str
    value: str
    rows: int
    row_bytes: int
    fill: int | None
    block: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.rows * self.row_bytes

    @property
    def block_bytes(self) -> int:
        """Bytes of the last rows, which a batch writes at once."""
        return self.block * self.row_bytes


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes that a stage reads or writes for each of its rows.

    Attributes:
        name: of a ring, or of a tensor that is held whole.
        start: the first byte of the first row: of a batch in a ring, else of the whole tensor.
        nbytes: bytes of one row's access.
        step: bytes from one row to the next.
        is_whole: whether the tensor is held whole.

    """

    name: str
    start: int
    nbytes: int
    step: int = 0
    is_whole: bool = False

    def span(self, row: int, place: int, count: int = 1) -> tuple[int, int]:
        """Bytes [start, stop) of ``count`` rows; the first is ``row``, at ``place`` in a batch."""
        start = self.start + self.step * (row if self.is_whole else place)
        return start, start + self.step * (count - 1) + self.nbytes


@dataclass(frozen=True, slots=True)
class RowStage:
    """An op of a segment, or the copy of a tensor that is held whole, row by row, into a ring.

    Attributes:
        node: the op on the rows under its windows; None for a copy.
        rows: how many rows it writes in all.
        batch: the op on a whole batch; None for a copy.
        reads: for each input of the op, its rows; None for a constant or an absent input. Also None
            for the input of a copy whose rows the caller pushes.
        writes: the row that it writes.
        block: rows of a whole batch.
        fold: for an op that only accumulates rows: computes the output from the finished sums.

    """

    node: BoundNode | None
    rows: int
    batch: BoundNode | None
    reads: tuple[Access | None, ...]
    writes: Access
    block: int = 1
    fold: Fold | None = None


@dataclass(frozen=True, slots=True)
class RowStep:
    """One step of a segment; its parts happen in this order.

    Attributes:
        stage: the stage that runs.
        shift: move the rows of its ring by a block, which drops the oldest rows.
        clear: fill the whole ring with the padding's value.
        fill: fill the ring's last block with the padding's value.
        first: index in the batch of the first computed row.
        count: number of rows that the stage computes.

    """

    stage: int
    shift: bool
    clear: bool
    fill: bool
    first: int
    count: int

    @property
    def run(self) -> bool:
        """Whether the stage computes rows."""
        return self.count > 0


@dataclass(frozen=True, slots=True)
class Segment:
    """Ops that run row by row.

    Attributes:
        first: index of the first node.
        stop: index of the first node after the segment.
        stages: each stage comes after the stages that it reads from.
        rings: by name.
        steps: the whole order of execution.
        pushed: the model input whose rows the caller pushes, if any.

    """

    first: int
    stop: int
    stages: tuple[RowStage, ...]
    rings: Mapping[str, Ring] = field(repr=False)
    steps: tuple[RowStep, ...] = field(repr=False)
    pushed: str | None = None

    def accesses(self) -> Iterator[Access]:
        """Everything that stages read and write."""
        for stage in self.stages:
            yield from (access for access in stage.reads if access is not None)
            yield stage.writes

    def counts(self) -> list[list[int]]:
        """For each stage, the numbers of rows that its batches have, ascending."""
        per_stage: list[set[int]] = [set() for _ in self.stages]
        for step in set(self.steps):
            if step.run:
                per_stage[step.stage].add(step.count)
        return [sorted(counts) for counts in per_stage]

    @property
    def images(self) -> list[Ring]:
        """Rings that hold rows, not sums."""
        sums = {stage.writes.name for stage in self.stages if stage.fold is not None}
        return [ring for name, ring in self.rings.items() if name not in sums]

    def ring_of(self, stage: int) -> Ring | None:
        """The ring that a stage writes to; None where it writes to a tensor that is held whole."""
        return self.rings.get(self.stages[stage].writes.name)
