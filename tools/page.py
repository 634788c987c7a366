"""Tables that tools write into pages, most of them into the one about tests."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "contributing" / "testing.md"


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table between the comments ``<!-- name -->`` and ``<!-- end of name -->``.

    Raises:
        ValueError: the page has no such comments.

    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page has no {begin.strip()} and {end}")
    return f"{before}{begin}\n{table}\n\n{end}{after}"


def write_table(name: str, table: str, page: Path = PAGE) -> None:
    """Put the table into the page."""
    page.write_text(with_table(page.read_text(), name, table))
