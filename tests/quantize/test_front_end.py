"""Networks behind an audio front end, whose integers stay what they are."""

import numpy as np
import pytest

from tests.convert.front_end import front_end, keywords, sounds
from tests.convert.test_tflite_custom import answers, tflm_answers
from tinyrt import api
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.errors import UnsupportedError


@pytest.fixture(scope="module")
def quantised(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keywords")
    source, target = folder / "float.tflite", folder / "int8.tflite"
    source.write_bytes(keywords())
    api.quantize_model(source, {"x": sounds(64)[:, 0]}, target)
    return source, target


def test_the_layer_behind_a_front_end_is_quantised(quantised):
    source, target = quantised
    kinds = {n.op: n.output.dtype.short for n in read_tflite(target).bound()}
    assert kinds["fully_connected"] == "s8"
    assert kinds["signal_filter_bank_log"] == "s16"
    frames = sounds(40, seed=1)
    real, stored = (answers(path.read_bytes(), frames) for path in (source, target))
    q = read_tflite(target).output_values[0].q
    found = q.scale * (stored.astype(float) - q.zero_point)
    assert np.abs(found - real).max() < 0.03 * np.abs(real).max()


def test_its_answers_are_those_of_the_device(quantised):
    frames = sounds(40, seed=2)
    data = quantised[1].read_bytes()
    np.testing.assert_array_equal(answers(data, frames), tflm_answers(data, frames))


def test_every_layer_can_be_compared(quantised):
    report = api.debug_model(*quantised, {"x": sounds(16, seed=3)[:, 0]})
    assert [layer.op for layer in report.layers] == ["fully_connected"]
    assert report.sqnr_db > 25


def test_a_front_end_that_keeps_state_is_quantised_apart(tmp_path):
    path = tmp_path / "front_end.tflite"
    path.write_bytes(front_end())
    with pytest.raises(UnsupportedError, match="keeps state") as caught:
        api.quantize_model(path, {"x": sounds(8)[:, 0]}, tmp_path / "out.tflite")
    assert caught.value.hint.startswith("quantise the network behind the audio front end")
