"""Models side by side: each figure, and how far it is from the first model's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyrt.report.facts import CoreFacts, ModelFacts

Figure = int | float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of all models.

    Attributes:
        label: what it is.
        values: one for each model; None where it is not known.
        changes: relative to the first model's; None where one of them is not known or zero.
        more_is_better: whether a larger figure is a better one; None where neither is.

    """

    label: str
    values: tuple[Figure, ...]
    changes: tuple[float | None, ...]
    more_is_better: bool | None = False


def compared(models: Sequence[ModelFacts]) -> tuple[Row, ...]:
    """The rows of the comparison: of the models themselves, then core by core."""
    rows = [
        _row("file, bytes", [m.file_bytes for m in models]),
        _row("multiply-accumulates", [m.macs for m in models]),
    ]
    qualities = [m.quality for m in models]
    rows += [
        _row("right, share", [q.top1 if q else None for q in qualities], True),
        _row("SQNR against float, dB", [q.sqnr_db if q else None for q in qualities], True),
    ]
    for i, core in enumerate(models[0].cores):
        for what, figure in CORE_FIGURES.items():
            rows.append(_row(f"{core.core}: {what}", [figure(m.cores[i]) for m in models]))
    return tuple(row for row in rows if any(value is not None for value in row.values))


CORE_FIGURES: dict[str, Callable[[CoreFacts], Figure]] = {
    "instructions": lambda core: core.instructions,
    "flash, bytes": lambda core: core.flash.total,
    "of these, weights": lambda core: core.flash.weights,
    "arena, bytes": lambda core: core.ram.arena,
    "stack, bytes": lambda core: core.ram.stack,
}
"""What is compared of each core."""


def _row(label: str, values: list[Figure], more_is_better: bool | None = False) -> Row:
    first = values[0]
    changes = tuple(None if value is None or not first else value / first - 1 for value in values)
    return Row(label, tuple(values), changes, more_is_better)
