"""Options of ``tinyrt emulate`` that say who shares the samples."""

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


@shows("emulate", "workers", "scheduler")
@pytest.mark.parametrize("options", OPTIONS)
def test_who_shares_the_samples(options, made, monkeypatch):
    asked = []

    def stop(model, *, workers, scheduler, **_):
        asked.append((workers, scheduler))
        raise ToolError("seen")

    monkeypatch.setattr(api, "run_emulated", stop)
    assert "seen" in call("emulate", made.int8, *options.split(), code=1).stderr
    assert asked == [OPTIONS[options]]


@pytest.mark.parametrize("option", ["--workers 2", "--scheduler tcp://a"])
def test_several_models_in_one_image_are_not_shared(option, made):
    text = call("emulate", made.int8, made.tall, *option.split(), code=1).stderr
    assert f"{option.split()[0]} belongs to one model" in text
