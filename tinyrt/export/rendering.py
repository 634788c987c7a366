"""Whole files from Jinja2 templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of an exported project."""


def render(folder: Path, template: str, context: Mapping[str, object]) -> str:
    """A template of that folder, filled in; a name that is missing is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(context)
