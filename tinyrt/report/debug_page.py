"""``tinyrt debug --html``: each layer's error, in the graph and layer by layer, and what helps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tinyrt import __version__
from tinyrt.api.inputs import Data
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.files import write_atomic
from tinyrt.quantize.explain.bisect import BisectReport
from tinyrt.quantize.explain.debug import DebugReport
from tinyrt.report.histograms import activation_histograms
from tinyrt.report.models import error_facts, graph_facts, makers_of
from tinyrt.report.rendering import cleaned, embedded, rendered
from tinyrt.report.view import by_noise, details, section_of


def write_debug_page(
    quantized: str | Path,
    data: Data,
    report: DebugReport,
    path: str | Path,
    bisected: BisectReport | None = None,
) -> Path:
    """Write the page, whole or not at all.

    Args:
        quantized: the .tflite file that was looked at.
        data: the samples that it was looked at with.
        report: the layers' errors.
        path: the .html file.
        bisected: what wins the accuracy back, if that was looked for.

    Raises:
        OutputError: the file cannot be written.

    """
    graph = read_tflite(quantized)
    model = replace(
        graph_facts(graph, Path(quantized).name),
        activations=activation_histograms(graph, data),
        errors=error_facts(report, makers_of(graph)),
    )
    shown = cleaned(model)
    page = rendered(
        "debug.html.j2",
        report=report,
        bisected=bisected,
        section=section_of(shown, by_noise(shown)),
        data=embedded([details(shown)]),
        version=__version__,
    ).encode()
    return write_atomic(path, lambda file: file.write(page))
