"""Names and other text from files, made fit to be written and shown: all of it goes through here.

What a file says is data. A tensor may be called ``*/ system("x") /*``, ``$(shell x)``, ``<script>``
or an escape sequence of a terminal; where such a name is written into C, a Makefile, a page or a
terminal, only characters are left that mean nothing in any of them.
"""

from __future__ import annotations

import re

SAFE = r"A-Za-z0-9 _\-./:;,+=()\[\]"
"""Characters of names that generated text may hold, for a regular expression: none that ends or
continues a comment, quotes, escapes or expands, in any language that tinyrt writes."""

MOST_NAME = 512
"""Characters of a name that generated text shows."""

UNSAFE = re.compile(rf"[^{SAFE}]")


def clean(text: str, limit: int = MOST_NAME) -> str:
    """``text`` as generated files and tables show it: one line, and ``_`` for all but ``SAFE``.

    What is longer than the limit is cut in its middle. Different texts may become equal: this is
    for readers, never for what must be told apart.
    """
    return UNSAFE.sub("_", shortened(text, limit))


def printable(text: str) -> str:
    """``text`` as a message shows it: ``?`` for whatever is neither visible nor a space.

    Line breaks stay. Controls, escape sequences, what turns the direction of writing, and half
    characters go: what is printed moves no cursor and hides nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def shortened(text: str, limit: int) -> str:
    """``text`` cut in its middle where it is longer than the limit, with its length said."""
    if len(text) <= limit:
        return text
    gap = f"...({len(text)} characters)..."
    kept = max(limit - len(gap), 2)
    return f"{text[: kept - kept // 2]}{gap}{text[len(text) - kept // 2 :]}"
