"""Writes docs/safety.md from the promises, the deviations and the figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template

from tests.safety import figures as measured
from tests.safety.counts import BRANCHES, DEPENDENT
from tests.safety.misra import deviations
from tests.safety.requirements import REQUIREMENTS, ROOT

PAGE = ROOT / "docs" / "safety.md"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def page(figures: dict[str, Any]) -> str:
    """The page's text."""
    template = Path(__file__).with_name("safety.md.j2").read_text(encoding="utf-8")
    return Template(template, keep_trailing_newline=True, undefined=StrictUndefined).render(
        stacks=_stacks(figures),
        models=_models(figures),
        branches=BRANCHES,
        loops=_loops(),
        ops=_ops(figures),
        release=figures["cppcheck"],
        findings=_findings(figures),
        deviations=_deviations(),
        requirements=_requirements(),
    )


def _stacks(figures: dict[str, Any]) -> str:
    rows = (
        (model, *(figures["stack"][core][model] for core in measured.CORES))
        for model in measured.MODELS
    )
    return table(("bytes of stack", *measured.CORES), rows)


def _models(figures: dict[str, Any]) -> str:
    rows = (
        (model, *(_range(figures["models"][core][model]) for core in measured.CORES))
        for model in measured.MODELS
    )
    return table(("instructions of an inference", *measured.CORES), rows)


def _range(ends: Sequence[int]) -> str:
    least, most = ends
    share = 100 * (most - least) / most
    return f"{least:,}" if least == most else f"{least:,} to {most:,} ({share:.2g} %)"


def _loops() -> str:
    rows = ((each.op, each.on, each.limit, ", ".join(each.cores) or "all") for each in DEPENDENT)
    return table(("op", "what decides", "instructions to a value, at most", "cores"), rows)


def _ops(figures: dict[str, Any]) -> str:
    ops = sorted({op for core in measured.CORES for op in figures["ops"][core]})
    rows = ((op, *(_spread(figures["ops"][core].get(op)) for core in measured.CORES)) for op in ops)
    return table(("op", *measured.CORES), (row for row in rows if set(row[1:]) != {"the same"}))


def _spread(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["least"] == figure["most"]:
        return "the same"
    return f"{figure['least']:,} to {figure['most']:,} ({figure['spread']})"


def _findings(figures: dict[str, Any]) -> str:
    rows = (
        (what, *(_total(by_core.get(core)) for core in measured.MISRA_CORES))
        for what, by_core in figures["misra"].items()
    )
    return table(("findings in", *measured.MISRA_CORES), rows)


def _total(by_rule: dict[str, int] | None) -> object:
    return "" if by_rule is None else sum(by_rule.values())


def _deviations() -> str:
    rows = (
        (each.rule, each.category, each.about, each.reason, _places(each.files))
        for each in deviations()
    )
    return table(("rule", "category", "asks for", "why the code departs from it", "where"), rows)


def _places(files: Sequence[str]) -> str:
    return "anywhere" if "*" in files else ", ".join(f"`{file}`" for file in files)


def _requirements() -> str:
    rows = (
        (each.name, each.text, "<br>".join(f"`{test}`" for test in each.tests))
        for each in REQUIREMENTS
    )
    return table(("", "what holds", "tests"), rows)
