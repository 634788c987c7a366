"""What a terminal shows, as plain lines."""

from __future__ import annotations

from rich.console import Console, RenderableType


def lines_of(renderable: RenderableType, width: int = 80) -> list[str]:
    """The lines, without blank ends."""
    return [text.rstrip() for text in _lines(renderable, width, styled=False)]


def styled(renderable: RenderableType, width: int = 80) -> list[str]:
    """The lines, where what has a style stands in brackets behind the style's name."""
    return _lines(renderable, width, styled=True)


def _lines(renderable: RenderableType, width: int, *, styled: bool) -> list[str]:
    console = Console(
        width=width, force_terminal=True, color_system="standard", markup=False, highlight=False
    )
    lines = []
    for line in console.render_lines(renderable, pad=False):
        parts = ""
        for text, style, _ in line:
            is_marked = styled and style is not None and bool(style) and bool(text.strip())
            parts += f"{style}({text})" if is_marked else text
        lines.append(parts)
    return lines
