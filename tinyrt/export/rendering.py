"""Whole files from Jinja2 templates; text that is not marked as source is cleaned first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from tinyrt.text import clean

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of an exported project."""

Source = Markup
"""Text that a template takes as it is: this package wrote it, and all names in it are clean."""


@dataclass(frozen=True, slots=True)
class CFile:
    """A file of C: its text, and the macros that a template defines in it with ``define``."""

    text: str
    macros: frozenset[str]


def as_source(texts: Iterable[str]) -> list[Source]:
    """Each text as source."""
    return [Source(text) for text in texts]


def render(folder: Path, template: str, context: Mapping[str, object]) -> str:
    """Fill in a template of that folder; a missing name is an error.

    Every value that is not ``Source`` goes through ``clean``.
    """
    return _environment(folder).get_template(template).render(context)


def render_c(folder: Path, template: str, context: Mapping[str, object]) -> CFile:
    """As ``render``; the template has a function ``define(name, value)`` for macros."""
    macros: list[str] = []

    def define(name: str, value: object = "") -> Source:
        macros.append(str(name))
        return Source(f"#define {name} {_finalize(value)}".rstrip())

    text = render(folder, template, {**context, "define": define})
    return CFile(text, frozenset(macros))


@cache
def _environment(folder: Path) -> jinja2.Environment:
    # Jinja would escape unmarked text for HTML. Cleaned text is marked, so that nothing is escaped.
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_finalize,
    )


def _finalize(value: object) -> object:
    return Source(clean(value)) if type(value) is str else value
