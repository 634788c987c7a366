"""The page about public models agrees with the models."""

import pytest

from benchmarks.public import PAGE, Options, header, line_of, models_in, row_of
from benchmarks.public_answers import RULES
from tools.zoo import published

ROWS = {
    cells[0].strip("`"): cells
    for line in PAGE.read_text(encoding="utf-8").partition("<!-- models -->")[2].splitlines()
    if line.startswith("| `") and (cells := line.strip("| \n").split(" | "))
}


def test_the_page_has_a_row_for_each_model(zoo):
    here = {path.name for path in models_in(zoo / "models" / "public")}
    fetched = {s.file.rpartition("/")[2] for s in published() if "models/public/" in s.file}
    assert fetched <= here <= set(ROWS)
    assert set(ROWS) - here in (set(), set(ROWS) - fetched)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.whole
def test_the_page_says_what_becomes_of_models(name, zoo):
    path = zoo / "models" / "public" / name
    if not path.is_file():
        pytest.skip("not published")
    cells = line_of(row_of(path, name, Options(device=False))).strip("| \n").split(" | ")
    _, read, answers, arena, core_arena, *_ = ROWS[name]
    if read.startswith("yes; not on the core"):
        read, core_arena = "yes", cells[4]  # how it runs there is not asked here
    # How far floats are apart depends on what else runs them, and on its version.
    near = [text.partition(",")[0] for text in (answers, cells[2])]
    assert near[0] == near[1]
    assert [read, arena, core_arena] == [cells[1], *cells[3:5]]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.whole
def test_the_page_says_what_models_cost_on_the_core(name, zoo):
    path = zoo / "models" / "public" / name
    if not path.is_file():
        pytest.skip("not published")
    cells = line_of(row_of(path, name, Options())).strip("| \n").split(" | ")
    assert [cells[1], *cells[6:]] == [ROWS[name][1], *ROWS[name][6:]]


def test_the_page_explains_every_rule_and_column():
    text = PAGE.read_text(encoding="utf-8")
    assert f"\n{header('cortex-m4')}\n" in text
    for rule in RULES:
        assert f"\n| {rule.name} | " in text
    for column in header("cortex-m4").splitlines()[0].strip("| ").split(" | "):
        assert f"\n| {column} | " in text
    for word in ("exact", "float", "by rule", "not compared"):
        assert f"- **{word}**: " in text
