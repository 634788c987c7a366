"""What makes the tables of the pages: cells, names of options, and where they are written."""

import sys
from types import SimpleNamespace

import pytest

from benchmarks.tables import __main__ as command
from benchmarks.tables import runs
from benchmarks.tables.rows import BY_ROWS, how, rows_on_vectors, small
from tinyrt.export import ExportOptions


def test_cells():
    table = runs.markdown(("a", "b"), [["x", 1234567], ["y", ""], ["z", "+1 %"]])
    assert table == "| a | b |\n|---|---|\n| x | 1,234,567 |\n| y | |\n| z | +1 % |"


def test_shares_have_a_sign():
    assert runs.percent(1029, 1000) == "+2.9 %"
    assert runs.percent(750, 1000, 0) == "-25 %"
    plain, more = SimpleNamespace(instructions=200), SimpleNamespace(instructions=203)
    assert runs.more(more, plain, 2) == "+1.50 %"


def test_ways_are_what_a_user_types():
    assert how(BY_ROWS) == "`--by-rows`"
    assert how(ExportOptions(input_rows=True)) == "`--input-rows`"
    assert how(small(4_300)) == "`--max-arena 4300`"
    assert how(small(12_000, input_rows=True)) == "`--input-rows --max-arena 12000`"


def test_a_wrong_answer_has_no_figure(monkeypatch):
    monkeypatch.setenv("TINYRT_ZOO", "somewhere")
    wrong = SimpleNamespace(core="cortex-m4", bit_exact=False)
    monkeypatch.setattr(runs, "run_emulated", lambda *args, **kwargs: wrong)
    with pytest.raises(SystemExit, match="cortex-m4: the device's answers are not the host's"):
        runs.random_run(runs.path_of("never_run"), "cortex-m4")
    monkeypatch.delenv("TINYRT_ZOO")
    with pytest.raises(SystemExit, match="set TINYRT_ZOO to the folder that holds models/"):
        runs.zoo()


def test_tables_go_into_their_pages(monkeypatch, tmp_path, capsys):
    page = tmp_path / "memory.md"
    page.write_text("a\n<!-- rows -->\n\nold\n\n<!-- end of rows -->\nb\n")
    monkeypatch.setattr(command, "DOCS", tmp_path)
    tables = {"memory.md": {"rows": lambda: "new", "other": lambda: pytest.fail("not asked for")}}
    monkeypatch.setattr(command, "TABLES", tables)
    monkeypatch.setattr(sys, "argv", ["tables", "rows"])
    command.main()
    assert capsys.readouterr().out == "docs/memory.md: rows\n\nnew\n\n"
    assert "old" in page.read_text()
    monkeypatch.setattr(sys, "argv", ["tables", "rows", "--write"])
    command.main()
    assert page.read_text() == "a\n<!-- rows -->\n\nnew\n\n<!-- end of rows -->\nb\n"
    monkeypatch.setattr(sys, "argv", ["tables", "rowz"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no table is called rowz" in capsys.readouterr().err


def test_a_model_that_rows_do_not_help_says_so(monkeypatch):
    def run(name, core, options=runs.PLAIN):
        whole = options == runs.PLAIN or name == "dscnn_kws"
        ram = SimpleNamespace(arena=100 if whole else 60)
        flash = SimpleNamespace(code=1_000 if whole else 900)
        return SimpleNamespace(ram=ram, flash=flash, instructions=500 if whole else 510)

    monkeypatch.setattr("benchmarks.tables.rows.golden_run", run)
    _, _, first, *_, last = rows_on_vectors().splitlines()
    assert first == "| resnet8 | `--by-rows` | 100 | 60 | +2.0 % | -10.0 % |"
    assert last == "| dscnn_kws | `--max-arena 6500` | 100 | as plain | | |"
