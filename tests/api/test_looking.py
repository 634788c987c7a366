"""Models that carry a camera: attached, at work on frames, and what is refused."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.listening import PIPELINE, saved
from tests.listening import int8_net as ears_net
from tests.seeing import BOXES, CODED, COLOURS, GREY, float_net, frames_of, int8_net
from tinyrt import api
from tinyrt.attached import front_end_of
from tinyrt.cli.look import camera_facts
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Boxes, Camera, Vision
from tinyrt.emulate.camera import SeenByHost, emulate_frames
from tinyrt.errors import DataError, ModelFormatError, UnsupportedError
from tinyrt.interpreter import load
from tinyrt.ir import DType
from tinyrt.sighted import sighted


@pytest.fixture
def eyes(tmp_path):
    return saved(tmp_path / "eyes.tflite", int8_net(), GREY)


THE_SAME = replace(COLOURS, scale=(0.02,) * 3, mean=(99.0,) * 3)
TABLES = {
    "grey": (GREY, 1),
    "grey in a list": (replace(GREY, scale=(0.02,), mean=(120.5,)), 1),
    "colours": (COLOURS, 3),
    "means differ": (replace(COLOURS, scale=0.02), 3),
    "scales differ": (replace(COLOURS, mean=99.0), 3),
    "one of all": (replace(COLOURS, scale=0.02, mean=99.0), 1),
    "the same of each": (THE_SAME, 1),
}
"""What scales and means are of -> so many tables."""


@pytest.mark.parametrize("name", TABLES)
def test_as_many_tables_as_channels_differ_and_the_command_says_so(name):
    vision, count = TABLES[name]
    fit = sighted(vision, int8_net(vision.camera.channels))
    assert (len(fit.tables), vision.is_each) == (count, count > 1)
    (scale, *_), (mean, *_) = vision.scales, vision.means
    told = f"{scale:g} * (byte - {mean:g})"
    own = "each colour by a scale and a mean of its own"
    assert camera_facts(fit)["  byte"] == (own if count > 1 else told)


@pytest.mark.parametrize(
    "vision", [GREY, COLOURS, replace(COLOURS, scale=0.02), replace(COLOURS, mean=99.0), THE_SAME]
)
def test_tables_are_what_the_model_stores_for_real_values(vision, tmp_path):
    """As for a float input that is quantised by the model's own parameters."""
    path = saved(tmp_path / "eyes.tflite", int8_net(vision.camera.channels), vision)
    (frame,) = frames_of(vision, 1)
    scale, mean = np.array(vision.scale, np.float64), np.array(vision.mean, np.float64)
    real = (scale * (vision.camera.image(frame) - mean)).astype(np.float32)
    model = load(path)
    (stored,) = model.stored_inputs(real[None]).values()
    fit = sighted(vision, read_tflite(path))
    np.testing.assert_array_equal(fit.stored(frame), stored)
    assert fit.tables.shape == (3 if vision.is_each else 1, 256)
    seen = api.look_model(path, frame)
    (found,), (want,) = seen.raw.values(), model.run_raw({"x": stored}).values()
    np.testing.assert_array_equal(found, want)
    assert (seen.boxes is None) == (vision is not GREY)


def test_frames_from_files_and_arrays(eyes, tmp_path):
    frames = frames_of(GREY, 70)
    np.save(tmp_path / "f.npy", frames)
    whole = api.look_model(eyes, frames)
    for given in (tmp_path / "f.npy", frames.view("<u2"), frames.reshape(70, 15, 22, 2)):
        seen = api.look_model(eyes, given)
        for name, array in whole.raw.items():
            np.testing.assert_array_equal(seen.raw[name], array)
    steps = []
    api.look_model(eyes, frames, progress=lambda *done: steps.append(done))
    assert steps == [(64, 70), (70, 70)]
    assert len(api.look_model(eyes, frames[:1]).boxes) == 1
    one = api.look_model(eyes, frames[69])
    assert one.boxes[0].boxes.tolist() == whole.boxes[69].boxes.tolist()
    (scores,) = whole.raw.values()
    for i, found in enumerate(whole.boxes):
        want = BOXES.find(scores[i].reshape(12, 3))
        assert found.scores.tolist() == want.scores.tolist()
        assert found.boxes.tolist() == want.boxes.tolist()
    assert whole.outputs.keys() == whole.raw.keys()


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


@pytest.mark.slow
def test_rows_are_pushed_where_an_emulation_asks_for_them(eyes, tmp_path):
    """The program of this machine: the image is then not in the arena."""
    np.save(tmp_path / "f.npy", frames_of(GREY, 3))
    command = ("emulate", eyes, "--recording", tmp_path / "f.npy", "--core", "host")
    held, pushed = (call_json(*command, *more) for more in ((), ("--input-rows",)))
    assert (held["bit_exact"], pushed["bit_exact"]) == (True, True)
    assert pushed["ram"]["arena"] != held["ram"]["arena"]
    assert pushed["ram"]["state"] == held["ram"]["state"] + 8


