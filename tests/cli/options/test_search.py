"""Options of ``tinyrt search``: each reaches the search; one search runs as it is."""

import json
import re
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tinyrt.cli.search
import tinyrt.search
from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.search.made import FILE, blobs
from tinyrt.api.fitting import DeviceBudget
from tinyrt.cli.console import ERR, OUT
from tinyrt.cli.search import parse_count, shown
from tinyrt.errors import DataError
from tinyrt.search import SearchSetting
from tinyrt.search.checks import Emulated
from tinyrt.search.store import End, Record

BUDGET = DeviceBudget("cortex-m4", arena=2048)
LIMITED = ("--max-arena", "2k")
DEFAULT = SearchSetting(BUDGET)

SETTINGS = {
    "": DEFAULT,
    "--core m0": SearchSetting(DeviceBudget("m0", arena=2048)),
    "--max-flash 3k": SearchSetting(DeviceBudget("cortex-m4", arena=2048, flash=3072)),
    "--max-instructions 2M": SearchSetting(
        DeviceBudget("cortex-m4", arena=2048, instructions=2_000_000)
    ),
    "--max-cycles 3M": SearchSetting(DeviceBudget("cortex-m4", arena=2048, cycles=3_000_000)),
    "--objective flash --objective arena": SearchSetting(BUDGET, objectives=("flash", "arena")),
    "--trials 7": SearchSetting(BUDGET, trials=7),
    "--epochs 4": SearchSetting(BUDGET, epochs=4),
    "--seed 3": SearchSetting(BUDGET, seed=3),
    "--folds 5": SearchSetting(BUDGET, folds=5),
    "--share 9": SearchSetting(BUDGET, share=9),
    "--scouts 20": SearchSetting(BUDGET, scouts=20),
}
NOTHING = {"refused_early": None, "scout_ends": {}}
REST = {
    "--validation 0.4": ("validation", 0.4),
    "--study s.log": ("study", "s.log"),
    "--resume": ("resume", True),
    "--workers 3": ("workers", 3),
    "--scheduler tcp://a:1": ("scheduler", "tcp://a:1"),
    "--teacher t.tflite": ("teacher", "t.tflite"),
    "--begin-with b.json": ("begin", "b.json"),
    "--test t.npz": ("test", "t.npz"),
    "--emulate 2": ("emulate", 2),
}


@pytest.fixture
def asked(monkeypatch):
    """What the search is asked for; it finds nothing."""
    given = []
    empty = SimpleNamespace(front=(), records={}, measure="accuracy", ends={}, study="s", looks=0)
    empty.refused_early, empty.scout_ends, empty.as_dict = None, {}, dict
    monkeypatch.setattr(
        tinyrt.search, "search_networks", lambda *a, **k: (given.append((a, k)), empty)[1]
    )
    return given


@shows(
    "search",
    *(
        "space",
        "data",
        "output",
        "core",
        "max_arena",
        "max_flash",
        "max_instructions",
        "max_cycles",
    ),
    *("objective", "trials", "epochs", "seed", "folds", "share", "scouts"),
)
@pytest.mark.parametrize("options", SETTINGS)
def test_options_are_the_setting_of_the_same_name(options, asked):
    call("search", "tcn", "-d", "d.npz", "-o", "out", *LIMITED, *options.split(), code=1)
    ((arguments, _),) = asked
    assert [str(a) for a in arguments[:3]] == ["tcn", "d.npz", "out"]
    assert arguments[3] == SETTINGS[options]
    assert (arguments[3] == DEFAULT) == (options == "")


@shows("search", "validation", "study", "resume", "workers", "scheduler", "test", "emulate")
@shows("search", "teacher", "begin_with")
@pytest.mark.parametrize("options", REST)
def test_other_options_are_arguments_of_the_same_name(options, asked):
    files = ("search", "tcn", "-d", "d.npz", "-o", "out", *LIMITED)
    call(*files, code=1)
    call(*files, *options.split(), code=1)
    (_, default), (_, given) = asked
    name, value = REST[options]
    assert str(given[name]) == str(value) != str(default[name])
    assert {k for k in given if str(given[k]) != str(default[k])} - {
        "on_trial",
        "on_dashboard",
    } == {name}
    plain = {"validation": 0.2, "study": None, "resume": False, "workers": None}
    assert {k: default[k] for k in plain} == plain


