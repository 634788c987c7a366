"""Text of exported projects: full lines, headers that it needs, names that templates ask for."""

from types import SimpleNamespace

import numpy as np
import pytest
from jinja2 import UndefinedError

from tinyrt.export.model import _needs_math
from tinyrt.export.rendering import render
from tinyrt.export.text import INDENT, LINE, block_comment, fill, struct, wrap


@pytest.mark.parametrize("width", [1, 2, 3, 7, 30, LINE])
def test_a_line_takes_all_that_it_has_room_for(width):
    items = ["9" * width] * 100
    lines = wrap(items).splitlines()
    assert [item for line in lines for item in line.strip().rstrip(",").split(", ")] == items
    for line in lines[:-1]:
        assert len(line) <= LINE or line.count(",") == 1
        assert len(line) + len(f" {items[0]},") > LINE


@pytest.mark.parametrize(("spare", "lines"), [(0, 1), (1, 2)])
def test_the_last_character_of_a_line_is_its_comma(spare, lines):
    room = LINE - len(INDENT) - len("9, ,") + spare
    assert len(wrap(["9", "1" * room]).splitlines()) == lines


@pytest.mark.parametrize(("spare", "lines"), [(0, 1), (1, 2)])
def test_words_fill_a_line_to_its_last_column(spare, lines):
    text = fill("a = {", ["1,", "2" * (LINE - len("a = {1, ") + spare)])
    assert len(text.splitlines()) == lines


@pytest.mark.parametrize(("spare", "between"), [(0, " "), (1, f"\n{INDENT} * ")])
def test_a_comment_stays_on_one_line_while_it_fits(spare, between):
    text = "t" * (LINE - len(f"{INDENT}/* title:  */") + spare)
    assert block_comment("title", text) == f"\n{INDENT}/* title:{between}{text} */"


def test_a_nested_struct_is_broken_where_it_is_longer_than_a_line():
    short = struct("params", "p", {"x": {"a": 1, "b": 2}, "n": 3})
    assert short.splitlines()[1:-1] == [f"{INDENT}.x = {{.a = 1, .b = 2}},", f"{INDENT}.n = 3,"]
    long = {f"field_{i}": 10**8 + i for i in range(12)}
    lines = struct("params", "p", {"x": long}).splitlines()[1:-1]
    assert len(lines) == 3
    assert max(map(len, lines)) <= LINE
    text = " ".join(line.strip() for line in lines)
    assert text == f".x = {{{', '.join(f'.{k} = {v}' for k, v in long.items())}}},"


def test_a_template_may_not_ask_for_what_it_is_not_given(tmp_path):
    (tmp_path / "asking.j2").write_text("{{ nothing }}")
    with pytest.raises(UndefinedError, match="nothing"):
        render(tmp_path, "asking.j2", {})


def needs_math(functions=("tinyrt_add_s8",), **parts):
    """Of a writer with these parts."""
    nothing = {"tables": {}, "parameters": {}, "has_odd_floats": False}
    return _needs_math(SimpleNamespace(functions=functions, **nothing | parts))


def test_what_only_the_mathematics_header_names_asks_for_it():
    ends = {"low": 0.0, "high": np.inf}
    table = SimpleNamespace(array=np.array([1, -np.inf], np.float32))
    assert not needs_math(parameters={"p": SimpleNamespace(fields={"low": 0.0})})
    assert needs_math(parameters={"p": SimpleNamespace(fields=ends)})
    assert needs_math(tables={"t": table})
    assert needs_math(has_odd_floats=True)
    assert needs_math(("tinyrt_add_s8", "tinyrt_exp_f32"))
