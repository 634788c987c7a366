"""What a command passes to the Python interface, which the tests replace."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.test_disagreement import AGREES, ANSWERED
from tests.listening import int8_net, saved
from tests.seeing import GREY
from tests.seeing import int8_net as eyes_net
from tinyrt import api
from tinyrt.emulate import Timing

VALIDATING = {"baud": 115_200, "data": None, "samples": None, "timeout_s": 5.0}
GIVEN = {"--baud": ("9600", 9600), "--samples": ("3", 3), "--timeout": ("1.5", 1.5)}


@pytest.mark.parametrize("options", [[], [*GIVEN], ["--samples"]])
def test_a_board_is_asked_as_the_options_say(options, made, monkeypatch):
    asked = []
    monkeypatch.setattr(
        api, "validate", lambda *args, **given: asked.append((args, given)) or ANSWERED
    )
    words = [word for option in options for word in (option, GIVEN[option][0])]
    found = call_json("validate", made.int8, "--port", "p", *words)
    assert found["samples"] == ANSWERED.samples
    ((args, given),) = asked
    assert callable(given.pop("progress"))
    names = {"--timeout": "timeout_s"}
    wanted = {names.get(o, o.removeprefix("--")): GIVEN[o][1] for o in options}
    assert (args, given) == ((made.int8,), VALIDATING | {"port": "p"} | wanted)


def test_cycles_of_a_board_are_those_of_its_core(made, monkeypatch):
    asked = []
    monkeypatch.setattr(api, "validate", lambda *_, **given: asked.append(given) or ANSWERED)
    first = ("validate", made.int8, "--port", "p")
    call(*first, "--cycles")
    call(*first, "--cycles", "--core", "m7", "--optimize", "size", "--data", "d.npz")
    names = ("core", "optimize", "cycles")
    assert [[given[name] for name in names] for given in asked] == [
        ["cortex-m4", "balanced", Timing()],
        ["m7", "size", Timing()],
    ]
    assert [str(given["data"]) for given in asked] == ["None", "d.npz"]
    for option, value in (("--core", "m7"), ("--optimize", "size")):
        error = call(*first, option, value, code=1).stderr
        assert f"{option} says nothing without --cycles" in error


def test_a_firmware_runs_on_its_machine_with_its_inputs(made, monkeypatch):
    asked = []
    monkeypatch.setattr(
        api, "run_firmware", lambda *args, **given: asked.append((args, given)) or ANSWERED
    )
    first = ("emulate", made.int8, "--elf", "f.elf")
    call(*first)
    call(*first, "--machine", "virt", "--input", made.int8, "--timeout", "2.5")
    call(*first, "--samples", "3")
    assert [[*map(str, args)] for args, _ in asked] == [[str(made.int8), "f.elf"]] * 3
    names = ("machine", "data", "samples", "timeout_s")
    assert [[given[name] for name in names] for _, given in asked] == [
        [None, None, None, 30.0],
        ["virt", made.int8, None, 2.5],
        [None, None, 3, 30.0],
    ]
    error = call(*first, "--input-outside", code=1).stderr
    assert "--input-outside says nothing beside --elf" in error


@pytest.mark.parametrize(
    ("options", "limit"),
    [([], 300.0), (["--gdb", "1234", "--keep", "k"], 86_400.0), (["--timeout", "7"], 7.0)],
)
def test_a_debugger_has_a_day(options, limit, made, monkeypatch):
    asked = []
    monkeypatch.setattr(api, "run_emulated", lambda *_, **given: asked.append(given) or AGREES)
    call("emulate", made.int8, *options)
    assert asked[0]["timeout_s"] == limit
    assert asked[0]["gdb"] == (1234 if options[:1] == ["--gdb"] else None)


def test_rows_are_pushed_of_frames_alone(tmp_path, monkeypatch):
    """Of sound they are in any case."""
    asked = []
    monkeypatch.setattr(api, "emulate_recording", lambda *_, **given: asked.append(given) or AGREES)
    eyes = saved(tmp_path / "eyes.tflite", eyes_net(), GREY)
    ears = saved(tmp_path / "ears.tflite", int8_net())
    options = ("--recording", "r.npy", "--input-rows")
    call("emulate", eyes, *options)
    assert asked[0]["options"].input_rows
    error = call("emulate", ears, *options, code=1).stderr
    assert "--input-rows says nothing beside --recording" in error
