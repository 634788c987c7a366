"""A model against its budget and its baseline: what is read, measured, compared and written."""

import json

import numpy as np
import pytest

import tinyrt
from tests.graphs import small_cnn
from tinyrt import api
from tinyrt.api.gate import checking, figures
from tinyrt.api.gate.baseline import read_baseline, write_baseline
from tinyrt.api.gate.budget import read_limits
from tinyrt.api.gate.checking import Row, Verdict
from tinyrt.api.gate.figures import Asked, Measured, measure
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError, TinyrtError, UnsupportedError
from tinyrt.export import export_c
from tinyrt.quantize import QuantConfig, quantize_graph

X = np.random.default_rng(5).normal(size=(12, 8, 8, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "net.tflite"
    save_tflite(quantize_graph(small_cnn(), X, QuantConfig()), path)
    return path


@pytest.fixture
def budget(tmp_path):
    def write(text):
        path = tmp_path / "budget.toml"
        path.write_text(text)
        return path

    return write


# The file of limits


def test_a_budget_is_read_whole(budget):
    limits = read_limits(
        budget(
            "[cores.m4]\narena = '4k'\nflash = 30_000\ninstructions = 2000000\n"
            "optimize = 'size'\n[cores.cortex-m0]\nstack = 900\n[file]\nbytes = '1M'\n"
            "[accuracy]\ntop1 = 0.9\n[tolerance]\nflash = 1.5\ntop1 = 0\n"
        )
    )
    assert limits.cores == (
        Asked("cortex-m4", ("arena", "flash", "instructions"), "size"),
        Asked("cortex-m0", ("stack",), "balanced"),
    )
    assert limits.limits == {
        "cortex-m4": {"arena": 4096, "flash": 30_000, "instructions": 2_000_000},
        "cortex-m0": {"stack": 900},
        "file": {"bytes": 1 << 20},
        "accuracy": {"top1": 0.9},
    }
    assert limits.tolerance == {"flash": 1.5, "top1": 0.0}


REFUSED = {
    "table": ("[core.m4]\narena = 1", "has no 'core'", "did you mean 'cores'?"),
    "figure": ("[cores.m4]\narean = 1", "[cores.m4] has no 'arean'", "did you mean 'arena'?"),
    "file": ("[file]\nbyte = 1", "[file] has no 'byte'", "did you mean 'bytes'?"),
    "share": ("[accuracy]\ntop2 = 1", "[accuracy] has no 'top2'", "did you mean 'top1'?"),
    "tolerated": ("[tolerance]\nflsh = 1", "[tolerance] has no 'flsh'", "did you mean 'flash'?"),
    "nothing": ("[tolerance]\nflash = 1", "the budget limits nothing", None),
    "no limit": ("[cores.m4]\noptimize = 'size'", "[cores.m4] limits nothing", None),
    "twice": (
        "[cores.m4]\narena = 1\n[cores.cortex-m4]\narena = 1",
        "[cores.cortex-m4] is cortex-m4, which is there already",
        None,
    ),
    "zero": ("[cores.m4]\narena = 0", "arena in [cores.m4] is 0", None),
    "truth": ("[cores.m4]\narena = true", "arena in [cores.m4] is True", None),
    "fraction": ("[cores.m4]\narena = 1.5", "arena in [cores.m4] is 1.5", None),
    "text": ("[cores.m4]\narena = '4q'", "arena in [cores.m4]: '4q' is not a number", None),
    "count": ("[cores.m4]\ninstructions = '2M'", "instructions in [cores.m4] is '2M'", None),
    "low": ("[accuracy]\ntop1 = 0", "top1 in [accuracy] is 0", None),
    "high": ("[accuracy]\ntop1 = 1.1", "top1 in [accuracy] is 1.1", None),
    "true": ("[accuracy]\ntop1 = true", "top1 in [accuracy] is True", None),
    "negative": ("[tolerance]\nflash = -1", "flash in [tolerance] is -1", None),
    "infinite": ("[tolerance]\nflash = inf", "flash in [tolerance] is inf", None),
    "words": ("[tolerance]\nflash = '1'", "flash in [tolerance] is '1'", None),
    "no table": ("cores = 1", "'cores' is 1", None),
    "no core's table": ("[cores]\nm4 = 1", "'m4' is 1", None),
    "goal": ("[cores.m4]\narena = 1\noptimize = 1", "optimize in [cores.m4] is no name", None),
    "syntax": ("[cores", "the budget is no TOML", None),
    "host": ("[cores.host]\ninstructions = 1", "are not counted on this machine", None),
    "large": ("#" * (1 << 20) + "\n", "the budget is larger than 1,048,576 bytes", None),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_refused(case, budget):
    text, problem, hint = REFUSED[case]
    with pytest.raises(DataError) as caught:
        read_limits(budget(text))
    assert problem in caught.value.problem
    assert caught.value.hint == hint
    assert caught.value.file.endswith("budget.toml")


def test_the_largest_file_is_read(budget):
    text = "[file]\nbytes = 1\n"
    assert read_limits(budget(text + "#" * ((1 << 20) - len(text)))).limits["file"] == {"bytes": 1}


def test_a_budget_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot read the budget: No such file") as caught:
        read_limits(tmp_path / "none.toml")
    assert caught.value.hint == "check --budget"


@pytest.mark.parametrize("text", ["[cores.m5]\narena = 1", "[cores.m4]\narena=1\noptimize='x'"])
def test_cores_and_goals_that_are_none(text, budget):
    with pytest.raises(UnsupportedError):
        read_limits(budget(text))


# The baseline

KEPT = Measured(
    {"cortex-m4": {"arena": 10, "flash": 20}, "file": {"bytes": 3}, "accuracy": {"top1": 0.5}},
    tools={"cc": "cc 9"},
)


def test_a_baseline_is_read_as_it_was_written(tmp_path):
    path = write_baseline(tmp_path / "b.json", KEPT)
    found = read_baseline(path)
    assert (found.figures, found.tools) == (KEPT.figures, KEPT.tools)
    assert found.tinyrt == tinyrt.__version__
    assert list(json.loads(path.read_text())) == ["figures", "format", "tinyrt", "tools"]


CHANGED = {
    "field": ({"more": 1}, "the baseline has no 'more'"),
    "format": ({"format": 2}, "the baseline is of format 2"),
    "tools": ({"tools": [1]}, "tools and versions of the baseline"),
    "versions": ({"tools": {"cc": 1}}, "tools and versions of the baseline"),
    "tinyrt": ({"tinyrt": 1}, "tools and versions of the baseline"),
    "figures": ({"figures": 1}, "'figures' of the baseline"),
    "core": ({"figures": {"m99": {}}}, "the baseline's figures has no 'm99'"),
    "entry": ({"figures": {"file": 1}}, "'file' of the baseline"),
    "name": ({"figures": {"file": {"size": 1}}}, "the baseline's 'file' has no 'size'"),
    "truth": ({"figures": {"file": {"bytes": True}}}, "bytes of 'file' of the baseline"),
    "real": ({"figures": {"file": {"bytes": 1.5}}}, "bytes of 'file' of the baseline"),
    "negative": ({"figures": {"host": {"arena": 1, "stack": -1}}}, "stack of 'host' of the"),
    "share": ({"figures": {"accuracy": {"top1": 1.5}}}, "top1 of 'accuracy' of the baseline"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_baseline_that_was_changed_is_refused(case, tmp_path):
    change, problem = CHANGED[case]
    path = write_baseline(tmp_path / "b.json", KEPT)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError) as caught:
        read_baseline(path)
    assert problem in caught.value.problem
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot read the baseline: No such file"),
        ("{", "the baseline is no JSON"),
        ("[]", "the file of the baseline: not what was written there"),
        (" " * (1 << 20) + "{}", "the file of the baseline: not what was written there"),
    ],
)
def test_what_is_no_baseline_is_refused(text, problem, tmp_path):
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_baseline(path)
    assert problem in caught.value.problem
    assert "--write-baseline" in caught.value.hint


# What is measured


def test_the_arena_alone_builds_nothing(model, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "run_emulated", None)
    goals = {"cortex-m0": "size", "cortex-m4": "speed", "cortex-m55": "balanced"}
    found = measure(model, [Asked(c, ("arena",), goal) for c, goal in goals.items()], None)
    for core, goal in goals.items():
        exported = export_c(model, tmp_path / core, core=core, optimize=goal)
        assert found.figures[core] == {"arena": exported.arena_bytes}
    assert found.figures["file"] == {"bytes": len(model.read_bytes())}
    assert (found.agrees, found.tools) == ({}, {})


@pytest.mark.device
def test_figures_are_those_of_the_emulator(model):
    asked = Asked("cortex-m4", ("arena", "flash", "stack", "instructions"), "size")
    found = measure(model, [asked], None)
    report = api.run_emulated(model, core="cortex-m4", optimize="size")
    assert found.figures["cortex-m4"] == {
        "arena": report.ram.arena,
        "flash": report.flash.code + report.flash.weights,
        "stack": report.ram.stack,
        "instructions": report.instructions,
    }
    assert found.agrees == {"cortex-m4": True}
    assert set(found.tools) == {"arm-none-eabi-gcc", "qemu-system-arm"}
    assert all(any(c.isdigit() for c in version) for version in found.tools.values())


def test_accuracy_is_counted(model):
    answers = tinyrt.load(model)(X).argmax(axis=1)
    data = {"x": X}
    np.savez(model.parent / "d.npz", x=X, y=np.where(np.arange(12) < 9, answers, answers ^ 1))
    found = measure(model, [], model.parent / "d.npz")
    assert found.figures["accuracy"] == {"top1": 0.75}
    np.savez(model.parent / "bare.npz", **data)
    with pytest.raises(DataError, match="the data have no labels") as caught:
        measure(model, [], model.parent / "bare.npz")
    assert caught.value.file.endswith("bare.npz")
    with pytest.raises(DataError, match="the data have no labels"):
        measure(model, [], X)


# What is compared


def given(monkeypatch, found, agrees=None, tools=None):
    measured = Measured(found, agrees or {}, tools or {})
    monkeypatch.setattr(checking, "measure", lambda *_: measured)


def rows(checked):
    return {(row.where, row.what): row for row in checked.rows}


LIMITS = "[cores.m4]\narena = 100\n[file]\nbytes = 50\n[accuracy]\ntop1 = 0.8\n"
JUST = {"cortex-m4": {"arena": 100}, "file": {"bytes": 50}, "accuracy": {"top1": 0.8}}


def test_limits_are_met_exactly(budget, monkeypatch):
    given(monkeypatch, JUST)
    checked = api.check("m", budget(LIMITS), data=X)
    assert checked.passed
    assert {row.verdict for row in checked.rows} == {Verdict.OK}


@pytest.mark.parametrize(
    ("where", "what", "value"),
    [("cortex-m4", "arena", 101), ("file", "bytes", 51), ("accuracy", "top1", 0.79)],
)
def test_one_more_is_over(where, what, value, budget, monkeypatch):
    given(monkeypatch, JUST | {where: {what: value}})
    checked = api.check("m", budget(LIMITS), data=X)
    assert not checked.passed
    failed = [row for row in checked.rows if row.verdict is not Verdict.OK]
    assert failed == [Row(where, what, value, JUST[where][what], None, Verdict.OVER)]


@pytest.mark.parametrize(
    ("now", "tolerance", "verdict", "change"),
    [
        (1000, 0, Verdict.OK, 0.0),
        (999, 0, Verdict.BETTER, -0.1),
        (1001, 0, Verdict.WORSE, 0.1),
        (1001, 0.1, Verdict.OK, 0.1),
        (1002, 0.1, Verdict.WORSE, 0.2),
    ],
)
def test_bytes_against_a_baseline(now, tolerance, verdict, change, budget, tmp_path, monkeypatch):
    write_baseline(tmp_path / "b", Measured({"file": {"bytes": 1000}}))
    given(monkeypatch, {"file": {"bytes": now}})
    text = f"[file]\nbytes = 5000\n[tolerance]\nbytes = {tolerance}\n"
    (row,) = api.check("m", budget(text), baseline=tmp_path / "b").rows
    assert row.verdict is verdict
    assert row.change == pytest.approx(change)


@pytest.mark.parametrize(
    ("now", "tolerance", "verdict", "change"),
    [
        (0.92, 0, Verdict.BETTER, 1.0),
        (0.91, 0, Verdict.OK, 0.0),
        (0.9, 0, Verdict.WORSE, -1.0),
        (0.9, 1, Verdict.OK, -1.0),
        (0.899, 1, Verdict.WORSE, -1.1),
    ],
)
def test_accuracy_against_a_baseline(
    now, tolerance, verdict, change, budget, tmp_path, monkeypatch
):
    write_baseline(tmp_path / "b", Measured({"accuracy": {"top1": 0.91}}))
    given(monkeypatch, {"accuracy": {"top1": now}})
    text = f"[accuracy]\ntop1 = 0.5\n[tolerance]\ntop1 = {tolerance}\n"
    (row,) = api.check("m", budget(text), data=X, baseline=tmp_path / "b").rows
    assert row.verdict is verdict
    assert row.change == pytest.approx(change)


def test_what_is_measured_no_more_fails(budget, tmp_path, monkeypatch):
    write_baseline(tmp_path / "b", Measured({"accuracy": {"top1": 0.9}, "file": {"bytes": 5}}))
    given(monkeypatch, {"file": {"bytes": 5}})
    found = api.check("m", budget("[file]\nbytes = 9"), baseline=tmp_path / "b")
    assert not found.passed
    lost = rows(found)["accuracy", "top1"]
    assert lost == Row("accuracy", "top1", None, None, 0.9, Verdict.ABSENT)
    assert lost.change is None


def test_a_limit_of_what_is_not_measured_fails(budget, monkeypatch):
    given(monkeypatch, {"host": {"arena": 5}, "file": {"bytes": 5}})
    found = api.check("m", budget("[cores.host]\narena = 9\nstack = 7"))
    assert rows(found)["host", "stack"] == Row("host", "stack", None, 7, None, Verdict.ABSENT)
    assert not found.passed


def test_what_a_baseline_lacks_is_new(budget, tmp_path, monkeypatch):
    write_baseline(tmp_path / "b", Measured({"file": {"bytes": 0}}))
    given(monkeypatch, {"cortex-m4": {"arena": 4}, "file": {"bytes": 0}})
    found = rows(api.check("m", budget("[cores.m4]\narena = 9"), baseline=tmp_path / "b"))
    assert found["cortex-m4", "arena"].verdict is Verdict.NEW
    assert found["file", "bytes"].change == 0.0


def test_a_core_that_answers_otherwise_fails(budget, monkeypatch):
    given(monkeypatch, {"cortex-m4": {"arena": 4}}, {"cortex-m4": False})
    found = api.check("m", budget("[cores.m4]\narena = 9"))
    assert rows(found)["cortex-m4", "answers"].verdict is Verdict.DIFFERS
    assert not found.passed
    given(monkeypatch, {"cortex-m4": {"arena": 4}}, {"cortex-m4": True})
    assert api.check("m", budget("[cores.m4]\narena = 9")).passed


def test_another_compiler_is_noted(budget, tmp_path, monkeypatch):
    write_baseline(tmp_path / "b", KEPT)
    given(monkeypatch, KEPT.figures, tools={"cc": "cc 10", "qemu": "7"})
    text = "[cores.m4]\nflash = 99\n"
    found = api.check("m", budget(text), data=X, baseline=tmp_path / "b")
    assert found.notes == ("cc is cc 10; the baseline was measured with cc 9",)
    assert found.passed
    assert api.check("m", budget(text), data=X).notes == ()


def test_a_baseline_is_written_unless_a_limit_is_broken(budget, tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    given(monkeypatch, {"file": {"bytes": 7}})
    assert api.check("m", budget("[file]\nbytes = 7"), baseline=path, write=True).passed
    assert read_baseline(path).figures == {"file": {"bytes": 7}}
    given(monkeypatch, {"file": {"bytes": 8}})
    assert not api.check("m", budget("[file]\nbytes = 7"), baseline=path, write=True).passed
    assert read_baseline(path).figures == {"file": {"bytes": 7}}
    assert api.check("m", budget("[file]\nbytes = 8"), baseline=path, write=True).passed
    assert read_baseline(path).figures == {"file": {"bytes": 8}}


def test_options_that_belong_together(budget):
    with pytest.raises(DataError, match="there is no baseline to write") as caught:
        api.check("m", budget("[file]\nbytes = 7"), write=True)
    assert "--baseline" in caught.value.hint
    with pytest.raises(DataError, match="limits accuracy, and there are no data") as caught:
        api.check("m", budget("[accuracy]\ntop1 = 0.5"))
    assert "-d DATA.npz" in caught.value.hint


def test_a_model_that_is_none(budget, tmp_path):
    with pytest.raises(TinyrtError):
        api.check(tmp_path / "none", budget("[cores.m4]\narena = 1"))


# What is written


def test_markdown_is_a_table(budget, tmp_path, monkeypatch):
    write_baseline(tmp_path / "b", KEPT)
    found = {"cortex-m4": {"arena": 12, "flash": 20_000}, "accuracy": {"top1": 0.6}}
    given(monkeypatch, found, tools={"cc": "cc|10"})
    text = "[cores.m4]\narena = 99\nflash = 20\n[accuracy]\ntop1 = 0.55\n"
    checked = api.check("a|`b.tflite", budget(text), data=X, baseline=tmp_path / "b")
    assert checked.markdown() == (
        "### tinyrt check: `a__b.tflite` **fails**\n\n"
        "| where | figure | now | baseline | change | limit | |\n"
        "|---|---|--:|--:|--:|--:|---|\n"
        "| cortex-m4 | arena | 12 | 10 | +20.00 % | 99 | **worse than the baseline** |\n"
        "| cortex-m4 | flash | 20,000 | 20 | +99900.00 % | 20 | **over the limit** |\n"
        "| accuracy | top1 | 60.00 % | 50.00 % | +10.00 points | 55.00 % | better |\n"
        "| file | bytes | - | 3 | - | - | **not measured** |\n"
        "\n"
        "- cc is cc_10; the baseline was measured with cc 9\n"
    )
    given(monkeypatch, {"file": {"bytes": 7}})
    good = api.check("m", budget("[file]\nbytes = 7")).markdown()
    assert good.splitlines()[0] == "### tinyrt check: `m` passes"
    assert good.endswith("| file | bytes | 7 | - | - | 7 | ok |\n")
