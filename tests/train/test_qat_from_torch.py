"""PyTorch's networks on the way to the device, where PyTorch is installed (extra ``torch``)."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
pytest.importorskip("sklearn", reason="the digits come with scikit-learn")

from benchmarks.qat import PROBLEMS, Row, line_of, measured
from benchmarks.qat_nets import NETS, Sample, answers, trained
from tests.sampling import sampled

ROW = Row("digits", "plain", 1000, 990, 985, True, True, 12_345, 67_890)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["heads"], list(NETS)))
@pytest.mark.parametrize("data", sampled(["motion"], list(PROBLEMS)))
def test_the_device_tells_right_what_pytorch_does(data, name, tmp_path):
    epochs = sampled({"epochs": 2, "float_epochs": 20}, {"epochs": 6})
    row = measured(data, name, tmp_path, core="cortex-m4", **epochs)
    assert (row.agrees, row.bit_exact, row.holds) == (True, True, True)
    assert row.on_device > 0.8 * row.samples
    assert row.bytes == (tmp_path / f"{data}_{name}.tflite").stat().st_size


@pytest.mark.parametrize("name", NETS)
def test_every_network_takes_pictures_and_series(name):
    rng = np.random.default_rng(0)
    for sample in (Sample(1, 8, 8, 10), Sample(3, 1, 100, 4)):
        x = rng.normal(size=(32, sample.channels, sample.height, sample.width))
        x, y = x.astype(np.float32), rng.integers(0, sample.classes, 32)
        net = trained(name, sample, x, y, 1, lambda x, rng: x)
        found = answers(net, x)
        assert [part.shape[1:] for part in found] == [(sample.classes,), (1,)][: len(found)]
        assert len(found) == (2 if name == "heads" else 1)


def test_a_row_fails_where_anything_got_lost():
    assert ROW.holds
    assert line_of([ROW]) == "| convolutions with biases | 99.00, 98.50 | 12,345 |"
    for change in ({"on_device": 984}, {"agrees": False}, {"bit_exact": False}):
        lost = replace(ROW, **change)
        assert not lost.holds
        assert " FAILS | 12,345 |" in line_of([lost])
    wide = line_of([ROW, replace(ROW, bytes=99)])
    assert wide == "| convolutions with biases | 99.00, 98.50 | 99.00, 98.50 | 99 to 12,345 |"
