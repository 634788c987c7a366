"""Options of ``tinyrt front-end``, and ``tinyrt run`` on a recording."""

import json
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests import seeing
from tests.cli.calls import call, call_json
from tests.cli.figures.compare import assert_fields
from tests.cli.shown import shows
from tests.dsp.sounds import mixed
from tests.listening import FRONT, PIPELINE, float_net, int8_net, saved, wav
from tinyrt import api, emulate
from tinyrt.attached import front_end_of
from tinyrt.cli import emulation_tables, listen
from tinyrt.emulate import Flash, Timing
from tinyrt.export import export_c

SAMPLES = mixed(6, 3_000)


@pytest.fixture
def ears(tmp_path):
    return saved(tmp_path / "ears.tflite", int8_net())


@pytest.fixture
def audio(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav(SAMPLES))
    return path


@shows("front-end", "model", "output", "options")
def test_options_of_the_file_named_are_attached_to_the_model_named(tmp_path):
    for name, graph in (("int8", int8_net()), ("float", float_net())):
        pipeline = replace(PIPELINE, detector=None, offset=len(name))
        bare = saved(tmp_path / f"{name}.tflite", graph, None)
        (options := tmp_path / f"{name}.json").write_text(json.dumps(pipeline.as_dict()))
        out = tmp_path / f"{name}_ears.tflite"
        found = call_json("front-end", bare, options, "-o", out)
        assert front_end_of(out) == pipeline
        want = {"output": str(out), "bytes": out.stat().st_size}
        assert_fields(found, want | {"front_end": pipeline.as_dict()})
        assert call_json("inspect", out)["front_end"] == pipeline.as_dict()


@shows("front-end", "remove")
def test_a_front_end_is_taken_off(ears, tmp_path):
    out = tmp_path / "o.tflite"
    assert call_json("front-end", ears, "--remove", "-o", out)["front_end"] is None
    assert front_end_of(out) is None
    (tmp_path / "o.json").write_text("{}")
    for arguments in ((ears,), (ears, tmp_path / "o.json", "--remove")):
        text = call("front-end", *arguments, "-o", tmp_path / "x.tflite", code=1).stderr
        assert "a front end is attached or taken off" in text
    assert not (tmp_path / "x.tflite").exists()


LINES = [
    "front end 9 log-mel bands at 16,000 Hz",
    "frame 120 samples every 50 (7.5 ms every 3.125 ms)",
    "input 4 rows, then 3 new ones each (9.375 ms)",
    "feature 0.02 * (feature - 300)",
    "detector mean of 2 scores, at least -20; then 3 without",
]


def test_what_tables_say_of_a_front_end(ears, tmp_path):
    (tmp_path / "o.json").write_text(json.dumps(PIPELINE.as_dict()))
    attach = ("front-end", ears, tmp_path / "o.json", "-o", tmp_path / "o.tflite")
    for arguments in (attach, ("inspect", ears)):
        lines = [" ".join(line.split()) for line in call(*arguments).stdout.splitlines()]
        assert [line for line in lines if line in LINES] == LINES
    saved(tmp_path / "o.tflite", int8_net(), replace(PIPELINE, detector=None))
    text = " ".join(call("inspect", tmp_path / "o.tflite").stdout.split())
    assert all((line in text) == (line != LINES[-1]) for line in LINES)


@shows("run", "audio")
def test_the_answers_to_a_recording(ears, audio, tmp_path):
    heard = api.listen_model(ears, SAMPLES)
    (name,) = heard.outputs
    out = tmp_path / "o.npz"
    found = call_json("run", ears, audio, "-o", out, "--backend", "reference")
    best = heard.outputs[name].argmax(axis=1)
    windows = (FRONT.frames(len(SAMPLES)) - 4) // 3 + 1
    expected = {
        "output": str(out),
        "outputs": {name: [windows, 3]},
        "backend": "reference",
        "seconds": [(120 + 50 * (3 * i + 3)) / 16_000 for i in range(windows)],
        "best": best.tolist(),
        "detected": heard.detected.tolist(),
        "errors": None,
        "alarms": None,
    }
    assert_fields(found, expected)
    assert len(set(best.tolist())) > 1
    with np.load(out) as file:
        assert sorted(file) == sorted([name, "tinyrt.samples", "tinyrt.detected"])
        np.testing.assert_array_equal(file[name], heard.outputs[name])
        assert file["tinyrt.samples"].tolist() == [270 + 150 * i for i in range(windows)]
        np.testing.assert_array_equal(file["tinyrt.detected"], heard.detected)

    assert call_json("run", ears, audio)["output"] is None
    rows = [line.split() for line in call("run", ears, audio).stdout.splitlines()[3:]]
    for i, (row, scores, detected) in enumerate(
        zip(rows, heard.outputs[name], heard.detected, strict=False)
    ):
        at = f"{(270 + 150 * i) / 16_000:.3f}"
        told = [at, str(best[i]), f"{scores[best[i]]:.4g}"]
        assert row == told + ([str(detected)] if detected >= 0 else [])


