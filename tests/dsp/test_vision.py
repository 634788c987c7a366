"""Cameras with scales, means and boxes as a value, and what they make of each byte."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.seeing import COLOURS, GREY
from tinyrt.dsp import Camera, Pipeline, Vision
from tinyrt.dsp.vision import front_end_from_json
from tinyrt.errors import DataError

VISIONS = {
    "grey": (GREY, 1),
    "grey in a list": (replace(GREY, scale=(0.02,), mean=(120.5,)), 1),
    "colours": (COLOURS, 3),
    "means differ": (replace(COLOURS, scale=0.02), 3),
    "scales differ": (replace(COLOURS, mean=99.0), 3),
    "one of all": (replace(COLOURS, scale=0.02, mean=99.0), 1),
    "the same of each": (replace(COLOURS, scale=(0.02,) * 3, mean=(99.0,) * 3), 1),
}
"""What scales and means are of -> so many tables."""


@pytest.mark.parametrize("name", VISIONS)
def test_tables_hold_what_is_stored_for_each_byte(name):
    vision, count = VISIONS[name]
    channels = vision.camera.channels
    scales, means = (np.broadcast_to(n, channels)[:count] for n in (vision.scale, vision.mean))
    real = scales[:, None] * (np.arange(256) - means[:, None])
    found = vision.tables(0.0173, -11)
    assert (found.dtype, found.shape) == (np.int8, (count, 256))
    np.testing.assert_array_equal(found, (np.rint(real / 0.0173) - 11).clip(-128, 127))
    assert vision.is_each == (count > 1)
    image = np.arange(24 * channels, dtype=np.uint8).reshape(4, 6, channels)
    seen = vision.real(image)
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen, vision.scale * (image - np.array(vision.mean)), rtol=1e-6)


@pytest.mark.parametrize("name", VISIONS)
def test_as_plain_data_and_back(name):
    vision, _ = VISIONS[name]
    assert front_end_from_json(vision.to_json()) == vision
    assert json.loads(vision.to_json()) == vision.as_dict()
    assert front_end_from_json(Pipeline().to_json()) == Pipeline()


CAMERA = GREY.camera.as_dict()
WRONG = {
    "the option camera is 3": {"camera": 3},
    "the option height is 1": {"camera": CAMERA | {"height": 1}},
    "the option scale is 0": {"camera": CAMERA, "scale": 0},
    "the option scale is 1048577": {"camera": CAMERA | {"channels": 3}, "scale": [1, 1, 1048577]},
    "the option scale is (1, 2)": {"camera": CAMERA, "scale": [1, 2]},
    "the option mean is 1048577": {"camera": CAMERA, "mean": 1048577},
    "the option mean is 1048578": {"camera": CAMERA | {"channels": 3}, "mean": [1, 1, 1048578]},
    "the option mean is -1048577": {"camera": CAMERA, "mean": [-1048577]},
    "the option boxes is 3": {"camera": CAMERA, "boxes": 3},
    "the option version is 2": {"camera": CAMERA, "version": 2},
    "the option name is 'detector'": {"camera": CAMERA, "detector": None},
}


@pytest.mark.parametrize("text", WRONG)
def test_entries_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Vision.from_dict(WRONG[text])


def test_options_at_their_limits():
    for options in ({"scale": 2.0**-40, "mean": -(2.0**20)}, {"scale": 2.0**20, "mean": 2.0**20}):
        assert Vision(Camera(6, 8, 3, 4), **options).scales == (options["scale"],)
