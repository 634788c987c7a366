"""The plugin that compares what refusals say, in runs of its own with a few tests."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.refusal_texts_plugin import Refusal, chosen, faults, holds_another, normal
from tests.trees import run_pytest, write_tree
from tinyrt.errors import DataError

ROOT = Path(__file__).parents[1]
CONFTEST = """
    from pathlib import Path
    from tests.refusal_texts_plugin import (
        Texts, pytest_addoption, pytest_make_parametrize_id,
    )

    def pytest_configure(config):
        config.pluginmanager.register(Texts(config, Path(__file__).parent / "texts"))
"""
TESTS = """
    import pytest
    from tinyrt.errors import ModelFormatError
    from tinyrt.convert.tflite.reader import read_tflite

    def test_a_file_that_is_missing(tmp_path):
        with pytest.raises(ModelFormatError):
            read_tflite(tmp_path / "missing.tflite")

    def test_files_that_are_empty(tmp_path):
        for name in ("one.tflite", "two.tflite"):
            (tmp_path / name).touch()
            with pytest.raises(ModelFormatError):
                read_tflite(tmp_path / name)
"""
MISSING = """\
tests/test_few.py::test_a_file_that_is_missing 1
problem: cannot read the model: CAUSE
file: TMP/missing.tflite
hint: check the path
"""
EMPTY = """\
tests/test_few.py::test_files_that_are_empty 1
problem: the model file is empty
file: TMP/one.tflite
hint: copy or export the model again
"""


@pytest.fixture
def folder(tmp_path):
    """Two tests that expect three errors of two kinds."""
    files = {
        "tests/conftest.py": CONFTEST,
        "tests/test_few.py": TESTS,
        "pytest.ini": "[pytest]\ntestpaths = tests",
    }
    return write_tree(tmp_path, files)


def run(folder: Path, *options: str) -> tuple[int, str]:
    """The exit status of a run of those tests, and what it says."""
    answer = run_pytest(folder, *options)
    return answer.returncode, answer.stdout


def texts(folder: Path) -> str:
    return (folder / "tests" / "texts" / "convert.txt").read_text()


@pytest.mark.whole
def test_entries_are_written_then_compared_then_missed(folder):
    assert run(folder, "--write-refusals")[0] == 0
    assert texts(folder) == f"{MISSING}\n{EMPTY}"

    file = folder / "tests" / "texts" / "convert.txt"
    file.write_text(f"{MISSING}\n{EMPTY}".replace("check the path", "look"))
    status, said = run(folder)
    assert status == 1
    assert "hint: check the path\nand not, as in tests/refusal_texts/," in said
    assert "1 failed, 1 passed" in said

    file.write_text(MISSING)
    status, said = run(folder)
    assert status == 1
    assert re.search(r"no entry for tinyrt/convert/tflite/reader.py:\d+, in \S+_empty 1\n", said)
    assert "2 passed" in said


@pytest.mark.whole
def test_a_new_row_of_a_table_renames_no_others(folder):
    rows = """
        import pytest

        @pytest.mark.parametrize(("size", "parts"), [{rows}])
        def test_a_row(size, parts): ...
    """
    few = folder / "tests" / "test_few.py"
    few.write_text(dedent(rows.format(rows="(1, [1]), (2, {2})")))
    names = {"test_a_row[1-parts]", "test_a_row[2-parts]"}
    assert set(re.findall(r"test_a_row\S+", run(folder, "--collect-only")[1])) == names
    few.write_text(dedent(rows.format(rows="(None, (0,)), (1, [1]), (2, {2}), (len, 'a')")))
    names |= {"test_a_row[None-parts]", "test_a_row[len-a]"}
    assert set(re.findall(r"test_a_row\S+", run(folder, "--collect-only")[1])) == names


@pytest.mark.whole
def test_entries_of_tests_that_do_not_run_are_kept(folder):
    kept = MISSING.replace("check", "keep")
    file = folder / "tests" / "texts" / "convert.txt"
    file.parent.mkdir()
    file.write_text(f"{kept}\n{EMPTY.replace('empty', 'full')}")
    assert run(folder, "--write-refusals", "-k", "empty")[0] == 0
    stale = EMPTY.replace("empty", "full")
    assert texts(folder) == f"{kept}\n{EMPTY}\n{stale}"


def refusal(test: str, statement: str = "a.py:1", text: str = "problem: a\nhint: b") -> Refusal:
    return Refusal("a", statement, f"{test} 1", text)


def test_one_test_stands_for_each_statement_and_set_of_fields():
    first, second = refusal("b"), refusal("a", text="problem: c\nhint: d")
    other, more = refusal("c", "a.py:2"), refusal("d", text="problem: a\nop: o\nhint: b")
    assert list(chosen([first, second, other, more], {}).values()) == [second, other, more]
    assert list(chosen([first, second], {"b 1": "problem: a"}).values()) == [first]


def test_entries_that_lack_and_errors_that_lack():
    seen = [refusal("t[a]"), refusal("t[b]"), refusal("t[c]", "a.py:2")]
    entries = {"t[b] 1": "problem: a", "t[d] 1": "problem: d"}
    lacking = "no entry for tinyrt/a.py:2, in t[c] 1"
    assert faults(seen, entries, set()) == [lacking, "no error for the entry t[d] 1"]
    assert faults(seen, entries, {"t[d]"}) == [lacking]  # it lacked what it needs


def test_folders_that_differ_are_left_out(monkeypatch):
    monkeypatch.setenv("TINYRT_ZOO", "/data/zoo")
    base = "/tmp/pytest-7"
    said = normal("'/tmp/pytest-7/test_x0/a.npy', /data/zoo/b.npy at 0x7f3a2b1c4d50", base)
    assert said == "'TMP/a.npy', ZOO/b.npy at 0x..."
    assert normal(f"{ROOT}/docs, 0x12", base) == "ROOT/docs, 0x12"
    assert normal(f"one of {', '.join('abcdefghi')}; or", base) == "one of NAMES or"
    assert normal("reaches 34.7 dB", base) == "reaches N dB"
    assert normal("slope 0.28122990, 0.2812", base) == "slope 0.2812..., 0.2812"
    assert normal(f"one of {', '.join('abcdefgh')}", base) == f"one of {', '.join('abcdefgh')}"


def test_text_that_is_no_utf_8_is_escaped():
    assert normal("é \ud800", "/tmp") == r"é \ud800"


def test_an_error_within_another_is_found():
    inner = DataError("too deep", expected="8 bits")
    outer, plain = DataError(f"not decoded: {inner}"), DataError(f"not decoded: {inner.problem}")
    outer.__cause__ = plain.__cause__ = inner
    assert [holds_another(error) for error in (outer, plain, inner)] == [True, False, False]
