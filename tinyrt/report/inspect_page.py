"""``tinyrt inspect --html``: a model's ops, costs, and arena over time on one page."""

from __future__ import annotations

from pathlib import Path

from tinyrt import __version__
from tinyrt.api import Inspection
from tinyrt.files import write_atomic
from tinyrt.report.arena import draw_arena
from tinyrt.report.gather import arena_of
from tinyrt.report.models import tensor_facts
from tinyrt.report.rendering import rendered


def write_page(inspection: Inspection, path: str | Path) -> Path:
    """Write the page, whole or not at all.

    Raises:
        OutputError: the file cannot be written.

    """
    data = render_page(inspection).encode()
    return write_atomic(path, lambda file: file.write(data))


def render_page(inspection: Inspection) -> str:
    """The page as HTML without outside references."""
    arena = arena_of(inspection)
    graph = inspection.graph
    return rendered(
        "inspect.html.j2",
        inspection=inspection,
        arena=arena,
        map=draw_arena(arena, len(inspection.ops)),
        inputs=tuple(map(tensor_facts, graph.input_values)),
        outputs=tuple(map(tensor_facts, graph.output_values)),
        version=__version__,
    )
