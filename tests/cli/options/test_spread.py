"""Options that say which processes or machines share the samples."""

import pytest

from tests.cli.calls import call
from tests.cli.shown import shows
from tinyrt import api
from tinyrt.errors import ToolError

OPTIONS = {
    "": (1, None),
    "--workers 3": (3, None),
    "--scheduler tcp://a:1": (1, "tcp://a:1"),
    "--workers 1": (1, None),
}

SHARED = {
    "emulate": ("run_emulated", "int8"),
    "eval": ("evaluate", "int8 -d test"),
    "quantize": ("quantize_model", "net -c calib -o NEW"),
    "quantize within": ("quantize_within", "net -c calib -o NEW --max-bytes 9k"),
    "debug": ("bisect_model", "net int8 -d test --bisect"),
}
"""Command -> the function that is asked, and arguments with names of ``made``."""


@shows("emulate", "workers", "scheduler")
@shows("eval", "workers", "scheduler")
@shows("quantize", "workers", "scheduler")
@shows("debug", "workers", "scheduler")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("command", SHARED)
def test_who_shares_the_samples(command, options, made, tmp_path, monkeypatch):
    asked = []

    def stop(*arguments, workers, scheduler, **_):
        asked.append((workers, scheduler))
        raise ToolError("seen")

    function, words = SHARED[command]
    monkeypatch.setattr(api, function, stop)
    named = {word: getattr(made, word, word) for word in words.split()} | {"NEW": tmp_path / "a"}
    arguments = [named[word] for word in words.split()]
    error = call(command.split()[0], *arguments, *options.split(), code=1).stderr
    assert "seen" in error
    assert asked == [OPTIONS[options]]


@pytest.mark.parametrize("option", ["--workers 2", "--scheduler tcp://a"])
def test_several_models_in_one_image_are_not_shared(option, made):
    text = call("emulate", made.int8, made.tall, *option.split(), code=1).stderr
    assert f"{option.split()[0]} belongs to one model" in text
