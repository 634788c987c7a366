"""What accuracy is measured on within a budget, and what answers to samples take of memory."""

import numpy as np
import pytest

from tests.graphs import small_cnn
from tests.listening import PIPELINE, saved
from tests.listening import int8_net as ears
from tests.quantize.test_mixed import samples
from tests.seeing import GREY, frames_of
from tests.seeing import int8_net as eyes
from tinyrt import api, budget
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.quantize.mixed import choose
from tinyrt.quantize.mixed.budget import Budget


@pytest.fixture
def judges(tmp_path, monkeypatch):
    """A model and its calibration files; what ``quantize_within`` is told to judge by is kept."""
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    np.save(tmp_path / "calib.npy", samples(8))
    np.savez(tmp_path / "calib.npz", x=samples(8), y=np.arange(8) % 5)
    seen = []

    def within(graph, batches, config, budget, judge, progress, crew):
        seen.append(judge)
        return graph, "report"

    monkeypatch.setattr(choose, "quantize_within", within)
    return seen


@pytest.mark.parametrize(
    ("calibration", "data", "samples_judged", "labelled"),
    [
        ("calib.npz", None, 8, True),
        ("calib.npy", None, None, False),
        ("calib.npy", "calib.npz", 8, True),
        ("calib.npz", {"x": samples(3)}, 3, False),
    ],
    ids=["a calibration file with labels", "samples alone", "another file", "arrays"],
)
def test_data_are_those_given_else_those_of_the_calibration_file(
    tmp_path, judges, calibration, data, samples_judged, labelled
):
    data = tmp_path / data if isinstance(data, str) else data
    report = api.quantize_within(
        tmp_path / "net.tflite", tmp_path / calibration, tmp_path / "q.tflite", Budget(), data=data
    )
    assert report == "report"
    (judge,) = judges
    if samples_judged is None:
        assert judge is None
    else:
        assert judge.of_float.samples == samples_judged
        assert (judge.of_float.top1 is not None) is labelled


@pytest.mark.parametrize("senses", ["ears", "eyes"])
def test_answers_are_paid_for_twice_while_they_are_put_together(senses, tmp_path, monkeypatch):
    asked, reserve = [], budget.Budget.reserve

    def noted(self, nbytes, what):
        asked.append((what, nbytes))
        reserve(self, nbytes, what)

    monkeypatch.setattr(budget.Budget, "reserve", noted)
    if senses == "ears":
        path = saved(tmp_path / "net.tflite", ears(), PIPELINE)
        raw = api.listen_model(path, np.zeros(16_000, np.int16)).raw
    else:
        path = saved(tmp_path / "net.tflite", eyes(), GREY)
        raw = api.look_model(path, frames_of(GREY, 3)).raw
    total = sum(array.nbytes for array in raw.values())
    assert ("all answers", 2 * total) in asked
    assert total