def test_answers_without_a_detector(audio, tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net(), replace(PIPELINE, detector=None))
    out = tmp_path / "o.npz"
    assert call_json("run", path, audio, "-o", out)["detected"] is None
    assert "tinyrt.detected" not in np.load(out)
    assert "detected" not in call("run", path, audio).stdout
    audio.write_bytes(wav(SAMPLES[:100]))
    assert call_json("run", path, audio)["best"] == []


def test_listening_shows_how_far_it_is(ears, audio, monkeypatch):
    told = []

    @contextmanager
    def bar(label):
        yield lambda *at: told.append((label, *at))

    monkeypatch.setattr(listen, "progress_bar", bar)
    count = len(call_json("run", ears, audio)["best"])
    assert told[-1] == ("listening", count, count)


def test_a_run_needs_inputs_or_a_recording(ears, audio, tmp_path):
    for more in (("-o", tmp_path / "o.npz"), ()):
        assert "there is nothing to run the model on" in call("run", ears, *more, code=1).stderr
    for more in (("-i", audio), ("--profile",)):
        assert "says nothing beside a recording" in call("run", ears, audio, *more, code=1).stderr
    text = call("run", ears, ears, code=1).stderr
    assert "this is not a WAV file" in text
    assert str(ears) in text


@shows("emulate", "recording")
@pytest.mark.slow
def test_a_recording_is_pushed_and_compared(ears, audio, tmp_path):
    heard = api.listen_model(ears, SAMPLES)
    (name,) = heard.outputs
    found = call_json(
        "emulate", ears, "--recording", audio, "--core", "host", "--keep", tmp_path / "b"
    )
    assert (found["bit_exact"], found["samples"]) == (True, len(heard.samples))
    assert found["outputs"] == {name: heard.raw[name].tolist()}
    assert (tmp_path / "b" / "model" / "ears_audio.c").exists()


BESIDE = {
    "--input": ["-i", "x.npz"],
    "--samples": ["--samples", "3"],
    "--input-rows": ["--input-rows"],
    "--slices": ["--slices", "9000"],
    "--blob": ["--blob"],
    "--profile": ["--profile"],
    "--gdb": ["--gdb", "1234", "--keep", "k"],
    "--shared-arena": ["--shared-arena"],
    "another model": ["other.tflite"],
}


@pytest.mark.parametrize("option", BESIDE)
def test_what_says_nothing_beside_a_recording(option, ears, audio):
    text = call("emulate", ears, *BESIDE[option], "--recording", audio, code=1).stderr
    assert f"{option} says nothing beside --recording" in text


def test_cycles_are_told_of_a_recording_too(ears, audio, monkeypatch):
    asked = []

    def heard(model, samples, pipeline, expected, *, cycles, **options):
        asked.append(cycles)
        return SimpleNamespace(as_dict=dict, agrees=True)

    monkeypatch.setattr(emulate.audio, "emulate_samples", heard)
    monkeypatch.setattr(emulation_tables, "emulation", lambda report: "")
    timing = ("--cycles", "--flash-wait", "5", "--flash-line", "32", "--clock", "120MHz")
    for more in ((), timing):
        call("emulate", ears, "--recording", audio, *more)
    assert asked == [None, Timing(Flash(wait=5, line=32), clock_hz=120e6)]
    text = call("emulate", ears, "--recording", audio, "--flash-wait", "5", code=1).stderr
    assert "--flash-wait says nothing without --cycles" in text


def test_a_device_that_differs_is_told(ears, audio, monkeypatch):
    def spoilt(model, samples, pipeline, expected, **options):
        return SimpleNamespace(as_dict=dict, agrees=False)

    monkeypatch.setattr(emulate.audio, "emulate_samples", spoilt)
    monkeypatch.setattr(emulation_tables, "emulation", lambda report: "")
    call("emulate", ears, "--recording", audio, code=1)


def test_of_several_models_each_says_what_it_has_for_frames(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", seeing.int8_net(), seeing.GREY)
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    project = export_c(eyes, tmp_path / "a")
    several = call_json("export", eyes, bare, "-o", tmp_path / "b")
    assert several["camera"] == {"eyes": project.camera.as_dict()}
    assert "audio" not in several


def test_an_export_says_what_it_has_for_samples(ears, tmp_path):
    project = export_c(ears, tmp_path / "a")
    found = call_json("export", ears, "-o", tmp_path / "b")
    assert found["audio"] == project.audio.as_dict()
    text = " ".join(call("export", ears, "-o", tmp_path / "c").stdout.split())
    want = (
        f"{project.audio.state_bytes:,} bytes of state, {project.audio.table_bytes:,} of constants"
    )
    assert want in text
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    assert "audio" not in call_json("export", bare, "-o", tmp_path / "d")
    several = call_json("export", ears, bare, "-o", tmp_path / "e")
    assert several["audio"] == {"ears": project.audio.as_dict()}
    assert "audio" not in call_json("export", bare, "-o", tmp_path / "f", "--shared-arena")
