"""Folders of WAV files: lengths, features, and files that are none."""

import wave

import numpy as np
import pytest

from tests.datasets.trees import classes_of
from tinyrt.datasets import load_sounds
from tinyrt.dsp import LogMel, LogMelStream
from tinyrt.errors import DataError

SOUND = np.array([0, 1, -1, 32767, -32768, 12345], np.int16)


def save(path, samples, *, rate=16_000, channels=1, width=2):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(samples if isinstance(samples, bytes) else samples.tobytes())


def test_sounds_are_fractions_of_full_scale(tmp_path):
    classes_of(tmp_path, save, SOUND, "wav")
    (tmp_path / "b" / "notes.txt").write_text("nice")
    data = load_sounds(tmp_path, seconds=len(SOUND) / 16_000)
    assert (data.x.shape, data.x.dtype, data.classes) == ((2, 6), np.float32, ("a", "b"))
    np.testing.assert_array_equal(data.x[1], SOUND / 32768)
    assert (data.y.tolist(), data.left_out) == ([0, 1], ("b/notes.txt",))


def test_long_ones_lose_their_ends_and_short_ones_stand_in_the_middle(tmp_path):
    save(tmp_path / "a.wav", SOUND)
    four = load_sounds(tmp_path, seconds=4 / 16_000).x[0] * 32768
    np.testing.assert_array_equal(four, SOUND[1:5])
    three = load_sounds(tmp_path, seconds=2.6 / 16_000).x[0] * 32768
    np.testing.assert_array_equal(three, SOUND[1:4])
    nine = load_sounds(tmp_path, seconds=9 / 16_000).x[0] * 32768
    np.testing.assert_array_equal(nine, [0, *SOUND, 0, 0])


def test_features_are_the_front_end_s(tmp_path):
    rng = np.random.default_rng(3)
    sounds = rng.integers(-9000, 9000, (2, 1600)).astype(np.int16)
    for i, sound in enumerate(sounds):
        save(tmp_path / f"{i}.wav", sound)
    front = LogMel()
    x = load_sounds(tmp_path, seconds=0.1, front_end=front).x
    assert x.shape == (2, front.frames(1600), 40)
    for features, sound in zip(x, sounds, strict=True):
        np.testing.assert_array_equal(features, LogMelStream(front).push(sound))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_text("not a sound at all"), "this is not a WAV file"),
        (lambda path: save(path, SOUND, rate=8000), "the sound has 8,000 samples a second"),
        (lambda path: save(path, SOUND, rate=44_100), "the sound has 44,100 samples a second"),
        (lambda path: save(path, SOUND, channels=2), "one channel"),
    ],
)
def test_a_sound_that_is_none_is_named(make, says, tmp_path):
    make(tmp_path / "a.wav")
    with pytest.raises(DataError) as caught:
        load_sounds(tmp_path)
    assert says in str(caught.value)
    assert str(tmp_path / "a.wav") in str(caught.value)
    assert "ffmpeg" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seconds": 0.00005}, "sounds of 5e-05 seconds at 16,000 Hz"),
        ({"rate": 0}, "sounds of 1 seconds at 0 Hz"),
        ({"rate": -1}, "sounds of 1 seconds at -1 Hz"),
        ({"seconds": float("nan")}, "sounds of nan seconds"),
        ({"seconds": 601}, "at most 600 seconds"),
        ({"front_end": LogMel(sample_rate=32_000)}, "the front end is for 32,000 Hz"),
        ({"seconds": 0.02, "front_end": LogMel()}, "sounds of 320 samples, and a front end with"),
    ],
)
def test_what_no_sample_can_have_is_refused(options, says, tmp_path):
    save(tmp_path / "a.wav", SOUND)
    with pytest.raises(DataError, match=says):
        load_sounds(tmp_path, **options)


def test_sounds_may_be_as_short_and_as_long_as_is_said(tmp_path):
    save(tmp_path / "a.wav", SOUND, rate=1)
    assert load_sounds(tmp_path, rate=1, seconds=1).x.shape == (1, 1)
    assert load_sounds(tmp_path, rate=1, seconds=600).x.shape == (1, 600)


def test_without_classes_there_are_no_labels(tmp_path):
    save(tmp_path / "a.wav", SOUND)
    assert load_sounds(tmp_path).y is None
