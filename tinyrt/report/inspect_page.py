"""``tinyrt inspect --html``: a model's graph, costs, weights, and arena over time on one page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tinyrt import __version__
from tinyrt.api import Inspection
from tinyrt.files import write_atomic
from tinyrt.report.gather import by_kernel
from tinyrt.report.models import graph_facts
from tinyrt.report.rendering import cleaned, embedded, rendered
from tinyrt.report.view import by_instructions, details, section_of


def write_page(inspection: Inspection, path: str | Path) -> Path:
    """Write the page, whole or not at all.

    Raises:
        OutputError: the file cannot be written.

    """
    data = render_page(inspection).encode()
    return write_atomic(path, lambda file: file.write(data))


def render_page(inspection: Inspection) -> str:
    """The page as HTML without outside references.

    Args:
        inspection: as ``inspect_model`` gives it, for a core.

    """
    graph = inspection.graph
    model = replace(graph_facts(graph, graph.name), cores=(by_kernel(inspection),))
    shown = cleaned(model)
    devices = tuple(map(inspection.device_of, range(len(inspection.ops))))
    return rendered(
        "inspect.html.j2",
        inspection=inspection,
        section=section_of(shown, by_instructions(shown), devices if inspection.placement else ()),
        data=embedded([details(shown)]),
        version=__version__,
    )
