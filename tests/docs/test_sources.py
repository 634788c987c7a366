"""Every table of figures is written by a command, printed by one that the page names, or held."""

import importlib.util

from benchmarks.tables.__main__ import TABLES
from tests.docs.pages import ROOT
from tests.docs.sources import HELD, NO_MEASUREMENT, PRINTED, WHOLE, WRITTEN, tables, tables_of

FOUND = list(tables())


def test_every_table_of_figures_has_a_source():
    assert len(FOUND) > 40
    written = {
        (page, name) for where in (TABLES, WRITTEN) for page in where for name in where[page]
    }
    rest = [t for t in FOUND if (t.page, t.comment) not in written and t.page not in WHOLE]
    places = [*PRINTED, *HELD, *NO_MEASUREMENT]
    assert [t for t in rest if sum(t.is_at(place) for place in places) != 1] == []
    assert [place for place in places if sum(t.is_at(place) for t in rest) != 1] == []
    assert written <= {(t.page, t.comment) for t in FOUND}
    assert set(WHOLE) <= {t.page for t in FOUND}


def test_pages_name_the_commands_that_make_their_tables():
    modules = {*WHOLE.values(), *(module for page in WRITTEN.values() for module in page.values())}
    for (page, _), command in PRINTED.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert command in text.replace("\n", " "), (page, command)
        if command.startswith("python -m "):
            modules.add(command.removeprefix("python -m "))
    for module in modules:
        assert importlib.util.find_spec(module), module


def test_tests_that_hold_a_table_read_its_page():
    for (page, _), path in HELD.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        assert f'"{page}"' in text, path


def test_what_makes_a_table_one_of_figures():
    rows = "| a | b | c |\n|---|---|---|\n"
    figures = "| x | 1,234 B | 0.5 % |\n| y | **7** | – |\n"
    options = "| x | `--percentile 99.9` | 2 |\n| y | see section 3 | 2021 |\n"
    text = f"{rows}{figures}\n<!-- name -->\n\n{rows}{figures}\n<!-- end of name -->\n"
    text += f"\n{rows}{options}\n```\n{rows}{figures}```\n"
    first, second = tables_of("page.md", text)
    assert (first.page, first.columns, first.comment) == ("page.md", ("a", "b", "c"), "")
    assert second.comment == "name"
    assert first.is_at(("page.md", "a | b"))
    assert first.is_at(("page.md", "a | b | c |"))
    assert not first.is_at(("page.md", "a | c"))
    assert not first.is_at(("page.md", "a | b |"))
