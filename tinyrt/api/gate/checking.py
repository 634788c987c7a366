"""``tinyrt check``: a model against its budget, and against what it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tinyrt.api.gate.baseline import Baseline, read_baseline, write_baseline
from tinyrt.api.gate.budget import Limits, read_limits
from tinyrt.api.gate.figures import ACCURACY, UNITS, Measured, measure
from tinyrt.api.inputs import Data
from tinyrt.entry import entry
from tinyrt.errors import DataError
from tinyrt.text import clean

Number = int | float


class Verdict(StrEnum):
    """How a figure stands."""

    OK = "ok"
    BETTER = "better"
    NEW = "new"
    """The baseline does not have it."""
    OVER = "over the limit"
    WORSE = "worse than the baseline"
    ABSENT = "not measured"
    """The budget limits it, or the baseline has it, and nothing measures it."""
    DIFFERS = "differs from the host"
    """The core did not answer what the host answers."""


ROUNDING = 1e-12
"""Part of a figure by which percentages may be off, since they are computed in floats."""

FAILURES = frozenset({Verdict.OVER, Verdict.WORSE, Verdict.ABSENT, Verdict.DIFFERS})


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        where: a core, ``file`` or ``accuracy``.
        what: the figure's name.
        value: as measured; None where it was not.
        limit: what it may be at most, of accuracy at least; None without a limit.
        before: what the baseline says; None where it says nothing.
        verdict: how it stands.

    """

    where: str
    what: str
    value: Number | None
    limit: Number | None
    before: Number | None
    verdict: Verdict

    @property
    def change(self) -> float | None:
        """By how many percent it changed, of accuracy by how many points; None if not known."""
        if self.value is None or self.before is None:
            return None
        if self.where == ACCURACY:
            return 100 * (self.value - self.before)
        if self.before == 0:
            return None if self.value else 0.0
        return 100 * (self.value - self.before) / self.before


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    Attributes:
        model: the model's file.
        rows: every figure.
        notes: what may explain a change: other tools than the baseline's.

    """

    model: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is over its limit or worse than it was."""
        return not any(row.verdict in FAILURES for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        rows = [{**asdict(row), "change": row.change} for row in self.rows]
        return {
            "model": self.model,
            "passed": self.passed,
            "figures": rows,
            "notes": list(self.notes),
        }

    def markdown(self) -> str:
        """The same as a comment on a pull request."""
        verdict = "passes" if self.passed else "**fails**"
        lines = [f"### tinyrt check: `{clean(self.model)}` {verdict}", ""]
        lines += ["| where | figure | now | baseline | change | limit | |"]
        lines += ["|---|---|--:|--:|--:|--:|---|"]
        for row in self.rows:
            mark = f"**{row.verdict}**" if row.verdict in FAILURES else str(row.verdict)
            cells = (row.where, row.what, *shown(row), mark)
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *(f"- {clean(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"


def shown(row: Row) -> tuple[str, str, str, str]:
    """Now, before, change and limit as people read them."""
    points = " points" if row.where == ACCURACY else " %"
    change = "-" if row.change is None else f"{row.change:+.2f}{points}"
    now, before, limit = (_number(row, n) for n in (row.value, row.before, row.limit))
    return now, before, change, limit


def _number(row: Row, number: Number | None) -> str:
    if number is None:
        return "-"
    return f"{100 * number:.2f} %" if UNITS.get(row.what) == "%" else f"{number:,}"


@entry
def check(
    model: str | Path,
    budget: str | Path,
    *,
    data: Data | None = None,
    baseline: str | Path | None = None,
    write: bool = False,
    max_memory: int | None = None,
) -> Checked:
    """Measure a model, and compare it with its limits and with the baseline.

    Args:
        model: a .tflite file.
        budget: the file of limits; see docs/ci.md.
        data: labelled samples, for the accuracy.
        baseline: the file of the figures that were accepted last.
        write: write the figures to the baseline instead of comparing with it, unless a limit is
            broken.
        max_memory: bytes that model and data may cost.

    Raises:
        DataError: a file says what is not known; accuracy is limited, and there are no data; or
            there is no baseline to write.
        ToolError: a compiler or an emulator is missing or failed.
        TinyrtError: the model cannot be read or exported.

    """
    if write and baseline is None:
        raise DataError(
            "there is no baseline to write",
            expected="the file's name",
            hint="add --baseline baseline.json",
        )
    limits = read_limits(budget)
    if ACCURACY in limits.limits and data is None:
        raise DataError(
            "the budget limits accuracy, and there are no data to measure it on",
            file=str(budget),
            hint="add -d DATA.npz, or take [accuracy] out of the budget",
        )
    before = None if baseline is None or write else read_baseline(baseline)
    measured = measure(model, limits.cores, data)
    rows = tuple(_rows(measured, limits, before))
    checked = Checked(str(model), rows, tuple(_notes(measured, before)))
    if write and baseline is not None and checked.passed:
        write_baseline(baseline, measured)
    return checked


def _rows(measured: Measured, limits: Limits, baseline: Baseline | None) -> Iterator[Row]:
    known = {} if baseline is None else baseline.figures
    for where, figures in measured.figures.items():
        for what, value in figures.items():
            limit = limits.limits.get(where, {}).get(what)
            before = known.get(where, {}).get(what)
            tolerance = limits.tolerance.get(what, 0.0)
            verdict = _verdict(where, value, limit, before, tolerance, baseline is not None)
            yield Row(where, what, value, limit, before, verdict)
        if not measured.agrees.get(where, True):
            yield Row(where, "answers", None, None, None, Verdict.DIFFERS)
    for where in dict.fromkeys((*limits.limits, *known)):
        limited, kept = limits.limits.get(where, {}), known.get(where, {})
        for what in dict.fromkeys((*limited, *kept)):
            if what not in measured.figures.get(where, {}):
                yield Row(where, what, None, limited.get(what), kept.get(what), Verdict.ABSENT)


def _verdict(
    where: str,
    value: Number,
    limit: Number | None,
    before: Number | None,
    tolerance: float,
    compared: bool,
) -> Verdict:
    """How a figure stands; of accuracy more is better, of all others less."""
    sign = -1 if where == ACCURACY else 1
    if limit is not None and sign * value > sign * limit:
        return Verdict.OVER
    if before is None:
        return Verdict.NEW if compared else Verdict.OK
    allowed = tolerance / 100 * (1 if where == ACCURACY else before)
    worse = sign * (value - before)
    if worse > allowed + ROUNDING * before:
        return Verdict.WORSE
    return Verdict.BETTER if worse < 0 else Verdict.OK


def _notes(measured: Measured, baseline: Baseline | None) -> Iterator[str]:
    for name, version in measured.tools.items():
        before = None if baseline is None else baseline.tools.get(name)
        if before is not None and before != version:
            yield f"{name} is {version}; the baseline was measured with {before}"
