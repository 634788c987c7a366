"""Whatever a command fails with, people get one short message and exit code 1."""

import json
import warnings

import pytest

from tests.cli.calls import call
from tinyrt import api

COMMANDS = ("convert", "inspect", "run", "eval", "quantize", "export", "emulate", "bench", "debug")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_files_has_a_budget(command, tmp_path):
    arguments = {
        "convert": ("m.tflite", "-o", "o.tflite"),
        "run": ("m.tflite", "-i", "x.npz", "-o", "o.npz"),
        "eval": ("m.tflite", "-d", "x.npz"),
        "quantize": ("m.tflite", "-c", "x.npz", "-o", "o.tflite"),
        "export": ("m.tflite", "-o", "out"),
        "debug": ("m.tflite", "q.tflite", "-d", "x.npz"),
    }.get(command, ("m.tflite",))
    result = call(command, *arguments, "--max-memory", "1T", code=1)
    assert "'1T' is not a number of bytes" in result.stderr
    call(command, *arguments, "--max-memory", "1G", code=1)


@pytest.mark.parametrize("raised", [ZeroDivisionError("x" * 9000), MemoryError(), RecursionError()])
def test_a_failure_that_no_check_foresaw_is_one_short_message(files, monkeypatch, raised):
    def fail(*arguments, **options):
        raise raised

    monkeypatch.setattr("tinyrt.api.inspection.open_model", fail)
    result = call("inspect", files / "net.tflite", code=1)
    assert len(result.stderr.splitlines()) <= 12
    assert len(result.stderr) < 1200
    assert "tinyrt/api/inspection.py, line" in result.stderr
    assert "TINYRT_TRACEBACK=1" in result.stderr
    assert "Traceback" not in result.stderr
    found = json.loads(call("inspect", files / "net.tflite", "--json", code=1).stdout)
    assert "tinyrt/api/inspection.py" in found["error"]["problem"]
    monkeypatch.setenv("TINYRT_TRACEBACK", "1")
    assert "Traceback" in call("inspect", files / "net.tflite", code=1).stderr


def test_a_callback_fails_with_its_own_error(files):
    def progress(done, total):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        api.evaluate(files / "net.tflite", files / "test.npz", progress=progress)


def test_numpys_warnings_of_arithmetic_are_no_news(files, monkeypatch):
    def warn(*arguments, **options):
        warnings.warn("invalid value encountered in cast", RuntimeWarning, stacklevel=2)
        return real(*arguments, **options)

    real = api.convert_model
    monkeypatch.setattr(api, "convert_model", warn)
    result = call("convert", files / "net.tflite", "-o", files / "out.tflite")
    assert "invalid value" not in result.output
