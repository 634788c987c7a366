"""``tinyrt debug --html``: each layer's error, drawn from layer to layer, and what helps."""

from __future__ import annotations

from pathlib import Path

from tinyrt import __version__
from tinyrt.files import write_atomic
from tinyrt.quantize.explain.bisect import BisectReport
from tinyrt.quantize.explain.debug import DebugReport
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.models import error_facts
from tinyrt.report.rendering import rendered


def write_debug_page(
    name: str, report: DebugReport, path: str | Path, bisected: BisectReport | None = None
) -> Path:
    """Write the page, whole or not at all.

    Args:
        name: what the page is headed with.
        report: the layers' errors.
        path: the .html file.
        bisected: what wins the accuracy back, if that was looked for.

    Raises:
        OutputError: the file cannot be written.

    """
    page = rendered(
        "debug.html.j2",
        name=name,
        report=report,
        bisected=bisected,
        chart=draw_errors(error_facts(report)),
        version=__version__,
    )
    data = page.encode()
    return write_atomic(path, lambda file: file.write(data))
