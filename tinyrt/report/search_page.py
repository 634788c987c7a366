"""``tinyrt search --html``: the front, which choices matter, and what refused the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyrt import __version__
from tinyrt.files import write_text
from tinyrt.report.rendering import rendered

WIDTH, HEIGHT, MARGIN = 960, 360, 24
COSTS = ("arena", "flash", "instructions", "cycles")
"""What the table of the front has of each model, where it is known."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A trained model in the drawing, in its units."""

    x: float
    y: float
    title: str
    is_front: bool


def write_search_page(found: Mapping[str, Any], path: str | Path) -> Path:
    """Write the page, whole or not at all.

    Args:
        found: what ``SearchResult.as_dict`` gives.
        path: the .html file.

    Raises:
        OutputError: the file cannot be written.

    """
    page = rendered(
        "search.html.j2",
        found=found,
        dots=dots(found, found["objectives"][0]),
        axis=found["objectives"][0],
        costs=[name for name in COSTS if name in _known(found)],
        refusals=refusals(found),
        width=WIDTH,
        height=HEIGHT,
        version=__version__,
    )
    return write_text(path, page)


def _known(found: Mapping[str, Any]) -> set[str]:
    return {name for point in found["front"] for name in point["costs"]}


def dots(found: Mapping[str, Any], axis: str) -> list[Dot]:
    """The trained models: a cost to the right, the score upwards."""
    front = {point["trial"] for point in found["front"]}
    trained = found["trained"]
    across = _scale([t["costs"][axis] for t in trained], MARGIN, WIDTH - MARGIN)
    upwards = _scale([t["score"] for t in trained], HEIGHT - MARGIN, MARGIN)
    return [
        Dot(
            across(t["costs"][axis]),
            upwards(t["score"]),
            f"trial {t['trial']}: {found['measure']} {abs(t['score']):.4g}, "
            f"{axis} {t['costs'][axis]:,}",
            t["trial"] in front,
        )
        for t in sorted(trained, key=lambda t: t["trial"] in front)
    ]


def _scale(values: Sequence[float], first: float, last: float) -> Any:
    """What puts the least of the values at one place, and the greatest at the other."""
    low, high = min(values, default=0), max(values, default=0)
    step = (last - first) / (high - low) if high > low else 0.0
    return lambda value: first + (value - low) * step


def refusals(found: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """How a trial ended, by what, and how many did, the most first.

    One that is beyond several limits counts for each.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for trial in found["not_trained"]:
        costs = trial["costs"] or {}
        beyond = [n for n, limit in found["limits"].items() if costs.get(n, 0) > limit]
        if trial["end"] not in ("refused", "misfit") or not beyond:
            beyond = [trial["stage"]]
        counts.update((trial["end"], name) for name in beyond)
    return [(end, name, number) for (end, name), number in counts.most_common()]
