"""``tinyrt inspect --html``: a model's ops, costs, and arena over time on one page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape

from tinyrt import __version__
from tinyrt.api import Inspection
from tinyrt.files import write_atomic
from tinyrt.ir import Value
from tinyrt.memory import Buffer
from tinyrt.text import clean, message

MAP_WIDTH = 960
MAP_HEIGHT = 360
MAX_TEXT = 1_200
"""Characters of anything that is filled in."""
TICKS = 4
"""Parts into which lines divide the map's height."""


@dataclass(frozen=True, slots=True)
class Box:
    """One buffer in the arena map, in the drawing's units."""

    x: float
    y: float
    width: float
    height: float
    hue: int
    label: str
    title: str


def write_page(inspection: Inspection, path: str | Path) -> Path:
    """Write the page, whole or not at all.

    Raises:
        OutputError: the file cannot be written.

    """
    data = render_page(inspection).encode()
    return write_atomic(path, lambda file: file.write(data))


def render_page(inspection: Inspection) -> str:
    """The page as HTML without outside references."""
    return template("inspect.html.j2").render(
        inspection=inspection,
        boxes=arena_boxes(inspection),
        ticks=[inspection.arena_bytes * i // TICKS for i in range(TICKS + 1)],
        peak=inspection.plan.fullest(),
        ports=[("input", v, quant_text(v)) for v in inspection.graph.input_values]
        + [("output", v, quant_text(v)) for v in inspection.graph.output_values],
        width=MAP_WIDTH,
        height=MAP_HEIGHT,
        version=__version__,
    )


def template(name: str) -> Template:
    """One of the package's page templates.

    Names go through the filter ``name``; whatever else is filled in is printable and escaped.
    """
    environment = Environment(
        loader=PackageLoader("tinyrt.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: message(value, MAX_TEXT) if type(value) is str else value,
    )
    environment.filters["name"] = clean
    return environment.get_template(name)


def arena_boxes(inspection: Inspection) -> list[Box]:
    """The arena map: time to the right, one column per op; bytes upwards from offset 0."""
    steps = max(len(inspection.ops), 1)
    column = MAP_WIDTH / steps
    scale = MAP_HEIGHT / inspection.arena_bytes

    def box(index: int, buffer: Buffer) -> Box:
        offset = inspection.plan.start_of(buffer.names[0])
        first, last = max(buffer.first, 0), min(buffer.last, steps - 1)
        return Box(
            x=first * column,
            y=MAP_HEIGHT - (offset + buffer.nbytes) * scale,
            width=(last - first + 1) * column,
            height=buffer.nbytes * scale,
            hue=index * 47 % 360,
            label=f"{buffer.nbytes:,}",
            title=f"{', '.join(map(clean, buffer.names))}: {buffer.nbytes:,} bytes at {offset:,}, "
            f"ops {first} to {last}",
        )

    return [box(i, buffer) for i, buffer in enumerate(inspection.plan.buffers)]


def quant_text(value: Value) -> str:
    """A tensor's quantisation in words; empty for floats."""
    if value.q is None:
        return ""
    return f"scale {value.q.scales[0]:.6g}, zero point {value.q.zero_point}"