def test_the_dashboard_of_dask_is_told_beside_the_answer(asked):
    files = ("search", "tcn", "-d", "d.npz", "-o", "out", *LIMITED)
    call(*files, code=1)
    said = asked[0][1]["on_dashboard"]
    with ERR.capture() as told:
        said("http://127.0.0.1:8787/status")
    assert told.get() == "dashboard: http://127.0.0.1:8787/status\n"


def test_the_terminal_is_told_how_the_search_stands(asked, monkeypatch):
    told = []

    @contextmanager
    def bar(label):
        yield lambda *given: told.append((label, *given))

    monkeypatch.setattr(tinyrt.cli.search, "progress_bar", bar)
    call("search", "tcn", "-d", "d.npz", "-o", "out", *LIMITED, code=1)
    asked[0][1]["on_trial"](1, 9, Record(End.REFUSED, "plan", costs={"arena": 2049}))
    asked[0][1]["on_trial"](2, 9, Record(End.TRAINED, "int8", costs={"arena": 2048}, score=0.5))
    assert told == [
        ("trials", 1, 9, "1 refused (arena 1)"),
        ("trials", 2, 9, "best 50.00 % (arena 2,048); 1 refused (arena 1)"),
    ]


@shows("search", "json", "html")
def test_a_search_from_a_file_to_a_front(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    np.savez(tmp_path / "d.npz", **blobs())
    files = (f"{tmp_path}/mine.py:flat", "-d", tmp_path / "d.npz", "-o", tmp_path / "out")
    quick = ("--max-arena", "1k", "--workers", "1", "--trials", "2", "--epochs", "1")
    page = tmp_path / "page.html"
    found = call_json("search", *files, *quick, "--html", page)
    assert "<h1>flat on cortex-m4</h1>" in page.read_text()
    assert (found["measure"], found["trials"]) == ("accuracy", 2)
    (point,) = found["front"]
    assert 0 < point["score"] <= 1
    assert point["costs"]["arena"] <= 1024
    shown = call("search", *files, *quick, "--resume").stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(shown)
    assert "models and C code" in shown
    assert f" {100 * point['score']:.2f} % " in shown
    refused = call("search", *files, *quick, code=1)
    assert "there is a study already" in refused.stderr


def test_a_search_that_finds_nothing_says_why_and_fails(tmp_path):
    np.savez(tmp_path / "d.npz", **blobs())
    files = ("-d", tmp_path / "d.npz", "-o", tmp_path / "out", "--workers", "1")
    done = call("search", "autoencoder", *files, "--max-arena", "4", "--trials", "2", code=1)
    assert "refused (plan): arena " in done.stdout
    assert "of misfits, refused before training" in done.stdout
    assert "100.00 %" in done.stdout


def test_it_is_shown_what_became_of_scouts():
    ends = {"scored": 7, "refused": 2, "repeated": 0, "failed": 0}
    more = {"records": {}, "ends": {}, "study": "s", "looks": 0, "refused_early": None}
    for sent, told in ((ends, r"scouts +7 scored, 2 refused\s"), ({}, None)):
        with OUT.capture() as said:
            OUT.print(shown(SimpleNamespace(front=(), measure="error", scout_ends=sent, **more)))
        assert re.search(told, said.get()) if told else "scouts" not in said.get()


MODEL = Path("out/f/m/x")


def test_errors_are_shown_as_they_are():
    point = SimpleNamespace(trial=4, score=-0.25, loss=0.25, costs={"arena": 656}, model=MODEL)
    point.test, point.emulated = None, None
    nothing = {
        "records": {},
        "ends": {},
        "study": "s",
        "refused_early": None,
        "scout_ends": {},
        "looks": 0,
    }
    with OUT.capture() as said:
        OUT.print(shown(SimpleNamespace(front=(point,), measure="error", **nothing)))
    assert re.search(r"4 +0\.25 +656 ", said.get())
    assert "test" not in said.get()
    assert "emulated" not in said.get()
    assert "cycles" not in said.get()
    point.costs["cycles"] = 7_890
    with OUT.capture() as said:
        OUT.print(shown(SimpleNamespace(front=(point,), measure="error", **nothing)))
    assert re.search(r"arena +flash +instructions +cycles", said.get())
    assert re.search(r"4 +0\.25 +656 +- +- +7,890", said.get())


def result(**said):
    """What a search of no trials found, but for what is said."""
    nothing = {"front": (), "records": {}, "ends": {}, "scout_ends": {}, "looks": 0}
    about = {"measure": "accuracy", "study": "s", "refused_early": None}
    return SimpleNamespace(**nothing | about | said)


@pytest.mark.parametrize(("agrees", "said"), [(True, r"exact \(3\)"), (False, r"DIFFERS \(3\)")])
def test_checks_of_the_front_are_shown(agrees, said):
    point = SimpleNamespace(trial=4, score=0.25, loss=0.7, costs={"arena": 656}, model=MODEL)
    point.test, point.emulated = 0.75, Emulated(3, agrees, 100)
    with OUT.capture() as told:
        OUT.print(shown(result(front=(point,), looks=2)))
    assert re.search(r"4 +25\.00 % +0\.7000 +656 .* 75\.00 % +" + said, told.get())
    assert re.search(r"looks at the test +2", told.get())


def test_a_front_that_was_not_looked_at_this_time_shows_no_test():
    point = SimpleNamespace(trial=4, score=0.25, loss=None, costs={"flash": 656}, model=MODEL)
    point.test, point.emulated = None, None
    with OUT.capture() as told:
        OUT.print(shown(result(front=(point,), looks=2)))
    assert re.search(r"instructions +test\s", told.get())
    assert re.search(r"4 +25\.00 % +- +- +656 +-\s*\n", told.get())
    assert re.search(r"looks at the test +2", told.get())


def test_what_failed_is_shown_before_what_was_refused_and_the_last_first():
    ends = {1: End.REFUSED, 2: End.FAILED, 3: End.REFUSED, 4: End.TRAINED, 5: End.MISFIT}
    records = {n: Record(end, "cost", f"for {n}\nand more") for n, end in ends.items()}
    with OUT.capture() as said:
        OUT.print(shown(result(records=records, measure="error")))
    lines = [line.strip() for line in said.get().splitlines() if "(cost)" in line]
    assert lines == [f"trial {n} {ends[n].value} (cost): for {n}" for n in (5, 2, 3, 1)]


def test_two_of_the_front_and_the_last_eight_reasons_are_shown():
    points = [SimpleNamespace(trial=n, score=0.25, loss=0.5, costs={}, model=MODEL) for n in (7, 3)]
    for point in points:
        point.test, point.emulated = None, None
    records = {n: Record(End.FAILED, "cost", f"for {n}") for n in range(10)}
    with OUT.capture() as said:
        OUT.print(shown(result(front=points, records=records)))
    text = said.get()
    assert re.findall(r"^ *(\d+) +25\.00 %", text, re.MULTILINE) == ["7", "3"]
    assert re.findall(r"trial (\d+) failed", text) == [*"98765432"]


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("2.5k", 2500), ("2M", 2_000_000)])
def test_numbers_of_instructions(text, number):
    assert parse_count(text) == number


@pytest.mark.parametrize("text", ["2G", "much", "infM", "", "nan"])
def test_what_is_no_number_of_instructions(text):
    with pytest.raises(DataError, match="is no number of instructions") as error:
        parse_count(text)
    assert error.value.hint == "--max-instructions 2M"
    with pytest.raises(DataError, match="is no number of cycles") as error:
        parse_count(text, "cycles")
    assert error.value.hint == "--max-cycles 2M"


def test_limits_are_asked_for():
    done = call("search", "tcn", "-d", "d.npz", "-o", "out", code=1)
    assert "limits of nothing on cortex-m4" in done.stderr
