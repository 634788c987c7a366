"""Models side by side: each figure, and how far it is from the first model's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tinyrt.decibels import CEILING_DB
from tinyrt.report.facts import CoreFacts, ModelFacts

Figure = int | float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of all models.

    Attributes:
        label: what it is.
        values: one for each model; None where it is not known.
        changes: from the first model's; None where one of them is not known.
        unit: of the changes: ``%`` of the first model's figure, percentage ``points``, or ``dB``.
        more_is_better: whether a larger figure is a better one.

    """

    label: str
    values: tuple[Figure, ...]
    changes: tuple[float | None, ...]
    unit: str
    more_is_better: bool

    def change_text(self, change: float) -> str:
        """A change with its sign and its unit."""
        return f"{change:+.{2 if self.unit == 'points' else 1}f} {self.unit}"


def compared(models: Sequence[ModelFacts]) -> tuple[Row, ...]:
    """The rows of the comparison: of the models themselves, then core by core."""
    rows = [
        _row("file, bytes", [m.file_bytes for m in models]),
        _row("multiply-accumulates", [m.macs for m in models]),
    ]
    qualities = [m.quality for m in models]
    top1, sqnr = ([getattr(q, name, None) for q in qualities] for name in ("top1", "sqnr_db"))
    rows += [
        Row("right, share", tuple(top1), _differences(top1, 100), "points", True),
        Row("SQNR against float, dB", tuple(sqnr), _apart(sqnr), "dB", True),
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


def _row(label: str, values: list[Figure]) -> Row:
    """A cost, with its changes in percent of the first model's."""
    first = values[0]
    changes = [None if v is None or not first else 100 * (v / first - 1) for v in values]
    return Row(label, tuple(values), tuple(changes), "%", False)


def _apart(values: list[Figure]) -> tuple[float | None, ...]:
    """Differences in dB; none from or to a model that is equal to the float one."""
    return _differences([None if v is None or v >= CEILING_DB else v for v in values], 1)


def _differences(values: list[Figure], factor: float) -> tuple[float | None, ...]:
    first = values[0]
    return tuple(None if v is None or first is None else factor * (v - first) for v in values)
