"""The tables of example firmwares' own pages are those of docs/firmware.md."""

import re

import pytest

from tests.docs.pages import ROOT

EXAMPLES = ROOT / "firmware_examples"
WITH_TABLES = ("anomaly", "camera", "keyword_spotting", "motion")
SAME = {"RAM of the whole image": "RAM", "stack": "stack", "told right": "told right"}


def rows_of(text, first):
    """Rows of the table whose head begins with these cells: column -> cell."""
    (table,) = re.findall(rf"^\| {first} \|.*(?:\n\|.*)+", text, re.MULTILINE)
    head, _, *rows = ([c.strip() for c in r.strip("|").split("|")] for r in table.splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


WHOLE = {
    (re.findall(r"\[(\w+)\]", row["example"])[0], row["core"]): row
    for row in rows_of(
        (ROOT / "docs" / "firmware.md").read_text(encoding="utf-8"), r"example \| core"
    )
}


def number(cell):
    return int(cell.replace(",", ""))


@pytest.mark.parametrize("name", WITH_TABLES)
def test_a_page_has_the_figures_of_the_table(name):
    """Instructions to three digits, memory to the byte."""
    rows = rows_of(
        (EXAMPLES / name / "README.md").read_text(encoding="utf-8"), r"core \| instructions[^|]*"
    )
    assert {(name, row["core"]) for row in rows} == {key for key in WHOLE if key[0] == name}
    for row in rows:
        whole, found = WHOLE[name, row["core"]], {k.split(" for ")[0]: v for k, v in row.items()}
        rounded = float(f"{number(whole['instructions']):.3g}")
        assert number(found["instructions"]) == rounded, (row, whole)
        for column in SAME.keys() & found.keys():
            assert found[column] == whole[SAME[column]], (column, row, whole)
        parts = [found[part] for part in ("arena and state", "arena", "state") if part in found]
        assert sum(map(number, parts)) == number(whole["of these, arena and state"])


def test_all_pages_with_tables_are_compared():
    with_tables = {
        page.parent.name
        for page in EXAMPLES.glob("*/README.md")
        if "| core | instructions" in page.read_text(encoding="utf-8")
    }
    assert with_tables == set(WITH_TABLES)


@pytest.mark.parametrize("name", ["images.h", "arm.cmake"])
def test_folders_to_copy_have_the_same_file(name):
    """Each example is whole without the others: what they share is there several times."""
    copies = {path.parent.name: path.read_bytes() for path in EXAMPLES.glob(f"*/{name}")}
    assert len(copies) > 1
    assert len({*copies.values()}) == 1, sorted(copies)
