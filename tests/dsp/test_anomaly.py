"""Alarms of autoencoders: near the mean squared error, exact on devices, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.graphs import Builder
from tests.listening import float_net, saved
from tests.moving import FRONT, int8_net, moving
from tests.moving import PIPELINE as MOVING
from tinyrt import api
from tinyrt.attached import fitted
from tinyrt.dsp import Anomaly, AnomalyStream, Pipeline
from tinyrt.dsp.anomaly import numbers_of
from tinyrt.emulate.audio import Expected
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.interpreter import load
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

SCALES = tuple(0.001 + 0.0001 * i for i in range(FRONT.features))
PIPELINE = replace(
    MOVING, scale=SCALES, offset=0, detector=None, anomaly=Anomaly(12.0, consecutive=2)
)
SAMPLES = np.concatenate([moving("rest", 1, 200), moving("walk", 2, 300), moving("rest", 3, 200)])


def autoencoder(rows=1):
    rng, n = np.random.default_rng(5), rows * FRONT.features
    b = Builder((1, n))
    y = "x"
    for size, count in ((n, 6), (6, n)):
        weights = [
            b.constant((0.3 * rng.normal(size=s)).astype(np.float32))
            for s in ((count, size), (count,))
        ]
        y = b.op("fully_connected", (y, *weights), FullyConnectedAttrs())
    x = rng.uniform(-6, 8, (40, n)).astype(np.float32)
    return quantize_graph(b.graph(y), x, QuantConfig())


@pytest.fixture
def engine(tmp_path):
    return saved(tmp_path / "engine.tflite", autoencoder(), PIPELINE)


@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.1, 0.037), (0.02, 0.9), (1e-9, 1e3), (3, 3e-4)])
def test_errors_are_near_their_definition(scales):
    """Half of a 128th of the coarser scale, and half a unit of each multiplier."""
    rng = np.random.default_rng(1)
    numbers = numbers_of(Anomaly(1), 40, (scales[0], -7), (scales[1], 100))
    x, y = (rng.integers(-128, 128, (50, 40)).astype(np.int8) for _ in range(2))
    sums, _ = AnomalyStream(numbers).push(x, y)
    exact = scales[0] * (x.astype(float) + 7) - scales[1] * (y.astype(float) - 100)
    root, found = np.sqrt((exact**2).mean(1)), np.sqrt(sums * numbers.scale)
    most = max(scales) * (0.5 / 128 + 0.5 * (235 + 228) / 4096)
    assert (np.abs(found - root) <= most).all()
    assert numbers.limit == int(1 / numbers.scale)


def test_a_limit_fits_63_bits():
    assert numbers_of(Anomaly(1e12), 40, (1e-9, 0), (1e-9, 0)).limit == 2**62 - 1


def test_no_difference_leaves_its_range():
    numbers = numbers_of(Anomaly(1), 1, (0.5, -128), (0.5, 127))
    sums, _ = AnomalyStream(numbers).push(np.array([[127]], np.int8), np.array([[-128]], np.int8))
    assert sums.tolist() == [(2 * 255 * 4096 // 32) ** 2]
    assert sums[0] < 2**32


def test_an_alarm_needs_so_many_in_a_row():
    numbers = numbers_of(Anomaly(0.25 * 9, consecutive=3), 1, (0.5, 0), (0.5, 0))
    stream = AnomalyStream(numbers)
    far = np.array([[n] for n in (4, 4, 3, 4, 4, 4, 4, -4, 3, 4)], np.int8)
    _, alarms = stream.push(far, np.zeros_like(far))
    assert np.flatnonzero(alarms).tolist() == [5, 6, 7]
    _, alarms = stream.push(far[:2], np.zeros((2, 1), np.int8))
    assert alarms.tolist() == [False, True]
    stream.reset()
    assert not stream.push(far[:2], np.zeros((2, 1), np.int8))[1].any()


@pytest.mark.device
@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imc"])
def test_devices_sound_the_same_alarms(core, engine, tmp_path):
    """Of two thresholds, the second is one of the errors, which then is normal."""
    require_core(core)
    samples = np.concatenate([SAMPLES, moving("extremes", 1, 200)])
    assert api.emulate_recording(engine, samples, core=core).bit_exact
    heard = api.listen_model(engine, SAMPLES)
    middle = int(np.sort(heard.sums)[len(heard.sums) // 2])
    scale = fitted(PIPELINE, load(engine).graph).anomaly.scale
    pipeline = replace(PIPELINE, anomaly=Anomaly((middle + 0.5) * scale))
    assert fitted(pipeline, load(engine).graph).anomaly.limit == middle
    path = saved(tmp_path / "limit.tflite", autoencoder(), pipeline)
    assert not api.listen_model(path, SAMPLES).alarms[heard.sums == middle].any()
    assert api.emulate_recording(path, SAMPLES, core=core).bit_exact


def test_a_device_that_differs_is_noticed():
    sums, alarms = np.array([7, 2**40 + 5], np.uint64), np.array([False, True])
    found = np.array([[1, 0, 7, 0], [1, 1, 5, 256]], np.int32)
    expected = Expected({}, np.zeros(2), None, alarms, sums)
    assert expected.decided(found)
    for place in ((0, 1), (0, 2), (1, 3)):
        other = found.copy()
        other[place] += 1
        assert not expected.decided(other)


REFUSED = {
    "the option threshold is -1": {"anomaly": {"threshold": -1}},
    "the option threshold is None": {"anomaly": {}},
    "the option consecutive is 0": {"anomaly": {"threshold": 1, "consecutive": 0}},
    "the option name is 'limit'": {"anomaly": {"threshold": 1, "limit": 0}},
    "the option anomaly is 3": {"anomaly": 3},
    "the option detector is Detector": {"anomaly": {"threshold": 1}, "detector": {"classes": 2}},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Pipeline.from_dict(REFUSED[text])


def test_a_model_that_reconstructs_nothing_is_refused():
    for pipeline, graph in (
        (PIPELINE, int8_net()),
        (Pipeline(replace(Pipeline().log_mel, bands=9), anomaly=Anomaly(1)), float_net()),
    ):
        with pytest.raises(UnsupportedError, match="no reconstruction of the input") as caught:
            fitted(pipeline, graph)
        assert caught.value.hint
