"""The tool that says how many branches the tests take."""

import pytest

from tools.branches import Share, below, missing, shares, table
from tools.page import with_table


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


def test_what_was_not_reached():
    files = {
        "tinyrt/ir/a.py": {"missing_lines": [3], "missing_branches": [[2, 3]]},
        "tinyrt/ir/b.py": {"missing_lines": [], "missing_branches": []},
        "tinyrt/ops/c.py": {"missing_lines": [1], "missing_branches": []},
    }
    assert missing(files, "tinyrt/ir") == ["tinyrt/ir/a.py: lines [3], jumps [[2, 3]]"]


def test_tables_go_between_their_comments():
    page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert with_table(page, "x", "new") == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    assert with_table(with_table(page, "x", "1"), "x", "2") == with_table(page, "x", "2")
    with pytest.raises(ValueError, match="<!-- y -->"):
        with_table(page, "y", "new")
