"""Front ends on windows and frames side by side: shapes, features, and scales that are learnt."""

import numpy as np
import pytest

from tests.dsp.sounds import mixed
from tests.dsp.test_camera import frames_of
from tests.moving import moving
from tinyrt.dsp import Camera, LogMel, LogMelStream, Motion, MotionStream, Pipeline, Vision
from tinyrt.dsp.windows import FRAMES_AT_ONCE, features_of, learnt, raw_of, shape_behind
from tinyrt.errors import DataError, ShapeError

CAMERA = Camera(10, 14, 4, 6, "rgb565", 3, (1, 2, 8, 12))
MOVING = Motion(axes=2, window=50, step=20, edges=(0, 3, 9, 40), peaks=1)
HEARD = LogMel(window=160, step=80, bands=9, lower_hz=100, upper_hz=7_000)


@pytest.mark.parametrize("front", [HEARD, LogMel(window=160, step=80, bands=12, coefficients=7)])
def test_windows_side_by_side_are_those_of_streams(front, monkeypatch):
    """In pieces, too, some of which have fewer windows, or frames of one window alone."""
    x = np.stack([mixed(seed, 900) for seed in range(11)])
    whole = features_of(front, x)
    for window, rows in zip(x, whole, strict=True):
        np.testing.assert_array_equal(rows, LogMelStream(front).push(window))
    assert 25 < front.frames(900) * 11 < FRAMES_AT_ONCE
    taken = []

    def noted(windows, *args, **options):
        taken.append(len(windows))
        return np.lib.stride_tricks.sliding_window_view(windows, *args, **options)

    monkeypatch.setattr("tinyrt.dsp.windows.sliding_window_view", noted)
    for at_once, sizes in ((25, [2] * 5 + [1]), (9, [1] * 11), (30, [3, 3, 3, 2])):
        monkeypatch.setattr("tinyrt.dsp.windows.FRAMES_AT_ONCE", at_once)
        taken.clear()
        np.testing.assert_array_equal(features_of(front, x), whole)
        assert taken == sizes


def test_windows_of_motion_and_frames_are_those_one_by_one():
    x = np.stack([moving(kind, 1, 133)[:, :2] for kind in ("walk", "noise", "rest")])
    found = features_of(MOVING, x)
    assert found.shape == (3, *shape_behind(MOVING, (133, 2))[1:]) == (3, 5, MOVING.features)
    for window, rows in zip(x, found, strict=True):
        np.testing.assert_array_equal(rows, MotionStream(MOVING).push(window))
    frames = frames_of(CAMERA, np.random.default_rng(1), 3)
    images = features_of(CAMERA, frames)
    assert images.shape == (3, *shape_behind(CAMERA, (10, 28))) == (3, 4, 6, 3)
    np.testing.assert_array_equal(images[2], CAMERA.image(frames[2]))


@pytest.mark.parametrize("front", [HEARD, MOVING, CAMERA])
def test_what_is_learnt_brings_rows_to_deviations(front):
    """A row of constants has no deviation: its scale stays one of a step."""
    is_seen = isinstance(front, Camera)
    size = front.channels if is_seen else front.features
    rng = np.random.default_rng(2)
    rows = rng.integers(5, 90, (7, 5, size)) * np.arange(size) + 3
    found = learnt(front, rows)
    if is_seen:
        assert found == Vision(front, 1 / rows.std(), rows.mean())
        assert learnt(front, np.full((2, 3, 3), 4)) == Vision(front, 1.0, 4.0)
        return
    flat = rows.reshape(-1, size)
    assert found.offset == tuple(np.rint(flat.mean(0)))
    np.testing.assert_allclose(found.scale, 1 / np.maximum(flat.std(0), 1))
    assert found.scale[0] == 1
    parts = {"log_mel": front} if front is HEARD else {"motion": front}
    assert found == Pipeline(scale=found.scale, offset=found.offset, **parts)


def test_windows_and_frames_of_other_sizes():
    assert shape_behind(HEARD, (160,)) == (1, 9, 1)
    with pytest.raises(ShapeError, match="windows have 159 samples") as caught:
        shape_behind(HEARD, (159,))
    assert caught.value.expected == "160 at least, which the front end makes a row of"
    for frame in ((10, 14), (28, 10), (9, 28), (10, 28, 1)):
        with pytest.raises(ShapeError, match="frames are") as caught:
            shape_behind(CAMERA, frame)
    assert caught.value.expected == "[10, 28]: lines, and bytes of 14 pixels of rgb565"


@pytest.mark.parametrize("value", [0.5, 32_768, -32_769, np.nan])
def test_samples_of_sensors_are_whole_numbers_of_16_bits(value):
    with pytest.raises(DataError, match=r"samples from .* are no integers of 16 bits") as caught:
        raw_of(np.float32([[1, value]]))
    assert caught.value.expected.startswith("whole numbers, -32768 to 32767: front ends take")
    assert raw_of(np.float32([32_767, -32_768])).tolist() == [32_767, -32_768]
