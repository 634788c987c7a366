"""Templates of the pages, and the text that is filled into them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from importlib.resources import files
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markupsafe import Markup

from tinyrt.decibels import shown_db
from tinyrt.report.facts import FROM_FILE, CycleFacts
from tinyrt.text import clean, json_of, message

MAX_TEXT = 2_500
"""Characters of anything that is filled in."""
MAX_NAME = 2_000
"""Characters of a name; longer ones are made by nobody who wants to read them."""

Record = TypeVar("Record")


def template(name: str) -> Template:
    """One of the package's page templates.

    Names go through the filter ``name``; whatever else is filled in is printable and escaped.
    """
    environment = Environment(
        loader=PackageLoader("tinyrt.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: message(value, MAX_TEXT) if type(value) is str else value,
    )
    environment.filters["name"] = lambda text: clean(text, MAX_NAME)
    environment.filters["n"] = number
    environment.filters["percent"] = percent
    environment.filters["cycles"] = shown_cycles
    environment.filters["db"] = lambda distance, unit="": shown_db(distance, 1, unit)
    environment.globals["asset"] = asset
    return environment.get_template(name)


def rendered(name: str, /, **values: Any) -> str:
    """A page from its template, without the empty lines that the template leaves."""
    lines = template(name).render(**values).splitlines()
    return "\n".join(line for line in lines if line.strip()) + "\n"


def asset(name: str) -> Markup:
    """The text of one of the package's own files, as it is."""
    return Markup(files("tinyrt.report").joinpath(name).read_text(encoding="utf-8").strip())


def number(value: float | None) -> str:
    """A figure with its thousands apart; fractions to three digits, a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, a dash for None."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def shown_cycles(cycles: CycleFacts | None) -> str:
    """A range of cycles as text; empty where they are not told."""
    if cycles is None:
        return ""
    ends = dict.fromkeys((cycles.low, cycles.high))
    return " to ".join(f"{end:,}" for end in ends)


def cleaned(record: Record) -> Record:
    """The record with text from models' files in characters that mean nothing to a browser."""
    changes: dict[str, Any] = {}
    for one in fields(record):  # type: ignore[arg-type]
        value = getattr(record, one.name)
        changes[one.name] = _cleaned(value, one.metadata == FROM_FILE)
    return replace(record, **changes)  # type: ignore[type-var]


def _cleaned(value: Any, from_file: bool) -> Any:
    if is_dataclass(value):
        return cleaned(value)
    if isinstance(value, tuple):
        return tuple(_cleaned(each, from_file) for each in value)
    if isinstance(value, dict):
        return {_cleaned(k, from_file): _cleaned(v, from_file) for k, v in value.items()}
    return clean(value, MAX_NAME) if from_file else value


def embedded(data: Any) -> Markup:
    """Plain data as JSON in a ``script`` element, which nothing in it can end."""
    text = json_of(data, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
