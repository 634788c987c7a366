"""A segment that runs as rows of the model's input are pushed, as the model's code has it."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.export.code import Statement


@dataclass(frozen=True, slots=True)
class PushedRows:
    """A segment that runs as the rows of the model's input are pushed.

    Attributes:
        base: C variable that points to the region with the segment's rings and state.
        state: offset in that region of the state: the position in the schedule, and counters.
        moving: number of counters.
        rows: number of rows of the input.
        row_bytes: size of a row.
        place: C expression for the target of a copied row, the first one of a batch.
        block: rows of a whole batch.
        next_stage: C expression for the stage that comes next.
        cases: the cases of the switch over stages.
        code: the statements of these cases.

    """

    base: str
    state: int
    moving: int
    rows: int
    row_bytes: int
    place: str
    block: int
    next_stage: str
    cases: tuple[str, ...]
    code: tuple[Statement, ...]
