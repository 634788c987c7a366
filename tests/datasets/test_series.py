"""Tables as windows along time: columns, classes by folder or column, and tables that are none."""

import numpy as np
import pytest

from tests.datasets.trees import classes_of
from tinyrt.budget import limited
from tinyrt.datasets import load_series
from tinyrt.errors import BudgetError, DataError

TABLE = "t,x,y,what\n" + "".join(
    f"{i},{10 + i},{-i}.5,{'rest' if i < 4 else 'run'}\n" for i in range(7)
)


def save(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_windows_do_not_overlap_unless_asked(tmp_path):
    save(tmp_path / "a.csv", "x\n" + "\n".join(map(str, range(7))))
    assert load_series(tmp_path, window=3).x[..., 0].tolist() == [[0, 1, 2], [3, 4, 5]]
    found = load_series(tmp_path, window=3, step=2)
    assert found.x[..., 0].tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert (found.x.dtype, found.y, found.left_out) == (np.float32, None, ())
    assert load_series(tmp_path, window=7).x.shape == (1, 7, 1)


def test_the_column_says_the_class_of_windows_in_which_it_does_not_change(tmp_path):
    save(tmp_path / "a.csv", TABLE)
    found = load_series(tmp_path, window=2, step=1, label="what", columns=["y", "x"])
    assert found.classes == ("rest", "run")
    assert found.y.tolist() == [0, 0, 0, 1, 1]
    assert found.x[3].tolist() == [[-4.5, 14], [-5.5, 15]]
    assert found.left_out == (f"{tmp_path / 'a.csv'}: rows 4 to 5, of 2 classes",)
    assert load_series(tmp_path, window=2, label="what").x.shape == (3, 2, 3)


def test_folders_are_classes_and_short_tables_are_left_out(tmp_path):
    classes_of(tmp_path, save, "x,y\n1,2\n3,4\n", "csv")
    save(tmp_path / "b" / "1.csv", "x,y\n5,6\n")
    save(tmp_path / "b" / "notes.txt", "nice")
    found = load_series(tmp_path, window=2)
    assert (found.classes, found.y.tolist()) == (("a", "b"), [0, 1])
    assert found.left_out == ("b/notes.txt", f"{tmp_path / 'b' / '1.csv'}: 1 rows")


def test_classes_stand_in_the_order_of_their_names(tmp_path):
    """Wherever the column stands."""
    names = [f"class {letter}" for letter in "hgfedcbaij"]
    rows = "".join(f"{i}, {n} ,{2 * i}\n" for i, n in enumerate(names))
    save(tmp_path / "a.csv", f"x,what,y\n{rows}")
    found = load_series(tmp_path, window=1, label="what")
    assert found.classes == tuple(sorted(names))
    assert [found.classes[i] for i in found.y] == names


def test_columns_are_found_by_name_in_every_table(tmp_path):
    most = float(np.finfo(np.float32).max)
    save(tmp_path / "a.csv", f"\ufeff x , y\n1,{-most}\n")
    save(tmp_path / "b.csv", "y,z,x\n3,4,5\n\n")
    assert load_series(tmp_path, window=1).x.tolist() == [[[1, -most]], [[5, 3]]]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "0 columns are called 'x'"),
        ("y\n1\n", {}, "0 columns are called 'x'"),
        ("x,x\n1,2\n", {}, "2 columns are called 'x'"),
        ("x,y\n1\n", {}, "line 2 has 1 cells"),
        ("x\n\n1\ntwo\n", {}, "'two' in line 4, column 'x'"),
        ("x\n1e39\n", {}, "'1e39' in line 2"),
        ("x\nnan\n", {}, "a finite number"),
        ('x\n"1\n', {}, "cannot be read: unexpected end of data"),
        ("x\n1\n", {"label": "what"}, "0 columns are called 'what'"),
        ("x\n1\n", {"window": 2}, "no table has a window of 2 rows"),
        ("x\n1\n", {"window": 0}, "windows of 0 rows"),
        ("x\n1\n", {"window": 0, "step": 1}, "windows of 0 rows"),
        ("x\n1\n", {"step": 0}, "0 rows apart"),
    ],
)
def test_a_table_that_is_none_is_named(text, options, says, tmp_path):
    save(tmp_path / "a.csv", text)
    options = {"window": 1, "columns": ["x"]} | options
    with pytest.raises(DataError) as caught:
        load_series(tmp_path, **options)
    assert says in str(caught.value)
    assert str(tmp_path) in str(caught.value) or "rows" in says


def test_what_is_no_text_is_named(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x\n\xff\n")
    with pytest.raises(DataError, match="the table cannot be read: 'utf-8'") as caught:
        load_series(tmp_path, window=1)
    assert "a.csv" in str(caught.value)


def test_two_sources_of_classes_are_one_too_many(tmp_path):
    classes_of(tmp_path, save, TABLE, "csv")
    with pytest.raises(DataError, match="by the folders' names and by the column 'what'"):
        load_series(tmp_path, window=1, label="what")


def test_more_than_the_memory_is_refused(tmp_path):
    save(tmp_path / "a.csv", "x,y\n" + "1,2\n" * 50)
    with limited(memory=100), pytest.raises(BudgetError, match=r"the table 'a\.csv'"):
        load_series(tmp_path, window=1)
    with limited(memory=12 * 204), pytest.raises(BudgetError, match="10 windows"):
        load_series(tmp_path, window=41, step=1)
