"""``tinyrt report``: one page of everything that is known of one or more models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tinyrt.api.inputs import Data
from tinyrt.entry import entry
from tinyrt.errors import DataError
from tinyrt.files import write_atomic
from tinyrt.interpreter.progress import Progress
from tinyrt.report.compare import compared
from tinyrt.report.facts import Report
from tinyrt.report.gather import Asked, gather
from tinyrt.report.rendering import cleaned, embedded, rendered
from tinyrt.report.view import by_instructions, details, section_of

MHZ = 100
"""The clock that the page begins with."""


@entry
def write_report(
    models: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    cores: Sequence[str] = ("cortex-m4",),
    optimize: str = "balanced",
    estimate: bool = False,
    cycles: bool = False,
    data: Data | None = None,
    against: str | Path | None = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Write a page that says what models cost and how good they are; see ``docs/report.md``.

    Args:
        models: .tflite files, quantised or float; all others are compared with the first.
        output: the .html file.
        cores: whose code is built and counted.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        estimate: whether costs are computed by formula, so that nothing is built.
        cycles: whether cycles are told, too, of each op as well; see ``docs/cycles.md``.
        data: an .npz file with ``x`` and, where there are labels, ``y``; or arrays.
        against: the float model that the others were made from, for the error of each layer; it
            takes data.
        max_memory: bytes that models and data may cost.
        progress: called with the steps done and their total.

    Returns:
        The data behind the page; in a notebook it shows the page.

    Raises:
        DataError: no model or core is given, one is given twice, the data do not fit, or a float
            model is given without data, or cycles of what is not built.
        UnsupportedError: cycles of a core are not known.
        ToolError: the cross-compiler or the emulator is missing or failed.
        OutputError: the file cannot be written.

    """
    if against is not None and data is None:
        raise DataError(
            f"{Path(against).name} is there to compare with, and there are no samples to do it on",
            expected="data beside it",
            hint="add data, or leave the float model out",
        )
    if cycles and estimate:
        raise DataError(
            "cycles are counted, and nothing is built for an estimate",
            expected="one of both",
            hint="leave the estimate out, or the cycles",
        )
    several = [models] if isinstance(models, str | Path) else list(models)
    asked = Asked(tuple(cores), optimize, estimate, cycles, data, against)
    report = gather(several, asked, progress)
    page = render_report(report)
    write_atomic(output, lambda file: file.write(page.encode()))
    return replace(report, page=page)


def render_report(report: Report) -> str:
    """The page as HTML without outside references."""
    shown = cleaned(report)
    return rendered(
        "report.html.j2",
        report=shown,
        mhz=MHZ,
        rows=compared(shown.models) if len(shown.models) > 1 else (),
        sections=[section_of(model, by_instructions(model)) for model in shown.models],
        data=embedded([details(model) for model in shown.models]),
    )
