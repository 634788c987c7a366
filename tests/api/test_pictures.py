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


def test_a_picture_of_another_size_is_refused(tmp_path):
    eyes = saved(tmp_path / "eyes.tflite", int8_net(), GREY)
    picture(tmp_path / "p.png", 16, 22)
    with pytest.raises(DataError, match="the picture has 22 x 16 pixels") as caught:
        api.look_model(eyes, tmp_path / "p.png")
    assert caught.value.expected == "22 x 15, as the camera's frames have"
    assert caught.value.file == str(tmp_path / "p.png")
