"""Cycles of a board beside those that the emulator tells: each option reaches them."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tinyrt
from tests.board.test_validate import Made
from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import dense
from tinyrt import api, emulate
from tinyrt.emulate import Flash, Timing
from tinyrt.emulate.cycles import CycleReport, Cycles, table_of
from tinyrt.emulate.cycles.report import Basis

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "core": ("--core m0", {"core": "m0"}),
    "optimize": ("--optimize size", {"optimize": "size"}),
    "clock": ("--clock 120MHz", {"cycles": Timing(clock_hz=120e6)}),
    "flash_wait": ("--flash-wait 5", {"cycles": Timing(Flash(wait=5))}),
    "flash_line": ("--flash-line 32", {"cycles": Timing(Flash(line=32))}),
    "code_cache": ("--code-cache 1k", {"cycles": Timing(Flash(code_cache=1024))}),
    "data_cache": ("--data-cache 0", {"cycles": Timing(Flash(data_cache=0))}),
    "multiplier": ("--multiplier 32", {"cycles": Timing(small_multiplier=True)}),
}
USUAL = {"cycles": Timing(), "core": "cortex-m4", "optimize": "balanced"}


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    return Made(dense(size=40), tmp_path_factory.mktemp("net") / "net.tflite")


def told(low, high, timing):
    return CycleReport(Cycles(low, high), table_of("cortex-m4"), Basis.EDGES, timing)


@shows("validate", "cycles", *OPTIONS)
@pytest.mark.parametrize(("options", "changed"), OPTIONS.values(), ids=OPTIONS)
def test_what_cycles_depend_on_is_handed_on(options, changed, net, monkeypatch):
    given = []
    monkeypatch.setattr(api, "validate", lambda *a, **k: given.append(k) or 1 / 0)
    first = ("validate", net.path, "--port", "p")
    for more in (("--cycles", *options.split()), ("--cycles",), ()):
        call(*first, *more, code=1)
    asked = [{name: one[name] for name in USUAL if name in one} for one in given]
    assert asked == [USUAL | changed, USUAL, {}]
    alone = call(*first, *options.split(), code=1).stderr
    assert f"{options.split()[0]} says nothing without --cycles" in alone


def test_the_first_sample_runs_in_the_emulator_as_on_the_board(net, monkeypatch):
    runs = []

    def run(path, **options):
        runs.append((path, options))
        return SimpleNamespace(cycles=told(13, 15, options["cycles"]))

    monkeypatch.setattr(emulate, "run_emulated", run)
    timing, data = Timing(Flash(wait=2)), np.full((3, 40), 2.0, np.float32)
    data[0] = 1
    own = {"core": "m7", "optimize": "speed"}
    with net.board() as board:
        report = tinyrt.validate(net.path, port=board.port, data=data, cycles=timing, **own)
    ((path, options),) = runs
    host = api.models.Model(api.open_model(net.path))
    assert path == net.path
    feeds = host.stored_inputs(data[:1])
    assert {n: a.tolist() for n, a in options["inputs"].items()} == {
        n: a.tolist() for n, a in feeds.items()
    }
    assert {n: a.tolist() for n, a in options["expected"].items()} == {
        n: a.tolist() for n, a in host.run_raw(feeds).items()
    }
    assert {name: options[name] for name in ("cycles", *own)} == {"cycles": timing} | own
    assert (report.agrees, report.samples, report.told) == (True, 3, told(13, 15, timing))


@pytest.mark.parametrize(
    ("hertz", "clock", "measured"),
    [(1000, None, 12.5), (1000, 2000.0, 25.0), (0, 2000.0, 12.5), (500, 250.0, 6.25)],
)
def test_ticks_are_cycles_or_become_cycles_by_the_clock(hertz, clock, measured, net, monkeypatch):
    ends = [int(measured) - 2, int(measured) + 1]

    def run(path, **options):
        return SimpleNamespace(cycles=told(*ends, options["cycles"]))

    monkeypatch.setattr(emulate, "run_emulated", run)
    with net.board(hertz=hertz) as board:
        timing = Timing(clock_hz=clock)
        found = tinyrt.validate(net.path, port=board.port, cycles=timing).as_dict()["cycles"]
    assert found == {"low": ends[0], "high": ends[1], "measured": measured, "as_told": True}


@pytest.mark.parametrize(
    ("ends", "within"), [((12, 13), "yes"), ((13, 20), "NO"), ((10, 12), "NO")]
)
def test_the_command_shows_both(ends, within, net, monkeypatch):
    monkeypatch.setattr(
        emulate, "run_emulated", lambda *a, **k: SimpleNamespace(cycles=told(*ends, k["cycles"]))
    )
    with net.board() as board:
        arguments = ("validate", net.path, "--port", board.port)
        shown = call(*arguments, "--cycles").stdout
        found = call_json(*arguments, "--cycles")["cycles"]
        assert "cycles" not in call_json(*arguments)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert f"cycles, as told {ends[0]} to {ends[1]}" in lines
    assert f"within this range {within}" in lines
    assert "cycles, median 12.50" in lines
    assert (found["low"], found["high"]) == ends


@pytest.mark.whole
@pytest.mark.device
@pytest.mark.slow
def test_cycles_are_those_of_emulate(net):
    with net.board() as board:
        report = tinyrt.validate(net.path, port=board.port, cycles=Timing(), core="m0")
    emulated = tinyrt.run_emulated(net.path, core="m0", samples=1, cycles=Timing())
    assert report.told.cycles == emulated.cycles.cycles


def test_the_commands_of_the_page_run(net, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "boards.md").read_text(encoding="utf-8")
    commands = re.findall(r"^tinyrt (validate .*)$", page, re.MULTILINE)
    assert len(commands) == 3
    monkeypatch.setattr(emulate, "run_emulated", lambda *a, **k: SimpleNamespace(cycles=None))
    np.savez(tmp_path / "test.npz", x=np.ones((3, 40), np.float32))
    monkeypatch.chdir(tmp_path)
    shutil.copy(net.path, "digits.tflite")
    for command in commands:
        with net.board() as board:
            call(*command.replace("/dev/ttyACM0", board.port).split())
