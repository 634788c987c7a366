"""A camera at its model: images as the input stores them, and outputs as boxes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.seeing import ANCHORS, BOXES, CODED, COLOURS, GREY, frames_of
from tinyrt.dsp import Camera
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph, QParams, Value
from tinyrt.sighted import sighted

STEP, ZERO_POINT = 0.125, -9
Q = QParams((STEP,), ZERO_POINT)


def value(name, *shape, dtype=DType.INT8, q=Q):
    return Value(name, dtype, shape, q)


def model(*values, fed=1):
    named = {v.name: v for v in values}
    return Graph("net", (*named,)[:fed], (*named,)[fed:], named, ())


SCORES, CODES = value("scores", 1, 3, 4, 3), value("codes", 1, 3, 4, 4)
COUNT = len(ANCHORS)


def refused(vision, *values, **options):
    with pytest.raises(UnsupportedError) as caught:
        sighted(vision, model(*values, **options))
    return caught.value


@pytest.mark.parametrize(
    ("scale", "mean"),
    [(0.25, 120.0), ((0.25, 0.5, 0.125), (120.0, 99.0, 130.0)), (0.25, (120.0, 99.0, 130.0))],
)
@pytest.mark.parametrize("shape", [(1, 6, 8, 3), (1, 1, 6, 1, 8, 3)])
def test_bytes_are_stored_by_the_scale_and_mean_of_their_colour(scale, mean, shape):
    """Steps of the input are whole parts of those of bytes: nothing is rounded."""
    vision = replace(COLOURS, scale=scale, mean=mean)
    fit = sighted(vision, model(value("x", *shape), value("y", 1, 5)))
    for frame in frames_of(vision, 2):
        image = vision.camera.image(frame).astype(float)
        stored = np.array(scale) * (image - np.array(mean)) / STEP + ZERO_POINT
        assert fit.stored(frame).dtype == np.int8
        np.testing.assert_array_equal(fit.stored(frame), np.clip(stored, -128, 127).reshape(shape))
    assert (fit.camera, fit.scores, fit.encodings) == (vision.camera, "y", None)


@pytest.mark.parametrize("coded", [False, True])
def test_outputs_are_scores_and_encodings_of_anchors(coded):
    vision, rng = (CODED if coded else GREY), np.random.default_rng(4)
    outputs = (SCORES, CODES)[: 1 + coded]
    fit = sighted(vision, model(value("x", 1, 6, 8), *outputs))
    assert (fit.scores, fit.encodings) == ("scores", "codes" if coded else None)
    raw = {v.name: rng.integers(-128, 128, v.shape).astype(np.int8) for v in outputs}
    scores = np.array([raw["scores"][0, i // 4, i % 4] for i in range(COUNT)])
    codes = np.array([raw["codes"][0, i // 4, i % 4] for i in range(COUNT)]) if coded else None
    found, wanted = fit.found(raw), vision.boxes.find(scores, codes)
    assert len(found.boxes)
    for name in ("boxes", "classes", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        ((1, 6, 8), True),
        ((1, 6, 8, 1), True),
        ((6, 8), False),
        ((1, 8, 6), False),
        ((1, 6, 8, 3), False),
        ((1, 48), False),
        ((2, 6, 8), False),
    ],
)
def test_the_input_is_an_image_of_the_camera_s_size(shape, fits):
    x = value("x", *shape)
    if fits:
        assert sighted(GREY, model(x, SCORES)).input is x
        return
    error = refused(GREY, x, SCORES)
    assert error.problem == "the input is no image of the camera's size"
    assert (error.tensor, error.expected) == (x.describe(), "[1, 6, 8, 1]: rows, columns, channels")


@pytest.mark.parametrize("size", [(1, 6), (6, 1)])
def test_images_may_have_one_row_or_column(size):
    camera = Camera(12, 12, *size, "grey")
    fit = sighted(replace(GREY, camera=camera, boxes=None), model(value("x", 1, 6), value("y", 2)))
    assert fit.stored(np.zeros((12, 12), np.uint8)).shape == (1, 6)


@pytest.mark.parametrize("wrong", [{"dtype": DType.INT16}, {"q": None}])
def test_the_input_is_int8_with_a_scale(wrong):
    x = value("x", 1, 6, 8, **wrong)
    error = refused(GREY, x, SCORES)
    assert error.problem == "the input takes no bytes of an image"
    assert (error.tensor, error.expected) == (x.describe(), "int8 with a scale")


def test_a_model_has_one_input():
    problem = refused(GREY, value("x", 1, 6, 8), value("z", 1), SCORES, fed=2).problem
    assert problem == "the model has 2 inputs"


@pytest.mark.parametrize(
    "outputs",
    [
        (value("scores", 1, 3, 4, 4),),
        (value("scores", 1, 3, 3, 4),),
        (value("scores", 1, 2, 4, 3),),
        (replace(SCORES, dtype=DType.INT16),),
        (replace(SCORES, dtype=DType.UINT8),),
        (SCORES, value("codes", 1, 4, 4, 3)),
        (SCORES, value("codes", 1, 3, 3, 4)),
        (SCORES, replace(CODES, dtype=DType.FLOAT32)),
        (SCORES, replace(CODES, dtype=DType.UINT8)),
        (CODES, SCORES),
        (SCORES, CODES, value("more", 1)),
    ],
)
def test_other_outputs_are_no_boxes(outputs):
    error = refused(CODED, value("x", 1, 6, 8), *outputs)
    assert error.problem == f"the outputs are no scores of {COUNT} anchors and 3 classes"
    assert error.tensor == outputs[0].describe()
    assert error.expected.startswith(f"int8 [..., 3] of {3 * COUNT} scores")
    assert error.expected.endswith(f"int8 [..., 4] of {4 * COUNT} encodings")
    bare = replace(CODED, boxes=None)
    assert sighted(bare, model(value("x", 1, 6, 8), *outputs)).encodings is None


def test_one_class_has_one_score_of_each_anchor():
    vision = replace(GREY, boxes=replace(BOXES, classes=1, ignored=()))
    fit = sighted(vision, model(value("x", 1, 6, 8), value("s", 1, COUNT, 1)))
    found = fit.found({"s": np.full((1, COUNT, 1), 50, np.int8)})
    assert found.scores.tolist() == [50] * len(found.boxes)
