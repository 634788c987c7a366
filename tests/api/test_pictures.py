"""Pictures for models that carry a camera: what the sensor would send of them."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.cli.calls import call_json
from tests.listening import saved
from tests.seeing import COLOURS, GREY, int8_net
from tinyrt import api
from tinyrt.dsp.pixels import FORMATS
from tinyrt.errors import DataError


def picture(path, height, width):
    """A picture of smooth colours, and its pixels."""
    rng = np.random.default_rng(height)
    small = rng.integers(0, 256, (3, 4, 3)).astype(np.uint8)
    image = Image.fromarray(small).resize((width, height), Image.Resampling.BILINEAR)
    image.save(path)
    return np.asarray(image, np.uint8)


@pytest.mark.parametrize("pixels", FORMATS)
def test_a_picture_becomes_what_the_sensor_would_send(pixels, tmp_path):
    """Its colours come back as near as the format has them, of pairs where they are smooth."""
    camera = replace(COLOURS.camera, height=30, width=44, pixels=pixels, resize="area")
    path = saved(tmp_path / "c.tflite", int8_net(3), replace(COLOURS, camera=camera))
    rgb = picture(tmp_path / "p.png", 30, 44)
    frame = camera.frame_of(rgb)
    assert frame.shape == (30, camera.line_bytes)
    back = camera.decoded(frame).astype(int)
    if pixels == "grey":
        assert np.abs(back - (rgb @ [0.299, 0.587, 0.114])[..., None]).max() <= 0.51
    else:
        most = {"rgb888": 0, "bgr888": 0, "rgb565": 4, "rgb565_swapped": 4}.get(pixels, 12)
        assert np.abs(back - rgb).max() <= most
    seen, same = api.look_model(path, tmp_path / "p.png"), api.look_model(path, frame)
    for name, raw in seen.raw.items():
        np.testing.assert_array_equal(raw, same.raw[name])
    found = call_json("run", path, tmp_path / "p.png")
    assert found["best"] == [int(next(iter(seen.raw.values())).argmax())]


def test_colours_that_all_formats_have():
    """Extremes stay as they are, in the places of their format."""
    black_white = np.zeros((2, 2, 3), np.uint8)
    black_white[:, 1] = 255
    for pixels in FORMATS:
        camera = replace(COLOURS.camera, height=2, width=2, rows=2, columns=2, pixels=pixels)
        frame = camera.frame_of(black_white)
        assert camera.decoded(frame)[:, :, 0].tolist() == [[0, 255]] * 2
    red = np.full((2, 2, 3), (255, 0, 0), np.uint8)
    words = {"rgb565": [0, 0xF8] * 2, "rgb565_swapped": [0xF8, 0] * 2, "bgr888": [0, 0, 255] * 2}
    for pixels, line in words.items():
        camera = replace(COLOURS.camera, height=2, width=2, rows=2, columns=2, pixels=pixels)
        assert camera.frame_of(red)[0].tolist() == line
    camera = replace(COLOURS.camera, height=2, width=2, rows=2, columns=2, pixels="yuyv")
    assert camera.frame_of(red)[0].tolist() == [76, 85, 76, 255]


def test_a_picture_of_another_size_is_refused(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", int8_net(), GREY)
    picture(tmp_path / "p.png", 16, 22)
    with pytest.raises(DataError, match="the picture has 22 x 16 pixels") as caught:
        api.look_model(eyes, tmp_path / "p.png")
    assert caught.value.expected == "22 x 15, as the camera's frames have"
    assert caught.value.file == str(tmp_path / "p.png")
