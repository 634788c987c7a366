"""Options of ``tinyrt emulate`` that cycles depend on: each reaches the figures."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.sampling import sampled
from tinyrt import api
from tinyrt.cli.cycles import parse_clock
from tinyrt.emulate import Flash, Timing
from tinyrt.errors import DataError, ToolError
from tinyrt.export import ExportOptions

OPTIONS = {
    "clock": ("--clock 120MHz", Timing(clock_hz=120e6)),
    "mj_per_mcycle": ("--mj-per-mcycle 0.25", Timing(mj_per_mcycle=0.25)),
    "flash_wait": ("--flash-wait 5", Timing(Flash(wait=5))),
    "flash_line": ("--flash-line 32", Timing(Flash(line=32))),
    "code_cache": ("--code-cache 1k", Timing(Flash(code_cache=1024))),
    "data_cache": ("--data-cache 0", Timing(Flash(data_cache=0))),
    "multiplier": ("--multiplier 32", Timing(small_multiplier=True)),
}


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the emulation, which is not run."""
    given = []

    def run(*models, **options):
        given.append(options["cycles"])
        raise ToolError("nothing is emulated here")

    monkeypatch.setattr(api, "run_emulated", run)
    return given


@shows("emulate", "cycles", *OPTIONS)
@pytest.mark.parametrize(("options", "timing"), OPTIONS.values(), ids=OPTIONS)
def test_what_cycles_depend_on_is_handed_on(options, timing, made, asked):
    call("emulate", made.int8, "--cycles", *options.split(), code=1)
    call("emulate", made.int8, "--cycles", code=1)
    call("emulate", made.int8, code=1)
    assert asked == [timing, Timing(), None]
    assert timing != Timing()
    alone = call("emulate", made.int8, *options.split(), code=1).stderr
    assert f"{options.split()[0]} says nothing without --cycles" in alone


@shows("inspect", "cycles", *OPTIONS)
@pytest.mark.parametrize(("options", "timing"), OPTIONS.values(), ids=OPTIONS)
def test_inspect_hands_them_on_too(options, timing, made, asked):
    call("inspect", made.int8, "--cycles", *options.split(), code=1)
    call("inspect", made.int8, "--cycles", code=1)
    if sampled("--clock" in options, True):
        call("inspect", made.int8)
    assert asked == [timing, Timing()]
    alone = call("inspect", made.int8, *options.split(), code=1).stderr
    assert f"{options.split()[0]} says nothing without --cycles" in alone


@pytest.fixture
def nothing_timed(monkeypatch):
    monkeypatch.setattr("tinyrt.bench.bench_model", lambda *models, **options: [])


@shows("bench", "cycles", *OPTIONS)
@pytest.mark.parametrize(("options", "timing"), OPTIONS.values(), ids=OPTIONS)
def test_bench_hands_them_on_too(options, timing, made, asked, nothing_timed):
    call("bench", made.int8, "--cycles", *options.split(), code=1)
    call("bench", made.int8, "--cycles", code=1)
    call("bench", made.int8)
    assert asked == [timing, Timing()]
    alone = call("bench", made.int8, *options.split(), code=1).stderr
    assert f"{options.split()[0]} says nothing without --cycles" in alone


@shows("bench", "core")
def test_bench_emulates_the_core_that_is_named(made, monkeypatch, nothing_timed):
    given = []
    monkeypatch.setattr(api, "run_emulated", lambda *a, **k: given.append((a, k)) or 1 / 0)
    call("bench", made.int8, "--cycles", code=1)
    call("bench", made.int8, "--cycles", "--core", "m3", code=1)
    usual = {"samples": 1, "cycles": Timing()}
    wanted = [{"core": "cortex-m4", **usual}, {"core": "m3", **usual}]
    assert given == [((made.int8,), options) for options in wanted]
    alone = call("bench", made.int8, "--core", "m3", code=1).stderr
    assert "--core says nothing without --cycles" in alone


