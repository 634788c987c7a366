"""Names and other text from files, made fit to be written and shown: all of it goes through here.

What a file says is data. A tensor may be called ``*/ system("x") /*``, ``$(shell x)``, ``<script>``
or an escape sequence of a terminal; where such a name is written into C, a Makefile, a page or a
terminal, only characters are left that mean nothing in any of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

SAFE = r"A-Za-z0-9 _\-./:;,+=()\[\]"
"""Characters of names that generated text may hold, for a regular expression: none that ends or
continues a comment, quotes, escapes or expands, in any language that tinyrt writes."""

MAX_NAME = 512
"""Characters of a name that generated text shows."""

FEW = 3
"""Items that a list has left at least, when it is cut."""

UNSAFE = re.compile(rf"[^{SAFE}]")


OWN = "\ud800"
"""Half a character, which no decoder gives: it stands before names of the toolchain's own."""


def own_name(name: str) -> str:
    """A name that no file can contain; it is shown as ``name``."""
    return OWN + name


def shown_name(name: str) -> str:
    """A name without the mark of the toolchain's own."""
    return name.removeprefix(OWN)


def clean(text: str, limit: int = MAX_NAME) -> str:
    """``text`` as generated files and tables show it: one line, and ``_`` for all but ``SAFE``.

    Longer text is cut in its middle. Different texts may become equal: use this for display only,
    never for identifiers.
    """
    return UNSAFE.sub("_", shortened(shown_name(text), limit))


def printable(text: str) -> str:
    """``text`` as a message shows it: ``?`` for characters that are neither visible nor a space.

    Line breaks stay. Control characters, escape sequences, bidirectional marks and surrogates are
    replaced, so that printed text cannot move the cursor or hide anything.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text if c != OWN)


_PLAIN = {"█": "#", "·": ".", "…": ".", "µ": "u", "×": "x", "–": "-"}
_BOX = (
    {chr(c): "+" for c in range(0x2500, 0x2580)}
    | dict.fromkeys("─━", "-")
    | dict.fromkeys("│┃", "|")
)
_FALLBACK = str.maketrans(_PLAIN | _BOX)


def encodable(text: str, encoding: str) -> str:
    """``text`` in characters that the encoding has, one for each; ASCII where it lacks any."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_FALLBACK).encode("ascii", "replace").decode()
    return text


def closest(name: str, names: Iterable[str]) -> str | None:
    """``did you mean 'NAME'?`` with the name that is written most alike; None if none is alike."""
    alike = get_close_matches(str(name), [*names], n=1)
    return f"did you mean '{alike[0]}'?" if alike else None


def message(text: str, limit: int, lines: int = 1) -> str:
    """``text`` as part of a message: printable, and cut where it is longer than the limit.

    A list keeps the items that fit, and the number of the others; other text loses its middle. Of
    too many lines, the first and the last ones stay: a program's last words tell most. Several
    lines may have twice the limit together.
    """
    first, *rest = printable(text).strip().split("\n")
    if lines == 1 or not rest:
        return _cut(" ".join([first, *(line.strip() for line in rest)]), limit)
    rest = rest[1 - lines :]
    most = 2 * limit // (1 + len(rest))
    return "\n".join(_cut(line, most) for line in (first, *rest))


def _cut(text: str, limit: int) -> str:
    """``text`` within the limit: of a list its first items, else both ends."""
    if len(text) <= limit:
        return text
    between = next((b for b in ("; ", ", ") if text.count(b) >= FEW), None)
    if between is None:
        return shortened(text, limit)
    items = text.split(between)
    room = limit - len(f" and {len(items)} more")
    count = 0
    # All of them never fit: the text is longer than the limit.
    while (room := room - len(items[count]) - len(between)) >= 0:
        count += 1
    if count < FEW:
        return shortened(text, limit)
    return f"{between.join(items[:count])} and {len(items) - count} more"


def shortened(text: str, limit: int) -> str:
    """``text`` cut in its middle where it is longer than the limit, with its length said."""
    if len(text) <= limit:
        return text
    gap = f"...({len(text)} characters)..."
    room = max(limit - len(gap), 2)
    return f"{text[: room - room // 2]}{gap}{text[len(text) - room // 2 :]}"


def json_of(data: Any, **form: Any) -> str:
    """Plain data as JSON, which has no infinity and no NaN: these are null.

    Args:
        data: lists, dictionaries, text, numbers and None.
        form: as of ``json.dumps``.

    """
    return json.dumps(_finite(data), allow_nan=False, **form)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _finite(each) for name, each in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(each) for each in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
