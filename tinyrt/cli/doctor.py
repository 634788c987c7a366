"""The command ``doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from tinyrt.cli.console import reporting
from tinyrt.cli.options import Json

if TYPE_CHECKING:
    from tinyrt.api.doctor import Check, Health

MARKS = {
    "good": ("ok", "green"),
    "limited": ("~~", "yellow"),
    "missing": ("--", "yellow"),
    "broken": ("!!", "bold red"),
}
"""State -> mark and style."""


def doctor(
    need: Annotated[
        list[str] | None,
        typer.Option(
            "--need",
            metavar="PART",
            help="A part that must work: caches, compiler, arm, riscv, gpu, demo or search. "
            "May be repeated.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """What of this machine works, and what mends the rest.

    Ends with status 1 where something that is needed is missing or broken.
    """
    from tinyrt import api

    with reporting(json) as report:
        health = api.examine(need or ())
        report(health.as_dict(), shown(health))
    if not health.healthy:
        raise typer.Exit(1)


def shown(health: Health) -> RenderableType:
    """Each part with what it is for; below, each check and its cure."""
    from tinyrt.api.doctor import PARTS

    lines: list[RenderableType] = []
    for name, part in PARTS.items():
        must = ", needed" if name in health.needed else ""
        lines.append(Text(f"{name}: for {part.use}{must}", style="bold"))
        for check in health.checks:
            if check.part == name:
                lines += _lines(check)
    failed = [f"{check.part} ({check.what})" for check in health.checks if health.fails(check)]
    verdict = f"Not all that is needed works: {', '.join(failed)}." if failed else ""
    return Group(*lines, Text(verdict or "All that is needed works."))


def _lines(check: Check) -> list[Text]:
    mark, style = MARKS[check.state]
    lines = [Text.assemble("  ", (mark, style), f" {check.what}: {check.found}")]
    return lines if check.mend is None else [*lines, Text(f"       try: {check.mend}")]