@pytest.mark.device
@pytest.mark.slow
def test_bench_shows_the_cycles_of_emulate(made, nothing_timed, monkeypatch):
    run = api.run_emulated(made.int8, samples=1, cycles=Timing(clock_hz=10**6))
    monkeypatch.setattr(api, "run_emulated", lambda *a, **k: run)
    emulated = call_json("emulate", made.int8, "--samples", "1", "--cycles", "--clock", "1MHz")
    found = call_json("bench", made.int8, "--cycles", "--clock", "1MHz")
    for name in ("core", "instructions", "cycles", "milliseconds", "timing"):
        assert found[name] == emulated[name]
    shown = " ".join(call("bench", made.int8, "--cycles").stdout.split())
    low, high = (f"{emulated['cycles'][end]:,}" for end in ("low", "high"))
    assert f"core {emulated['core']}" in shown
    assert f"instructions per inference {emulated['instructions']:,}" in shown
    assert f"cycles per inference {low} to {high}" in shown


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), {"core": "cortex-m4"}),
        (("--core", "m3"), {"core": "m3"}),
        (("--optimize", "size"), {"optimize": "size"}),
        (("--by-rows",), {"options": ExportOptions(by_rows=True)}),
        (("--input-rows",), {"options": ExportOptions(input_rows=True)}),
    ],
)
def test_inspect_emulates_what_it_shows(options, wanted, made, monkeypatch):
    given = {}
    monkeypatch.setattr(api, "run_emulated", lambda *a, **k: given.update(k, model=a) or 1 / 0)
    call("inspect", made.int8, "--cycles", *options, code=1)
    usual = {"core": "cortex-m4", "optimize": "balanced", "options": ExportOptions()}
    assert given == usual | wanted | {"model": (made.int8,), "samples": 1, "cycles": Timing()}


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_inspect_shows_the_cycles_of_emulate(made):
    emulated = call_json("emulate", made.int8, "--samples", "1", "--cycles", "--clock", "1MHz")
    found = call_json("inspect", made.int8, "--cycles", "--clock", "1MHz")
    for name in ("cycles", "milliseconds", "timing"):
        assert found[name] == emulated[name]
    of_ops = {op["index"]: op["cycles"] for op in emulated["ops"]}
    assert [op["cycles"] for op in found["ops"]] == [of_ops[i] for i in range(len(found["ops"]))]
    low, high = (f"{emulated['cycles'][end]:,}" for end in ("low", "high"))
    shown = " ".join(call("inspect", made.int8, "--cycles").stdout.split())
    assert f"cycles per inference {low} to {high}" in shown
    first = found["ops"][0]["cycles"]
    assert f"{first['low']:,} to {first['high']:,}" in shown


def test_the_usual_multiplier_can_be_said(made, asked):
    call("emulate", made.int8, "--cycles", "--multiplier", "1", code=1)
    assert asked == [Timing()]
    text = call("emulate", made.int8, "--cycles", "--multiplier", "2", code=1).stderr
    assert "--multiplier 2" in text
    assert "1 or 32" in text


@pytest.mark.parametrize(
    ("text", "hertz"),
    [("120MHz", 120e6), ("1.5 ghz", 1.5e9), ("32768Hz", 32768.0), (" 80kHz", 80e3)],
)
def test_a_clock_has_a_unit(text, hertz):
    assert parse_clock(text) == hertz


@pytest.mark.parametrize("text", ["120", "MHz", "-1MHz", "1 mm", "1e3Hz", "120MHz!"])
def test_what_is_no_clock_is_refused(text):
    with pytest.raises(DataError, match=f"--clock {text}: not a clock"):
        parse_clock(text)


def test_this_machine_has_no_cycles(made):
    text = call("emulate", made.int8, "--cycles", "--core", "host", code=1).stderr
    assert "not of this machine" in text


def test_cycles_belong_to_one_model(made):
    text = call("emulate", made.int8, made.tall, "--cycles", code=1).stderr
    assert "--cycles belongs to one model" in text


@pytest.mark.device
@pytest.mark.slow
def test_time_and_energy_are_those_of_the_cycles(made):
    options = ("--samples", "1", "--cycles", "--clock", "4MHz", "--mj-per-mcycle", "0.5")
    found = call_json("emulate", made.int8, *options, "--flash-wait", "2", "--data-cache", "0")
    low, high = found["cycles"]["low"], found["cycles"]["high"]
    assert found["instructions"] < low < high < 12 * found["instructions"]
    assert found["milliseconds"] == {"low": low / 4e3, "high": high / 4e3}
    assert found["millijoules"] == {"low": low * 0.5e-6, "high": high * 0.5e-6}
    assert found["timing"] == {
        "manual": "Cortex-M4 Technical Reference Manual r0p1, Arm DDI 0439D",
        "exact": True,
        "reason": "",
        "basis": "edges",
        "flash": {"wait": 2, "line": 16, "code_cache": None, "data_cache": 0},
        "multiplier": 1,
        "clock_hz": 4e6,
        "mj_per_mcycle": 0.5,
    }
    assert sum(op["cycles"]["low"] for op in found["ops"]) == pytest.approx(low, rel=0.05)
