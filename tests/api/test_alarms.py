"""Recordings of motion, and what an autoencoder's alarms say of them."""

from dataclasses import replace

import numpy as np

from tests.dsp.test_anomaly import PIPELINE, SAMPLES, autoencoder
from tests.listening import PIPELINE as OF_SOUND
from tests.listening import int8_net, saved
from tests.moving import moving
from tests.sampling import sampled
from tinyrt import api
from tinyrt.api.costs import _noise
from tinyrt.api.listening import sound_of
from tinyrt.attached import fitted
from tinyrt.interpreter import load


def test_what_the_host_answers(tmp_path):
    engine = saved(tmp_path / "engine.tflite", autoencoder(), PIPELINE)
    heard = api.listen_model(engine, SAMPLES)
    fit, model = fitted(PIPELINE, load(engine).graph), load(engine)
    rows = fit.stored(PIPELINE.stream().push(SAMPLES))
    (raw,) = heard.raw.values()
    x, y = model.graph.input_values[0].q, model.graph.output_values[0].q
    real = x.scale * (rows.astype(float) - x.zero_point) - y.scale * (
        raw.astype(float) - y.zero_point
    )
    np.testing.assert_allclose(heard.errors, (real**2).mean(1), rtol=0.02)
    above = heard.errors > 12
    np.testing.assert_array_equal(heard.alarms, above & np.concatenate([[False], above[:-1]]))
    assert 3 < heard.alarms.sum() < len(above) - 3
    assert heard.detected is None


def test_windows_of_several_rows(tmp_path, monkeypatch):
    pipeline = replace(PIPELINE, stride=1)
    path = saved(tmp_path / "e.tflite", autoencoder(2), pipeline)
    whole = api.listen_model(path, SAMPLES)
    assert whole.alarms.any()
    for at_once in (1, 5):  # a row of answers above the threshold goes on in the next piece
        monkeypatch.setattr(api.listening, "WINDOWS_AT_ONCE", at_once)
        pieces = api.listen_model(path, SAMPLES)
        for name in ("sums", "alarms", "errors", "samples"):
            np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    for core in sampled([], ["host"]):
        assert api.emulate_recording(path, SAMPLES, core=core).bit_exact
    assert api.listen_model(path, SAMPLES[:10]).errors.shape == (0,)


def test_a_file_of_motion_is_at_the_rate_of_the_front_end(tmp_path):
    np.savetxt(tmp_path / "a.csv", x := moving("walk", 3, 70), fmt="%d", delimiter=",")
    np.save(tmp_path / "a.npy", x)
    for name in ("a.csv", "a.npy"):
        series = sound_of(tmp_path / name, PIPELINE)
        np.testing.assert_array_equal(series.samples, x)
        assert series.rate == PIPELINE.motion.sample_rate


def test_noise_for_an_answer_is_as_long_as_its_rows():
    """Four rows of sound, and two of motion, one step after the other."""
    front, motion = OF_SOUND.front, PIPELINE.front
    sound = _noise(OF_SOUND, int8_net())
    assert (sound.dtype, sound.shape) == (np.int16, (front.window + 3 * front.step,))
    moved = _noise(replace(PIPELINE, stride=1), autoencoder(2))
    assert moved.shape == (motion.window + motion.step, motion.axes)
