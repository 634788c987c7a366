"""Frames of a camera as a search's samples: what data say, what a network sees, what files do."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.search import raw
from tests.search.made import QUICK
from tinyrt.api.costs import cost
from tinyrt.api.emulating import emulate_recording
from tinyrt.api.fitting import DeviceBudget
from tinyrt.api.looking import look_model
from tinyrt.attached import front_end_of
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp import Vision
from tinyrt.dsp.pixels import FORMATS, encoded
from tinyrt.errors import DataError, ShapeError
from tinyrt.search import Problem, View, checks, search_networks, seen, work
from tinyrt.search.checks import Checks
from tinyrt.search.frames import frames_of
from tinyrt.search.order import Order
from tinyrt.search.source import space_source

EYES = raw.EYES


@pytest.mark.parametrize("pixels", FORMATS)
def test_frames_are_bytes_as_a_sensor_sends_them(pixels):
    pictures, kind = raw.pictures(5)[0], FORMATS[pixels]
    sent = np.stack([encoded(kind, picture) for picture in pictures])
    assert sent.shape == (5, 12, 16 * kind.nbytes)
    np.testing.assert_array_equal(frames_of(sent, pixels), sent)
    np.testing.assert_array_equal(frames_of(sent.reshape(5, 12, 16, -1), pixels), sent)
    if kind.nbytes == 2:
        words = sent[..., ::2] + 256 * sent[..., 1::2].astype(np.uint16)
        np.testing.assert_array_equal(frames_of(words, pixels), sent)
    if kind.nbytes != 3:
        np.testing.assert_array_equal(frames_of(pictures, pixels), sent)
    else:
        np.testing.assert_array_equal(frames_of(pictures, pixels), pictures.reshape(5, 12, -1))


WRONG = {
    "frames are float32[5, 12, 16, 3]": (np.zeros((5, 12, 16, 3), np.float32), "rgb565"),
    "frames are uint8[5, 12, 15]": (np.zeros((5, 12, 15), np.uint8), "rgb565"),
    "frames are uint8[5, 12, 30]": (np.zeros((5, 12, 30), np.uint8), "yuyv"),
    "frames are uint8[5, 12, 15, 3]": (np.zeros((5, 12, 15, 3), np.uint8), "uyvy"),
    "frames are uint8[5, 12]": (np.zeros((5, 12), np.uint8), "grey"),
    "frames are uint8[0, 12, 16]": (np.zeros((0, 12, 16), np.uint8), "grey"),
    "frames are uint16[5, 12, 16]": (np.zeros((5, 12, 16), np.uint16), "rgb888"),
    "frames are uint16[5, 12, 16, 1]": (np.zeros((5, 12, 16, 1), np.uint16), "rgb565"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_are_no_frames(said):
    x, pixels = WRONG[said]
    with pytest.raises(DataError) as error:
        frames_of(x, pixels)
    assert error.value.problem == said
    nbytes = FORMATS[pixels].nbytes
    assert f"of {nbytes} a pixel of {pixels}" in error.value.expected
    assert ("two pixels at a time" in error.value.expected) == (pixels in ("yuyv", "uyvy"))
    assert ("uint16 (n, height, width)" in error.value.expected) == (nbytes == 2)


@pytest.mark.parametrize(
    ("pixels", "said"),
    [("rgb555", "pixels 'rgb555'"), (["grey"] * 2, "pixels are <U4[2]"), (3, "pixels are int64[]")],
)
def test_pixels_that_nobody_knows(pixels, said):
    with pytest.raises(DataError) as error:
        Problem.of({**raw.frames(), "pixels": np.asarray(pixels)})
    assert error.value.problem == said
    assert error.value.expected == "one of " + ", ".join(FORMATS)
    assert error.value.hint == "np.savez(..., pixels='rgb565') says what the sensor sends"


def test_a_file_says_how_pixels_are_stored(tmp_path):
    np.savez(tmp_path / "d.npz", **raw.frames())
    problem = Problem.of(tmp_path / "d.npz")
    assert (problem.pixels, problem.frame, problem.input_shape) == ("rgb565", (12, 16), (12, 32))
    assert problem.x.dtype == np.uint8, "a quarter of the memory of floats"
    assert problem.behind(EYES) == View((6, 8, 1), 3, has_classes=True)
    assert Problem.of(raw.frames()).digest == problem.digest
    assert replace(problem, pixels="rgb565_swapped").digest != problem.digest
    nothing = {name: raw.frames()[name] for name in ("x", "pixels")}
    again = Problem.of(nothing)
    assert again.y is again.x
    assert not again.has_classes
    assert again.behind(replace(EYES, channels=3)).outputs == 6 * 8 * 3


def test_cameras_and_data_of_other_frames():
    problem = Problem.of(raw.frames())
    with pytest.raises(DataError) as error:
        Problem.of(raw.windows()).behind(EYES)
    assert error.value.problem == "the data do not say how a camera's pixels are stored"
    assert error.value.expected == "'pixels' beside 'x' and 'y'"
    assert error.value.hint == "np.savez(FILE, x=frames, y=y, pixels='rgb565')"
    for front_end in (None, raw.FRONT):
        with pytest.raises(DataError) as error:
            problem.behind(front_end)
        assert error.value.problem == "samples are a camera's frames of rgb565"
        assert error.value.expected.startswith("a camera before the network")
        assert error.value.hint.startswith("search in the space camera")
    others = (
        replace(EYES, pixels="rgb565_swapped"),
        replace(EYES, height=13),
        replace(EYES, width=18),
    )
    for other in others:
        with pytest.raises(DataError) as error:
            problem.behind(other)
        size = f"{other.width} x {other.height} pixels of {other.pixels}"
        assert error.value.problem == f"the camera has frames of {size}"
        assert error.value.expected == "16 x 12 pixels of rgb565, as the data have"
    with pytest.raises(ShapeError) as error:
        seen.shape_behind(EYES, (12, 16))
    assert error.value.problem == "frames are [12, 16]"
    assert error.value.expected == "[12, 32]: lines, and bytes of 16 pixels of rgb565"
    test = Problem.of({**raw.frames(), "pixels": np.array("rgb565_swapped")})
    with pytest.raises(DataError, match="of rgb565_swapped with 3 classes"):
        Checks(problem, test)


def test_a_network_sees_images_in_units_of_training():
    problem = Problem.of(raw.frames())
    shown, vision = seen.seen(EYES, problem)
    images = np.stack([EYES.image(frame) for frame in problem.x])
    taught = images[problem.parts[0]].astype(float)
    assert vision.camera == EYES
    assert vision.mean == pytest.approx(taught.mean())
    assert vision.scale == pytest.approx(1 / taught.std())
    np.testing.assert_array_equal(shown.x, vision.real(images))
    assert (shown.pixels, shown.rate) == (None, None), "they are no frames any more"
    assert np.array_equal(shown.y, problem.y)
    x, few = seen.calibrating(EYES, problem)
    assert x.shape == (len(problem.parts[0]), 6, 8, 1)
    assert few.mean == pytest.approx(vision.mean)
    still = Problem.of({**raw.frames(), "x": np.full((48, 12, 16, 3), 200, np.uint8)})
    assert seen.seen(EYES, still)[1].scale == 1, "of what never changes"
    given = Problem.of({name: raw.frames()[name] for name in ("x", "pixels")})
    shown, vision = seen.seen(EYES, given)
    assert shown.y is shown.x
    np.testing.assert_array_equal(seen.wanted(vision, given), shown.x)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    setting = replace(QUICK, budget=DeviceBudget(arena=4_096), trials=2, epochs=9)
    return search_networks(raw.seeing, raw.frames(), folder, setting, test=raw.frames(seed=5))


def test_files_carry_the_camera_and_answer_to_frames(found):
    problem, test = Problem.of(raw.frames()), Problem.of(raw.frames(seed=5))
    assert found.front
    for point in found.front:
        assert isinstance(point.front_end, Vision)
        assert front_end_of(point.model) == point.front_end
        assert point.front_end.camera.channels == point.params["channels"]
        assert json.loads(json.dumps(point.as_dict()))["front_end"] == point.front_end.as_dict()
        assert (point.project / "model_camera.c").exists()
        held = problem.parts[1]
        for x, y, said in (
            (test.x, test.y, point.test),
            (problem.x[held], problem.y[held], point.score),
        ):
            (answers,) = look_model(point.model, x).outputs.values()
            right = answers.reshape(len(y), -1).argmax(1) == y
            assert said == pytest.approx(right.mean())
        assert point.score > 0.6
        alone = cost(read_tflite(point.model))
        whole = cost(point.model, front_end=point.front_end)
        # The camera's own 12 bytes, and 4 for each number of a row.
        assert whole.arena - alone.arena >= 12 + 4 * 8 * point.params["channels"]
        assert point.costs["arena"] == whole.arena


def test_costs_are_counted_on_frames_of_training(monkeypatch):
    problem, asked = Problem.of(raw.frames()), []
    order = Order(space_source(raw.seeing), {"channels": 3}, 0, "m4", 1, 1)
    monkeypatch.setattr(work, "cost", lambda graph, core, **more: asked.append(more))
    work.outlined(order, problem)
    ((vision, recording),) = [(more["front_end"], more["recording"]) for more in asked]
    assert vision.camera.channels == 3
    np.testing.assert_array_equal(recording, problem.x[np.sort(problem.parts[0])[:3]])


@pytest.mark.device
def test_frames_are_emulated(found, monkeypatch):
    point, test, asked = found.front[0], Problem.of(raw.frames(seed=5)), []

    def run(model, recording, **options):
        asked.append(recording)
        return emulate_recording(model, recording, **options)

    monkeypatch.setattr(checks, "emulate_recording", run)
    emulated = Checks(Problem.of(raw.frames()), test, emulate=3).emulated(point.model, "cortex-m4")
    assert (emulated.samples, emulated.agrees) == (3, True)
    # A pixel that is looked at takes 20 instructions at least.
    assert emulated.instructions > 20 * 12 * 12
    np.testing.assert_array_equal(asked[0], test.x[:3])