@pytest.mark.slow
def test_a_box_that_is_another_one_is_noticed(eyes, tmp_path):
    frames = frames_of(GREY, 9)
    seen = api.look_model(eyes, frames)
    for boxes, same in ((seen.boxes, True), ((*seen.boxes[1:], seen.boxes[0]), False)):
        expected = SeenByHost(seen.raw, boxes)
        where = tmp_path / str(same)
        found = emulate_frames(eyes, frames, GREY, expected, build_dir=where, core="host")
        assert found.bit_exact == same


def test_encodings_are_those_of_the_second_output(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", int8_net(coded=True), CODED)
    frames = frames_of(CODED, 9)
    seen = api.look_model(eyes, frames)
    scores, codes = seen.raw.values()
    for i, found in enumerate(seen.boxes):
        want = CODED.boxes.find(scores[i].reshape(12, 3), codes[i].reshape(12, 4))
        assert found.boxes.tolist() == want.boxes.tolist()
        assert found.classes.tolist() == want.classes.tolist()


def some_graph(*inputs, answers=()):
    """As much of a graph as is looked at."""
    values = dict(enumerate((*inputs, *answers)))
    first = len(inputs)
    return SimpleNamespace(
        fed=range(first), answers=range(first, first + len(answers)), value=values.get
    )


def test_a_model_with_other_ports_is_refused():
    graph = int8_net(coded=True)
    x = graph.value("x")
    scores, codes = (graph.value(name) for name in graph.answers)
    with pytest.raises(UnsupportedError, match="the model has 2 inputs"):
        sighted(GREY, some_graph(x, x))
    with pytest.raises(UnsupportedError, match="the input is no image"):
        sighted(GREY, some_graph(replace(x, shape=(6, 8))))
    with pytest.raises(UnsupportedError, match="the input takes no bytes of an image"):
        sighted(GREY, float_net())
    with pytest.raises(UnsupportedError, match="the input takes no bytes of an image"):
        sighted(GREY, some_graph(replace(x, dtype=DType.INT16)))
    for answers in ((scores, codes, codes), (codes, scores), (scores, scores)):
        with pytest.raises(UnsupportedError, match="the outputs are no scores of 12 anchors"):
            sighted(CODED, some_graph(x, answers=answers))


def test_what_carries_no_camera(eyes, tmp_path):
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    ears = saved(tmp_path / "ears.tflite", ears_net(), PIPELINE)
    for path in (bare, ears):
        with pytest.raises(DataError, match=r"the model carries (a front end, )?no camera"):
            api.look_model(path, np.zeros((15, 44), np.uint8))
    with pytest.raises(DataError, match="the model carries a camera, no front end"):
        api.listen_model(eyes, np.zeros(9, np.int16))
    with pytest.raises(DataError, match=re.escape("frames in a file called *.raw")):
        api.look_model(eyes, tmp_path / "f.raw")
    for wrong in (np.zeros((0, 15, 44), np.uint8), np.zeros((2, 15, 43), np.uint8), np.uint8(3)):
        with pytest.raises(DataError, match="the frame is"):
            api.look_model(eyes, wrong)


ONE = Boxes(9, 9, ((1, 1, 2, 2),), 3)
OTHERS = {
    "the input is no image": {"camera": Camera(15, 22, 5, 8)},
    "the input is no image of": {"camera": Camera(15, 22, 6, 8, channels=3)},
    "the outputs are no scores of 1 anchors and 3 classes": {"boxes": ONE},
    "the outputs are no scores of 12 anchors and 9": {"boxes": replace(BOXES, classes=9)},
}


@pytest.mark.parametrize("text", OTHERS)
def test_a_model_of_another_kind_is_refused(text):
    with pytest.raises(UnsupportedError, match=re.escape(text)) as caught:
        sighted(replace(GREY, **OTHERS[text]), int8_net())
    assert caught.value.expected


def test_entries_that_do_not_fit_the_model(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", int8_net(), replace(GREY, camera=Camera(9, 9, 9, 9)))
    with pytest.raises(UnsupportedError, match="the input is no image of the camera's size"):
        api.inspect_model(eyes)
    with pytest.raises(ModelFormatError, match="cannot be read: the option version is 7"):
        front_end_of(saved(tmp_path / "e.tflite", int8_net(), _Odd()))


class _Odd:
    def to_json(self):
        return b'{"version":7,"camera":{}}'
