"""Models that take samples or frames: what an emulation hands on, refuses, and finds to differ."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests import listening, seeing
from tests.listening import PIPELINE, saved
from tests.seeing import GREY, frames_of
from tinyrt import api
from tinyrt.emulate import audio, camera, fed
from tinyrt.emulate.audio import Expected, emulate_samples
from tinyrt.emulate.camera import SeenByHost, emulate_frames
from tinyrt.emulate.cycles import Timing
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions

SAMPLES = np.random.default_rng(5).normal(0, 3_000, 1_500).astype(np.int16)
FRAMES = frames_of(GREY, 5)
NOTHING = {"samples": Expected({}, np.zeros(0), None), "frames": SeenByHost({}, None)}
CALLS = {
    "samples": (emulate_samples, SAMPLES, PIPELINE, audio.OPTIONS),
    "frames": (emulate_frames, FRAMES, GREY, camera.OPTIONS),
}
DEFAULTS = {
    **{"core": "cortex-m4", "optimize": "balanced", "options": ExportOptions()},
    **{"board": None, "cycles": None, "timeout_s": 300.0},
}
GIVEN = {
    **{"core": "cortex-m55", "optimize": "size", "options": ExportOptions(by_rows=True)},
    **{"board": "mps3-an547", "cycles": Timing(clock_hz=1e6), "timeout_s": 7.5},
}


class EnoughError(Exception):
    """The image would run now."""


@pytest.fixture
def asked(monkeypatch):
    """What was asked of those that export, choose a board, tell cycles and run."""
    found = SimpleNamespace()

    def board_for(core, board):
        found.core, found.board = core.name, board
        return "the board"

    def meter_of(core, board, cycles):
        assert (core.name, board) == (found.core, "the board")
        found.cycles = cycles

    def run_image(image, data, folder, *, timeout_s):
        found.timeout_s = timeout_s
        raise EnoughError

    def export_graph(graph, folder, **options):
        assert options["core"] == found.core
        found.optimize, found.options = options["optimize"], options["options"]
        return SimpleNamespace(front_end=options["front_end"])

    for one in (board_for, meter_of, run_image, export_graph):
        monkeypatch.setattr(fed, one.__name__, one)
    monkeypatch.setattr(fed, "build_image", lambda project, *_, **to: found.__setattr__("to", to))
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of each kind, that of samples also in floats."""
    folder = tmp_path_factory.mktemp("models")
    made = {
        "samples": saved(folder / "ears.tflite", listening.int8_net()),
        "frames": saved(folder / "eyes.tflite", seeing.int8_net(), GREY),
    }
    alone = replace(PIPELINE, detector=None)
    return made | {"floats": saved(folder / "float.tflite", listening.float_net(), alone)}


@pytest.mark.parametrize("option", GIVEN)
@pytest.mark.parametrize("kind", CALLS)
def test_each_option_reaches_what_does_the_work(kind, option, asked, models, tmp_path):
    """On its own: the others are as documented."""
    emulate, data, front_end, _ = CALLS[kind]
    given = {option: GIVEN[option]}
    with pytest.raises(EnoughError):
        emulate(models[kind], data, front_end, NOTHING[kind], build_dir=tmp_path, **given)
    assert {name: getattr(asked, name) for name in DEFAULTS} == DEFAULTS | given
    assert asked.to["board"] == "the board"


OTHERS = {
    **{"max_arena": 9_000, "by_rows": True, "input_rows": True, "name": "ears", "prefix": "p"},
    **{"info": True, "unaligned": False, "slices": 5_000, "blob": True, "layout": "arduino"},
    **{"selftest": 1, "board": True, "input_type": "int8", "output_type": "int8"},
}


@pytest.mark.parametrize("kind", CALLS)
def test_options_that_would_reach_nothing_are_refused(kind, asked, models, tmp_path):
    emulate, data, front_end, allowed = CALLS[kind]
    assert {field.name for field in fields(ExportOptions)} == {*OTHERS, "memories"}
    for name, value in OTHERS.items():
        options = ExportOptions(**{name: value})
        wanted = (EnoughError, None) if name in allowed else (UnsupportedError, f"option '{name}'")
        to = {"build_dir": tmp_path, "options": options}
        with pytest.raises(wanted[0], match=wanted[1]):
            emulate(models[kind], data, front_end, NOTHING[kind], **to)


def expected_of(path, samples=SAMPLES):
    """What the host answers to the recording."""
    heard = api.listen_model(path, samples)
    return Expected(heard.raw, heard.samples, heard.detected)


SPOILT = {
    "nothing": lambda e: e,
    "when": lambda e: replace(e, samples=e.samples + 1),
    "what is detected": lambda e: replace(e, detected=np.roll(e.detected, 1)),
    "an output": lambda e: replace(e, raw={n: a ^ (a == a.max()) for n, a in e.raw.items()}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["samples", "floats"])
def test_whatever_differs_from_the_host_is_told(kind, models, tmp_path):
    """One program of this machine, and hosts that answer something else; floats are near only.

    Records without an answer stand between those with one, and count for nothing.
    """
    path = models[kind]
    pipeline = PIPELINE if kind == "samples" else replace(PIPELINE, detector=None)
    right = expected_of(path)
    for what, spoil in SPOILT.items():
        if kind == "floats" and what not in ("nothing", "when"):
            continue
        to = {"build_dir": tmp_path, "core": "host"}
        found = emulate_samples(path, SAMPLES, pipeline, spoil(right), **to)
        assert found.agrees == (what == "nothing"), what
        assert found.samples == len(right.samples)
        for name, array in found.outputs.items():
            assert np.allclose(array, right.raw[name], atol=1e-4)
        # Answers of other times are not compared.
        told = {"an output": np.inf, "nothing": None if kind == "samples" else 0}.get(what)
        assert found.float_error == (told if told is None else pytest.approx(told, abs=1e-5))
        assert found.ram.state > 0
        assert found.instructions_per_mac is None
