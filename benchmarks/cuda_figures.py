"""Figures of ``benchmarks.cuda``: tables, the goals that they meet, and the page they are for."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tinyrt.errors import ToolError
from tinyrt.files import write_atomic

GOALS = {("resnet8", 4096): 5e6, ("dscnn_kws", 4096): 10e6}
"""Images per second on an H200-class GPU."""

MAX_MICROSECONDS, MIN_FACTOR = 50, 5
"""At batch 1, copies included; and over the best of the other runtimes on the GPU."""

MARKS = ("<!-- figures -->", "<!-- end of figures -->")
"""Of a page, between which ``--markdown`` writes."""

WHOLE = ", whole test set"
"""End of an engine's name, where a whole test set was run by ``load``."""


@dataclass(frozen=True)
class Row:
    """One engine on one model and batch size."""

    model: str
    batch: int
    engine: str
    images_per_second: float
    microseconds: float
    of_int8_peak: float | None = None
    of_l2: float | None = None
    of_shared: float | None = None


HEADER = (
    "| model | batch | engine | images/s | µs | of int8 peak | of L2 | of shared |\n"
    "|---|---|---|---|---|---|---|---|"
)


def table(rows: list[Row]) -> list[str]:
    """Lines of Markdown."""
    lines = []
    for row in rows:
        shares = " | ".join(
            "–" if share is None else f"{share:.1%}"
            for share in (row.of_int8_peak, row.of_l2, row.of_shared)
        )
        lines.append(
            f"| {row.model} | {row.batch} | {row.engine} | {row.images_per_second:,.0f} "
            f"| {row.microseconds:,.1f} | {shares} |"
        )
    return lines


def summary(rows: list[Row]) -> list[str]:
    """A table with a line per model and batch size, and a column per engine: images per second."""
    names = dict.fromkeys(row.engine.removesuffix(WHOLE) for row in rows)
    by_line: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        whole = row.engine.endswith(WHOLE)
        batch = f"{row.batch:,}{' by `load`' if whole else ''}"
        by_line.setdefault((row.model, batch), {})[row.engine.removesuffix(WHOLE)] = row
    lines = [f"| model | batch | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for (model, batch), found in by_line.items():
        cells = (_short(found[name].images_per_second) if name in found else "–" for name in names)
        lines.append(f"| {model} | {batch} | {' | '.join(cells)} |")
    return lines


def _short(rate: float) -> str:
    """Three digits: ``12.4 M``, ``649 k``."""
    unit, size = next((u for u in ((" M", 1e6), (" k", 1e3)) if rate >= u[1]), ("", 1.0))
    return f"{float(f'{rate / size:.3g}'):g}{unit}"


def verdicts(rows: list[Row], peers: Collection[str]) -> list[str]:
    """The goals, each with what was measured; ``peers`` are other engines on the GPU."""
    lines = []
    for own in (r for r in rows if r.engine == "tinyrt cuda"):
        where, goal = f"{own.model}, batch {own.batch}", GOALS.get((own.model, own.batch))
        if goal is not None:
            met = _met(own.images_per_second >= goal)
            lines.append(f"{where}: {own.images_per_second:,.0f} images/s of {goal:,.0f}: {met}")
        if own.batch == 1:
            met = _met(own.microseconds <= MAX_MICROSECONDS)
            lines.append(f"{where}: {own.microseconds:.1f} µs of {MAX_MICROSECONDS}: {met}")
        rates = {
            r.images_per_second: r.engine
            for r in rows
            if (r.model, r.batch) == (own.model, own.batch) and r.engine in peers
        }
        if rates:
            best = max(rates)
            factor = own.images_per_second / best
            met = _met(factor >= MIN_FACTOR)
            lines.append(f"{where}: {factor:.1f} times {rates[best]} of {MIN_FACTOR}: {met}")
    return lines


def _met(met: bool) -> str:
    return "met" if met else "missed"


def put_into(page: Path, lines: list[str]) -> None:
    """Replace what stands between the page's marks.

    Raises:
        ToolError: the page has no marks.

    """
    before, begin, rest = page.read_text().partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        raise ToolError(f"{page} has no place for figures", expected=" and ".join(MARKS))
    text = "\n\n".join([before + begin, "\n".join(lines), end + after])
    write_atomic(page, lambda file: file.write(text.encode()))


def write_figures(
    page: Path, which: str, rows: list[Row], peers: Collection[str], skipped: set[str]
) -> None:
    """Put a GPU's figures into a page, with goals met and missed and what was skipped."""
    notes = [*verdicts(rows, peers), *(f"skipped: {reason}" for reason in sorted(skipped))]
    put_into(page, [f"{which}.", "", *summary(rows), "", *(f"- {note}" for note in notes)])


def publish(page: Path, files: list[Path], peers: Collection[str]) -> None:
    """Put figures of earlier runs into a page.

    Raises:
        ToolError: they are of more than one GPU.

    """
    runs = [json.loads(file.read_text()) for file in files]
    devices = {run["device"] for run in runs}
    if len(devices) != 1:
        raise ToolError(f"figures of more than one machine: {', '.join(sorted(devices))}")
    rows = [Row(**row) for run in runs for row in run["rows"]]
    skipped = {reason for run in runs for reason in run["skipped"]}
    write_figures(page, devices.pop(), rows, peers, skipped)
