"""What commands say of models that hear, move and see: facts, and answers to recordings."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.dsp.test_anomaly import PIPELINE as ALARMS
from tests.dsp.test_anomaly import SAMPLES, autoencoder
from tests.dsp.test_vision import VISIONS
from tests.listening import PIPELINE as OF_SOUND
from tests.listening import saved
from tests.seeing import COLOURS, GREY, frames_of, int8_net
from tinyrt import api
from tinyrt.attached import front_end_of
from tinyrt.cli.listen import front_end_facts
from tinyrt.cli.look import camera_facts
from tinyrt.dsp import Camera, LogMel, Pipeline, Vision
from tinyrt.sighted import sighted


@pytest.fixture
def eyes(tmp_path):
    return saved(tmp_path / "eyes.tflite", int8_net(), GREY)


LINE = "alarm mean squared error above 12, 2 in a row"


def test_what_commands_say_of_alarms(tmp_path):
    engine = saved(tmp_path / "engine.tflite", autoencoder(), ALARMS)
    np.save(tmp_path / "a.npy", SAMPLES)
    heard = api.listen_model(engine, SAMPLES)
    found = call_json("run", engine, tmp_path / "a.npy", "-o", tmp_path / "o.npz")
    assert found["errors"] == heard.errors.tolist()
    assert found["alarms"] == heard.alarms.tolist()
    with np.load(tmp_path / "o.npz") as file:
        np.testing.assert_array_equal(file["tinyrt.errors"], heard.errors)
        np.testing.assert_array_equal(file["tinyrt.alarms"], heard.alarms)
    lines = [line.split() for line in call("run", engine, tmp_path / "a.npy").stdout.splitlines()]
    for line, at, error, alarm in zip(
        lines[3:], heard.samples, heard.errors, heard.alarms, strict=False
    ):
        assert line == [f"{at / 100:.3f}", f"{error:.4g}", *(["alarm"] if alarm else [])]
    lines = [" ".join(line.split()) for line in call("inspect", engine).stdout.splitlines()]
    assert LINE in lines
    shown = call_json("inspect", engine)["front_end"]
    assert shown["anomaly"] == {"threshold": 12.0, "consecutive": 2}
    assert Pipeline.from_dict(json.loads(json.dumps(shown))) == ALARMS


@pytest.mark.parametrize("name", VISIONS)
def test_bytes_are_told_by_their_scale_or_as_each_colour_s(name):
    vision, count = VISIONS[name]
    fit = sighted(vision, int8_net(vision.camera.channels))
    assert len(fit.tables) == count
    (scale, *_), (mean, *_) = vision.scales, vision.means
    told = f"{scale:g} * (byte - {mean:g})"
    own = "each colour by a scale and a mean of its own"
    assert camera_facts(fit)["  byte"] == (own if count > 1 else told)


def test_a_camera_is_attached_shown_and_taken_off(eyes, tmp_path):
    bare, out = saved(tmp_path / "bare.tflite", int8_net(), None), tmp_path / "o.tflite"
    (tmp_path / "o.json").write_text(json.dumps(GREY.as_dict()))
    found = call_json("front-end", bare, tmp_path / "o.json", "-o", out)
    assert (found["front_end"], found["vision"]) == (None, GREY.as_dict())
    assert call_json("inspect", out)["vision"] == GREY.as_dict()
    assert front_end_of(out) == GREY
    text = "scale = 0.02\nmean = 120.5\n[camera]\nheight = 15\nwidth = 22\nrows = 6\ncolumns = 8\n"
    (tmp_path / "o.toml").write_text(text)
    api.attach_front_end(bare, tmp_path / "o.toml", out)
    assert front_end_of(out) == Vision(Camera(15, 22, 6, 8), 0.02, 120.5)
    api.attach_front_end(eyes, None, out)
    assert front_end_of(out) is None
    lines = [" ".join(line.split()) for line in call("inspect", eyes).stdout.splitlines()]
    for line in (
        "camera 22 x 15 pixels of rgb565",
        "crop 17 x 13 from (3, 1)",
        "image 8 x 6, grey, area",
        "byte 0.02 * (byte - 120.5)",
        "boxes at most 4, of 12 anchors and 3 classes; scores at least 10",
    ):
        assert line in lines
    colours = saved(tmp_path / "c.tflite", int8_net(3), COLOURS)
    text = " ".join(call("inspect", colours).stdout.split())
    assert "crop all of it image 8 x 6, colours, bilinear byte each colour by a scale" in text


def test_commands_on_frames(eyes, tmp_path):
    frames = frames_of(GREY, 9)
    np.save(tmp_path / "f.npy", frames)
    seen = api.look_model(eyes, frames)
    found = call_json("run", eyes, tmp_path / "f.npy", "-o", tmp_path / "o.npz")
    assert [[b["score"] for b in one] for one in found["boxes"]] == [
        f.scores.tolist() for f in seen.boxes
    ]
    i = next(i for i, f in enumerate(seen.boxes) if len(f.scores))
    assert found["boxes"][i][0]["box"] == seen.boxes[i].boxes[0].tolist()
    assert found["boxes"][i][0]["label"] == seen.boxes[i].classes[0]
    with np.load(tmp_path / "o.npz") as written:
        for name, array in seen.outputs.items():
            np.testing.assert_array_equal(written[name], array)
    rows = [line.split() for line in call("run", eyes, tmp_path / "f.npy").stdout.splitlines()]
    first = [i, *seen.boxes[i].boxes[0], seen.boxes[i].classes[0], seen.boxes[i].scores[0]]
    assert [*map(str, first)] in rows
    colours = saved(tmp_path / "c.tflite", int8_net(3), COLOURS)
    np.save(tmp_path / "c.npy", frames_of(COLOURS, 3))
    answers = api.look_model(colours, tmp_path / "c.npy")
    (raw,), (real,) = answers.raw.values(), answers.outputs.values()
    best = raw.reshape(3, -1).argmax(axis=1)
    assert call_json("run", colours, tmp_path / "c.npy")["best"] == best.tolist()
    rows = [line.split() for line in call("run", colours, tmp_path / "c.npy").stdout.splitlines()]
    assert ["2", str(best[2]), f"{real[2].ravel()[best[2]]:.4g}"] in rows
    exported = call_json("export", eyes, "-o", tmp_path / "c")
    assert exported["camera"]["vision"] == GREY.as_dict()
    assert f"{exported['camera']['state_bytes']} bytes of state, 320 of constants" in " ".join(
        call("export", eyes, "-o", tmp_path / "c").stdout.split()
    )


FEATURES = {
    None: {"front end": "9 log-mel bands at 16,000 Hz", "  normal": None},
    "window": {"  normal": "256ths of deviations of all features in a window"},
    "features": {"  normal": "256ths of deviations of each feature in a window"},
}


@pytest.mark.parametrize("normal", FEATURES)
def test_features_are_told_by_what_they_are(normal):
    pipeline = replace(OF_SOUND, normalize=normal)
    facts = front_end_facts(SimpleNamespace(pipeline=pipeline, rows=4, stride=3))
    assert {name: facts.get(name) for name in FEATURES[normal]} == FEATURES[normal]
    # 50 samples, 120 of them, and three rows at 16 kHz.
    assert facts["  frame"] == "120 samples every 50 (7.5 ms every 3.125 ms)"
    assert facts["  input"] == "4 rows, then 3 new ones each (9.375 ms)"
    cepstra = replace(pipeline, log_mel=LogMel(bands=12, coefficients=7))
    facts = front_end_facts(SimpleNamespace(pipeline=cepstra, rows=4, stride=3))
    assert facts["front end"] == "12 log-mel bands at 16,000 Hz, 7 cepstral coefficients"
