"""Models that carry a camera: attached, at work on frames, and what is refused."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.cli.calls import call_json
from tests.graphs import Builder
from tests.listening import PIPELINE, saved
from tests.listening import int8_net as ears_net
from tests.seeing import BOXES, CODED, COLOURS, GREY, float_net, frames_of, int8_net
from tinyrt import api
from tinyrt.api import looking
from tinyrt.attached import front_end_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Boxes, Camera
from tinyrt.errors import DataError, ModelFormatError, UnsupportedError
from tinyrt.interpreter import load
from tinyrt.ir import DType
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.sighted import sighted


@pytest.fixture
def eyes(tmp_path):
    return saved(tmp_path / "eyes.tflite", int8_net(), GREY)


@pytest.mark.parametrize("count", [1, 2, GREY.camera.height])
def test_frames_are_told_from_the_lines_of_one(count):
    frames = frames_of(GREY, count)
    np.testing.assert_array_equal(looking.frames_of(frames, GREY.camera), frames)
    np.testing.assert_array_equal(looking.frames_of(frames[0], GREY.camera), frames[:1])


THE_SAME = replace(COLOURS, scale=(0.02,) * 3, mean=(99.0,) * 3)


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


@pytest.mark.slow
@pytest.mark.whole
def test_rows_are_pushed_where_an_emulation_asks_for_them(eyes, tmp_path):
    """The program of this machine: the image is then not in the arena."""
    np.save(tmp_path / "f.npy", frames_of(GREY, 3))
    command = ("emulate", eyes, "--recording", tmp_path / "f.npy", "--core", "host")
    held, pushed = (call_json(*command, *more) for more in ((), ("--input-rows",)))
    assert (held["bit_exact"], pushed["bit_exact"]) == (True, True)
    assert pushed["ram"]["arena"] != held["ram"]["arena"]
    assert pushed["ram"]["state"] == held["ram"]["state"] + 8


def test_encodings_are_those_of_the_second_output(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", int8_net(coded=True), CODED)
    frames = frames_of(CODED, 9)
    seen = api.look_model(eyes, frames)
    scores, codes = seen.raw.values()
    for i, found in enumerate(seen.boxes):
        want = CODED.boxes.find(scores[i].reshape(12, 3), codes[i].reshape(12, 4))
        assert found.boxes.tolist() == want.boxes.tolist()
        assert found.classes.tolist() == want.classes.tolist()


def test_answers_of_one_dimension_stay_together(tmp_path):
    b = Builder((1, 6, 8))
    flat = b.graph(b.op("reshape", ("x",), ReshapeAttrs((48,))))
    x = np.random.default_rng(9).uniform(-2.5, 2.7, (40, 6, 8)).astype(np.float32)
    vision = replace(GREY, boxes=None)
    eyes = saved(tmp_path / "eyes.tflite", quantize_graph(flat, x, QuantConfig()), vision)
    frames = frames_of(vision, 3)
    (found,) = api.look_model(eyes, frames).raw.values()
    fit = sighted(vision, read_tflite(eyes))
    np.testing.assert_array_equal(found, [fit.stored(frame).reshape(48) for frame in frames])


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
