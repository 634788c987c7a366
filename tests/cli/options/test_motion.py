"""Commands on a model that takes samples of motion: recordings in files, and what tables say."""

import json

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.listening import saved
from tests.moving import FRONT, PIPELINE, int8_net, moving
from tinyrt import api

SAMPLES = moving("walk", 4, 300)

LINES = [
    f"front end {FRONT.features} features of motion on 3 axes at 100 Hz",
    "frame 50 samples every 20 (500 ms every 200 ms)",
    "input 1 rows, then 1 new ones each (200 ms)",
    "feature each by a scale and an offset of its own",
]


@pytest.fixture
def arm(tmp_path):
    return saved(tmp_path / "arm.tflite", int8_net(), PIPELINE)


def test_recordings_from_arrays_and_from_text(arm, tmp_path):
    np.save(tmp_path / "a.npy", SAMPLES)
    lines = [",".join(map(str, row)) for row in SAMPLES.tolist()]
    (tmp_path / "a.csv").write_text("x,y,z\n" + "\n".join(lines) + "\n")
    heard = api.listen_model(arm, SAMPLES)
    assert heard.samples.tolist() == [50 + 20 * i for i in range(13)]
    for name in ("a.npy", "a.csv"):
        found = call_json("run", arm, tmp_path / name)
        assert found["seconds"] == [(50 + 20 * i) / 100 for i in range(13)]
        assert found["detected"] == heard.detected.tolist()
        assert found["best"] == next(iter(heard.outputs.values())).argmax(axis=1).tolist()
    assert len(set(found["detected"])) > 1


def test_a_front_end_of_motion_is_attached_and_shown(arm, tmp_path):
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    (tmp_path / "o.json").write_text(json.dumps(PIPELINE.as_dict()))
    out = tmp_path / "o.tflite"
    found = call_json("front-end", bare, tmp_path / "o.json", "-o", out)
    assert found["front_end"] == PIPELINE.as_dict() == call_json("inspect", out)["front_end"]
    lines = [" ".join(line.split()) for line in call("inspect", arm).stdout.splitlines()]
    assert [line for line in lines if line in LINES] == LINES


def test_an_export_says_what_takes_samples(arm, tmp_path):
    found = call_json("export", arm, "-o", tmp_path / "c")
    assert found["audio"]["front_end"]["motion"] == FRONT.as_dict()
    assert (tmp_path / "c" / "arm_samples.c").exists()
