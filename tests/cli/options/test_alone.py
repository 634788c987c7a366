"""Options that say something only with another, or without it, are refused otherwise."""

import pytest

from tests.cli.calls import call, call_json
from tests.cli.options.test_every_option import ARGUMENTS

ALONE = [
    ("convert", ("--hop", "1"), "--stream"),
    ("debug", ("--min-accuracy", "40dB"), "--bisect"),
    ("debug", ("--allow", "int8,float"), "--bisect"),
    ("debug", ("--workers", "2"), "--bisect"),
    ("debug", ("--scheduler", "tcp://a"), "--bisect"),
    ("quantize", ("--allow", "int8"), "--max-bytes"),
    ("quantize", ("--data", "test.npz"), "--min-accuracy"),
    ("quantize", ("--percentile", "99"), "--calibrator percentile"),
    ("bench", ("--onnx", "model.onnx"), "--against onnxruntime"),
    ("run", ("--allow-fallback",), "--backend cuda"),
    ("eval", ("--allow-fallback",), "--backend cuda"),
    ("emulate", ("--input", "test.npz"), "--samples"),
    ("emulate", ("--gdb", "1234"), "--keep"),
]


@pytest.mark.parametrize(("command", "option", "other"), ALONE, ids=lambda value: str(value))
def test_an_option_that_would_reach_nothing_is_refused(command, option, other, made, tmp_path):
    arguments = ARGUMENTS.get(command, lambda made, to: (made.int8,))(made, tmp_path)
    error = call_json(command, *arguments, *option, code=1)["error"]
    assert option[0] in error["problem"]
    assert other in f"{error['problem']} {error['expected']}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", [("--workers", "2"), ("--scheduler", "tcp://a")])
def test_workers_without_calibration_data_are_refused(option, made, tmp_path):
    error = call_json("quantize", made.net, "-o", tmp_path / "o.tflite", *option, code=1)["error"]
    assert error["problem"] == f"{option[0]} says nothing without --calibration"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("calibrator", ["percentile", "auto"])
def test_a_percentile_is_taken_by_the_calibrators_that_use_it(calibrator, made, tmp_path):
    options = ("--calibrator", calibrator, "--percentile", "99", "--preset", "fast")
    call("quantize", *ARGUMENTS["quantize"](made, tmp_path), *options)
