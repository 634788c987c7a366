"""One part of a condition alone is not met: signals, threads, self-tests, arenas and floats."""

import json
import re
import signal
from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import pytest

from tests.cli.calls import call, call_json
from tests.cli.screen import lines_of
from tests.cli.test_disagreement import AGREES, ANSWERED
from tests.cli.test_tables import chain, inspected
from tests.graphs import Builder
from tinyrt import api
from tinyrt.board.validation import Ticks
from tinyrt.cli import emulation_tables, tables, train
from tinyrt.cli.console import ENDING, reporting
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import Timing
from tinyrt.emulate.cycles import CycleReport, Cycles, table_of
from tinyrt.emulate.cycles.report import Basis


def own(number, frame):
    """A program's own handler."""


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("handler", [own, signal.SIG_IGN, signal.SIG_DFL])
def test_signals_that_somebody_handles_or_ignores_are_left_alone(number, handler):
    """As ``nohup`` ignores that its terminal goes."""
    before = signal.signal(number, handler)
    try:
        with reporting(as_json=False):
            during = signal.getsignal(number)
        after = signal.getsignal(number)
    finally:
        signal.signal(number, before)
    assert (during is handler) == (handler is not signal.SIG_DFL)
    assert after is handler


def test_a_command_runs_in_another_thread(capsys):
    """Which may set no handlers."""

    def run():
        with reporting(as_json=True) as report:
            report({"done": True}, "")

    before = [signal.signal(number, signal.SIG_DFL) for number in ENDING]
    try:
        thread = Thread(target=run)
        thread.start()
        thread.join()
    finally:
        for number, handler in zip(ENDING, before, strict=True):
            signal.signal(number, handler)
    assert json.loads(capsys.readouterr().out) == {"done": True}


FAILED = {"status": -3, "vector": 1, "op": 2, "output": 0, "byte": 9}
SELFTESTS = [(None, None, False), ({**FAILED, "status": 0}, "yes", False), (FAILED, "NO", True)]


@pytest.mark.parametrize(("selftest", "passed", "placed"), SELFTESTS)
def test_where_a_self_test_failed_is_said_of_one_that_did(selftest, passed, placed):
    table = lines_of(emulation_tables.validation(replace(ANSWERED, selftest=selftest)))
    rows = dict(line.strip().partition("  ")[::2] for line in table)
    assert rows.get("self-test", "").strip() == (passed or "")
    assert [name in rows for name in FAILED] == [placed] * len(FAILED)


@pytest.mark.parametrize(("per_second", "time"), [(0, ""), (2_000_000, " ({} ms)")])
def test_ticks_have_a_time_where_the_clock_is_known(per_second, time):
    report = replace(ANSWERED, ticks=Ticks(2_000, 3_001.0, 5_000, per_second))
    told = CycleReport(Cycles(2_900, 4_000), table_of("cortex-m4"), Basis.EDGES, Timing())
    table = lines_of(emulation_tables.validation(replace(report, told=told)))
    rows = {name: rest.strip() for name, _, rest in (n.strip().partition("  ") for n in table)}
    for name, count, ms in (("least", "2,000", "1.000"), ("most", "5,000", "2.500")):
        assert rows[f"ticks, {name}"] == count + time.format(ms)
    assert rows["cycles, as told"] == "2,900 to 4,000"


@pytest.fixture
def tanh(tmp_path):
    b = Builder((1, 4))
    save_tflite(b.graph(b.op("tanh", ("x",))), tmp_path / "tanh.tflite")
    return tmp_path / "tanh.tflite"


def test_one_model_in_a_shared_arena_is_emulated_as_several_are(tanh, monkeypatch):
    asked = []

    def run_several(models, *, shared_arena, **options):
        asked.append((models, shared_arena))
        return {"tanh": AGREES}

    monkeypatch.setattr(api, "run_emulated", lambda model, **options: AGREES)
    monkeypatch.setattr(api, "run_emulated_several", run_several)
    assert "models" not in call_json("emulate", tanh)
    found = call_json("emulate", tanh, "--shared-arena")
    assert (list(found["models"]), found["shared_arena"]) == (["tanh"], True)
    assert asked == [([tanh], True)]
    for given in ("--profile", "--input x.npz", "--gdb 1234 --keep k"):
        text = call("emulate", tanh, "--shared-arena", *given.split(), code=1).stderr
        assert f"{given.split()[0]} belongs to one model" in text


CHECKS = {
    "equal": (True, None, "yes"),
    "other": (False, None, "NO"),
    "near": (False, 2e-6, "2e-06"),
    "floats that are equal": (True, 0.0, "0e+00"),
    "far": (False, 0.5, "5e-01"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_floats_are_near_the_hosts_and_never_called_exact(name, tanh, monkeypatch):
    is_equal, error, shown = CHECKS[name]
    report = replace(AGREES, bit_exact=is_equal, float_error=error)
    monkeypatch.setattr(api, "run_emulated", lambda model, **options: report)
    variant = SimpleNamespace(graph=api.open_model(tanh, optimize=False), name="float")
    recipe = SimpleNamespace(score=lambda model, data: {"top1": 1.0})
    trained = SimpleNamespace(recipe=recipe, data=SimpleNamespace(x_test=[]))
    row = train._measure(variant, trained, tanh, "m4", 1)
    assert row.bit_exact is (is_equal if error is None else None)
    assert (row.float_error, row.agrees, row.shown_check()) == (error, report.agrees, shown)


def test_a_table_counts_the_ops_between_those_that_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_telling", lambda report: [1, 2, 4, 7])
    text = "\n".join(inspected(tmp_path, chain(9)))
    found = re.findall(r"^ +(\d+ +tanh|\(\d+ more\))", text, re.MULTILINE)
    wanted = "(1 more)|1   tanh|2   tanh|(1 more)|4   tanh|(2 more)|7   tanh"
    assert "|".join(found[:7]) == wanted
