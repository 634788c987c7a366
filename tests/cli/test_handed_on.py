"""What a command passes to the Python interface, which the tests replace."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.cli.calls import call, call_json
from tests.cli.test_command_tables import WON, layer
from tests.cli.test_disagreement import AGREES, ANSWERED
from tests.listening import int8_net, saved
from tests.seeing import GREY
from tests.seeing import int8_net as eyes_net
from tinyrt import api
from tinyrt.api import training
from tinyrt.api.fitting import DeviceBudget
from tinyrt.emulate import Timing
from tinyrt.errors import DataError
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.explain.debug import DebugReport
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.report import debug_page
from tinyrt.train.pipeline.setting import Pruned, Pruning, QatSetting

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


FOUND = DebugReport(24, 31.5, False, (layer("model/conv"),))
INT8, INT16X8, FLOAT = Scheme.INT8, Scheme.INT16X8, Scheme.FLOAT
SEARCHES = [
    ([], None),
    (["--bisect"], (Budget(None, None, None, (INT8, INT16X8, FLOAT)), 1, None)),
    (
        ["--bisect", "--min-accuracy", "91%", "--workers", "3", "--scheduler", "tcp://a"],
        (Budget(None, 0.91, None, (INT8, INT16X8, FLOAT)), 3, "tcp://a"),
    ),
    (
        ["--bisect", "--min-accuracy", "40dB", "--allow", "int8,float"],
        (Budget(None, None, 40.0, (INT8, FLOAT)), 1, None),
    ),
]


@pytest.mark.parametrize("page", [[], ["--html", "page.html"]])
@pytest.mark.parametrize(("options", "search"), SEARCHES)
def test_layers_and_what_wins_them_back_are_told_and_drawn(options, search, page, monkeypatch):
    asked = {}

    def note(name, answer, *args, **given):
        assert callable(given.pop("progress", print))
        asked[name] = (args, given)
        return answer

    monkeypatch.setattr(api, "debug_model", lambda *a, **g: note("debug", FOUND, *a, **g))
    monkeypatch.setattr(api, "bisect_model", lambda *a, **g: note("bisect", WON, *a, **g))
    monkeypatch.setattr(debug_page, "write_debug_page", lambda *a, **g: note("page", None, *a, **g))
    found = call_json("debug", "m.onnx", "q.tflite", "-d", "d.npz", *options, *page)
    files = tuple(map(Path, ("m.onnx", "q.tflite", "d.npz")))
    wanted, told = {"debug": (files, {})}, asdict(FOUND)
    if search is not None:
        names = ("target", "workers", "scheduler")
        wanted["bisect"] = (files, dict(zip(names, search, strict=True)))
        told["bisect"] = asdict(WON)
    if page:
        won = None if search is None else WON
        wanted["page"] = ((*files[1:], FOUND, Path("page.html"), won), {})
    assert asked == wanted
    assert found == json.loads(json.dumps(told))


PRUNED = Pruning(Pruned.CHANNELS, 0.5)
NOTHING = QatSetting(progress=None)
TRAININGS = {
    "": (NOTHING, {}),
    "--finetune 0 --prune channels=0.5": (
        replace(NOTHING, finetune=0, pruning=PRUNED),
        {},
    ),
    "--epochs 3 --finetune 2 --patience 4 --batch 8 --seed 6 --validation 0.5 --scheme int4": (
        replace(
            NOTHING,
            **{"epochs": 3, "finetune": 2, "patience": 4, "batch": 8, "seed": 6},
            **{"validation": 0.5, "scheme": Scheme.INT4},
        ),
        {},
    ),
    "--learning-rate 0.01 --max-bytes 3k --width-epochs 0 --resume at.npz": (
        replace(
            NOTHING,
            **{"learning_rate": 0.01, "max_bytes": 3072, "width_epochs": 0},
            state_file=Path("at.npz"),
        ),
        {},
    ),
    "--finetune 0 --max-arena 4k --max-flash 16k --max-instructions 5 --max-cycles 6 --core m0": (
        replace(NOTHING, finetune=0),
        {"budget": DeviceBudget("m0", 4096, 16384, 5, 6)},
    ),
    "--max-cycles 6 --teacher t.onnx --shape x=1,2 --value sr=3 --sequence-lstm": (
        NOTHING,
        {
            **{"budget": DeviceBudget(cycles=6), "teacher": Path("t.onnx")},
            **{"shapes": {"x": (1, 2)}, "values": {"sr": (3,)}, "sequence_lstm": True},
        },
    ),
}


@pytest.mark.parametrize("options", TRAININGS)
def test_training_is_as_the_options_say(options, monkeypatch):
    setting, more = TRAININGS[options]
    asked = []

    def train(*args, on_stage, **given):
        asked.append((args, given))
        raise DataError("enough")

    monkeypatch.setattr(training, "train_int8_model", train)
    files = tuple(map(Path, ("m.onnx", "d.npz", "o.tflite")))
    first = ("qat", files[0], "-d", files[1], "-o", files[2])
    assert "enough" in call(*first, *options.split(), code=1).stderr
    usual = {"teacher": None, "budget": None, "shapes": {}, "values": {}, "sequence_lstm": False}
    assert asked == [((*files, setting), usual | more)]
