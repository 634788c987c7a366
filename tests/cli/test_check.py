"""``tinyrt check``: what it prints and writes, and how it ends."""

import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tinyrt import api
from tinyrt.api.gate.baseline import read_baseline
from tinyrt.cli.check import shown


@pytest.fixture
def budget(tmp_path):
    def write(text):
        path = tmp_path / "budget.toml"
        path.write_text(text)
        return path

    return write


@shows("check", "model", "budget", "json")
def test_limits_decide_how_it_ends(made, budget):
    arena = api.inspect_model(made.int8, core="cortex-m4").arena_bytes
    good = budget(f"[cores.m4]\narena = {arena}")
    found = call_json("check", made.int8, "--budget", good)
    assert (found["passed"], found["model"], found["notes"]) == (True, str(made.int8), [])
    assert found["figures"][0] == {
        "where": "cortex-m4",
        "what": "arena",
        "value": arena,
        "limit": arena,
        "before": None,
        "verdict": "ok",
        "change": None,
    }
    text = call("check", made.int8, "--budget", good).stdout
    assert f"{arena:,}" in text
    assert "All figures pass." in text
    bad = budget(f"[cores.m4]\narena = {arena - 1}")
    text = call("check", made.int8, "--budget", bad, code=1).stdout
    assert "over the limit" in text
    assert "1 of 2 figures fail." in text
    assert call_json("check", made.int8, "--budget", bad, code=1)["passed"] is False
    other = call_json("check", made.tall, "--budget", good, code=1)["figures"][1]
    assert (other["what"], other["value"]) == ("bytes", made.tall.stat().st_size)


@shows("check", "data")
def test_accuracy_takes_data(made, budget):
    path = budget("[accuracy]\ntop1 = 1")
    assert "-d DATA.npz" in call("check", made.int8, "--budget", path, code=1).stderr
    found = call_json("check", made.int8, "--budget", path, "-d", made.test, code=1)
    value = found["figures"][1]["value"]
    assert value == api.evaluate(made.int8, made.test).top1
    text = call("check", made.int8, "--budget", path, "-d", made.test, code=1).stdout
    assert f"{100 * value:.2f} %" in text


@shows("check", "baseline", "write_baseline")
def test_a_baseline_is_written_and_compared_with(made, budget, tmp_path):
    path, kept = budget("[file]\nbytes = '1M'"), tmp_path / "kept.json"
    options = ("check", made.int8, "--budget", path)
    assert "--baseline" in call(*options, "--write-baseline", code=1).stderr
    call(*options, "--baseline", kept, "--write-baseline")
    size = made.int8.stat().st_size
    assert read_baseline(kept).figures == {"file": {"bytes": size}}
    assert call_json(*options, "--baseline", kept)["figures"][0]["change"] == 0.0
    fields = json.loads(kept.read_text())
    fields["figures"]["file"]["bytes"] = size - 1
    kept.write_text(json.dumps(fields))
    text = call(*options, "--baseline", kept, code=1).stdout
    assert "worse than the" in text
    assert f"{size - 1:,}" in text
    assert f"{100 / (size - 1):+.2f} %" in text


@shows("check", "markdown")
@pytest.mark.parametrize(
    ("limit", "verdict"), [("1", "**fails**"), ("999,999", "passes")], ids=["fails", "passes"]
)
def test_markdown_is_written_where_it_fails_too(made, budget, tmp_path, limit, verdict):
    page, number = tmp_path / "page.md", limit.replace(",", "")
    path, code = budget(f"[file]\nbytes = {number}"), int(limit == "1")
    call("check", made.int8, "--budget", path, "--markdown", page, code=code)
    lines = page.read_text().splitlines()
    assert lines[0].endswith(verdict)
    assert f"| file | bytes | {made.int8.stat().st_size:,} | - | - | {limit} |" in lines[-1]


def test_every_note_is_shown(capsys):
    """Each on its line, in front of the verdict."""
    Console().print(shown(SimpleNamespace(rows=(), notes=("one", "another"))))
    *_, first, second, verdict = capsys.readouterr().out.splitlines()
    assert (first.strip(), second.strip()) == ("note: one", "note: another")
    assert verdict.strip() == "All figures pass."
