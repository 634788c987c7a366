"""Every figure in the prose of pages is computed, held by a test, or printed by a command."""

import pytest

from tests.docs.pages import ROOT
from tests.docs.prose.computed import PAGES
from tests.docs.prose.scan import figures_in, pages, prose_of
from tests.docs.prose.told import DEFINED, HELD, MEASURED, OTHERS

PROSE = pages()
TOLD = {page: [] for page in PROSE}
for _parts in (DEFINED, HELD, MEASURED, OTHERS):
    for _page, _said in _parts.items():
        TOLD[_page] += _said


def computed(page):
    return list(PAGES.get(page, lambda: ())())


@pytest.mark.parametrize("page", [*PROSE])
def test_every_figure_has_a_source(page):
    prose = PROSE[page]
    parts = [*computed(page), *TOLD[page]]
    assert [part for part in parts if prose.count(part) != 1] == [], "to be there, once"
    spans = [(prose.index(part), prose.index(part) + len(part)) for part in parts]
    figures = [*figures_in(prose)]

    def sources(figure):
        return sum(begin <= figure.begin and figure.end <= end for begin, end in spans)

    unheld = [f"… {prose[max(0, f.begin - 50) : f.end + 30]} …" for f in figures if not sources(f)]
    assert unheld == []
    assert [figure for figure in figures if sources(figure) > 1] == []
    idle = [
        part
        for part, (begin, end) in zip(parts, spans, strict=True)
        if not any(begin <= figure.begin and figure.end <= end for figure in figures)
    ]
    assert idle == []


def test_pages_that_have_sources_are_there():
    assert {*PAGES, *DEFINED, *HELD, *MEASURED, *OTHERS} <= PROSE.keys()


def test_what_is_held_and_measured_is_named():
    for page, parts in HELD.items():
        for path in parts.values():
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f'"{page.removeprefix("docs/")}"' in text, path
    for page, parts in MEASURED.items():
        whole = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert [command for command in parts.values() if command not in whole] == [], page
    for parts in OTHERS.values():
        for reason in parts.values():
            assert " " in reason or (ROOT / reason).exists(), reason


def test_what_a_figure_is():
    text = (
        "# 3 bytes\n\nIt takes 1,204 bytes, .5 MB\nor 7 % of `4 MB`; 3 of 5, M4, 2.9 times.\n\n"
        "```\n8 bytes\n```\n\n| 9 bytes |\n\n<!-- x -->\n\n1 s\n\n<!-- end of x -->\n"
    )
    prose = prose_of(text)
    found = [*figures_in(prose)]
    assert [figure.text for figure in found] == ["1,204 bytes", ".5 MB", "7 %", "2.9 times"]
    assert prose[found[0].begin : found[0].end] == found[0].text
