"""The tool that says how many branches the tests take."""

import pytest

from tools.branches import Share, below, described, shares, table, table_of_places
from tools.page import with_table
from tools.untaken import WIDE, untaken, without_place


def entry(statements, ran, branches, taken, **more):
    numbers = (statements, ran, branches, taken)
    names = ("num_statements", "covered_lines", "num_branches", "covered_branches")
    return {"summary": dict(zip(names, numbers, strict=True)), **more}


FILES = {
    "tinyrt/ir/a.py": entry(10, 10, 8, 6),
    "tinyrt/ir/deep/b.py": entry(10, 8, 2, 2),
    "tinyrt/text.py": entry(4, 3, 0, 0),
}


def test_shares_of_rooms():
    rooms = shares(FILES)
    assert rooms == {
        "tinyrt/ir": Share(20, 18, 10, 8),
        "tinyrt": Share(4, 3, 0, 0),
        "all": Share(24, 21, 10, 8),
    }
    assert [share.percent for share in rooms.values()] == [80.0, 75.0, 80.0]
    assert "| `tinyrt/ir` | 20 | 10 | 80.0 % |" in table(rooms).splitlines()


def test_a_room_that_falls_short_is_named(monkeypatch):
    monkeypatch.setattr("tools.branches.LEAST", 80.0)
    assert below(shares(FILES)) == [("tinyrt", 75.0, 80.0)]
    monkeypatch.setattr("tools.branches.FLOORS", {"tinyrt": 75.0, "tinyrt/ir": 81.0})
    assert below(shares(FILES)) == [("tinyrt/ir", 80.0, 81.0)]


SOURCE = """\
def f(x):
    if x:
        return 1
    try:
        g(x)
    except ValueError:
        return 2
    return 3 if x | 4 else 5
"""


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Of a file whose ``if`` was never true and whose ``except`` never ran."""
    (tmp_path / "tinyrt").mkdir()
    (tmp_path / "tinyrt" / "a.py").write_text(SOURCE)
    last = {"return 3 if x | 4 else 5": "a bit that is always set"}
    here = {"if x:": "never true", "if y:": "no longer there", "if z:": WIDE} | last
    reasons = {"tinyrt/a.py": here}
    monkeypatch.setattr("tools.untaken.ROOT", tmp_path)
    monkeypatch.setattr("tools.untaken.REASONS", reasons)
    missed = {"missing_lines": [3, 6, 7], "missing_branches": [[2, 3], [6, 7], [8, -1]]}
    whole = {"executed_lines": [1], "missing_lines": [], "missing_branches": []}
    return untaken(
        {"tinyrt/b.py": whole, "tinyrt/a.py": {"executed_lines": [1, 2, 4, 5, 8], **missed}}
    )


def test_places_that_no_test_takes(places):
    assert [(place.line, place.text, place.reason) for place in places] == [
        (2, "if x:", "never true"),
        (6, "except ValueError:", ""),
        (8, "return 3 if x | 4 else 5", "a bit that is always set"),
    ]
    assert described(places[0]) == "tinyrt/a.py:2: if x:\n    never true"
    assert "a test is missing, or a reason" in described(places[1])
    assert table_of_places(places[2:]).splitlines()[-1] == (
        "| `tinyrt/a.py` | `return 3 if x \\| 4 else 5` | a bit that is always set |"
    )


def test_a_reason_without_a_place_is_named_unless_it_is_of_other_processors(places):
    assert without_place(places) == [("tinyrt/a.py", "if y:")]


def test_tables_go_between_their_comments():
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert with_table(page, "x", "new") == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert with_table(with_table(page, "x", "1"), "x", "2") == with_table(page, "x", "2")
    with pytest.raises(ValueError, match="<!-- y -->"):
        with_table(page, "y", "new")
