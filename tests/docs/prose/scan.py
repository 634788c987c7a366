"""Figures in the prose of pages: numbers with a unit, outside of tables and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.pages import PAGES, ROOT
from tests.docs.sources import WHOLE

UNITS = (
    "instructions? cycles? bytes? kB KB MB GB KiB MiB GiB µs ns ms s seconds? minutes? hours? "
    "times dB points? MACs? M k B trials? samples? lines"
)
"""What makes a number one that was measured or counted, or a limit; beside the per cent."""

_NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_FIGURE = re.compile(
    rf"(?<![\w.\-#/,]){_NUMBER}(?:\s?%|\s(?:M |thousand |million )?(?:{'|'.join(UNITS.split())})\b)"
)
_HIDDEN = (
    re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL),
    re.compile(r"<!-- (\w[\w-]*) -->.*?<!-- end of \1 -->", re.DOTALL),
    re.compile(r"^(?:\||#|<!--).*$", re.MULTILINE),
)
_CODE = re.compile(r"`[^`]*`")


@dataclass(frozen=True)
class Figure:
    """A figure in a page's prose.

    Attributes:
        text: number and unit, as ``27,648 bytes``.
        begin, end: where it stands in ``prose_of`` the page.

    """

    text: str
    begin: int
    end: int


def prose_of(text: str) -> str:
    """A page's text without what is no prose, on one line."""
    for hidden in _HIDDEN:
        text = hidden.sub("\n", text)
    return " ".join(text.split())


def figures_in(prose: str) -> Iterator[Figure]:
    """The figures of prose; names in code are none."""
    bare = _CODE.sub(lambda code: "`" * len(code[0]), prose)
    for found in _FIGURE.finditer(bare):
        yield Figure(found[0], *found.span())


def pages() -> dict[str, str]:
    """Page that people write, from the root of the tree -> its prose."""
    named = {path.relative_to(ROOT).as_posix(): path for path in PAGES}
    return {
        page: prose_of(path.read_text(encoding="utf-8"))
        for page, path in named.items()
        if page.removeprefix("docs/") not in {*WHOLE, "onnx.md"}
    }
