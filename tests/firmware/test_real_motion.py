"""Recordings of people with a smart watch: features, network and answers of an emulated core.

They are aeon's BasicMotions: acceleration and rotation ten times a second, of people who stand,
walk, run and play badminton, 40 series to train with and 40 others to test.
"""

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt import api
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Motion, MotionStream
from tinyrt.train import Adam, Tensor, trace
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.front_end import FrontEndLayer
from tinyrt.train.nn import Flatten, Linear, Sequential
from tinyrt.train.recipes.series import aeon_file, read_ts

pytestmark = [pytest.mark.device, pytest.mark.slow]

FRONT = Motion(axes=6, sample_rate=10, window=50, step=25, edges=(0.1, 0.5, 1, 2, 5), peaks=1)
STEP = 1_000
"""Of a sensor for each unit: 32 of them are its range."""

CORES = ["cortex-m0", "cortex-m4", "cortex-m55", "rv32imc"]


@pytest.fixture(scope="module")
def watch():
    """Series int16 (n, 100, 6) and classes, to train with and to test."""
    pytest.importorskip("aeon", reason="aeon is not installed")
    parts = [read_ts(aeon_file("BasicMotions", f"BasicMotions_{p}.ts")) for p in ("TRAIN", "TEST")]
    names = sorted(set(parts[0][1]))
    return [
        (
            np.rint(STEP * np.stack(series)).clip(-32_768, 32_767).astype(np.int16),
            np.array([names.index(label) for label in labels]),
        )
        for series, labels in parts
    ]


@pytest.fixture(scope="module")
def model(watch, tmp_path_factory):
    """An int8 network behind features of motion, trained on the first 40 series."""
    folder, rng = tmp_path_factory.mktemp("watch"), np.random.default_rng(0)
    (x, y), _ = watch
    layer = FrontEndLayer.learnt(FRONT, x)
    shape = layer.shape(x.shape[1:])
    seen = layer(Tensor(x.astype(np.float32))).data
    body = Sequential(Flatten(), Linear(int(np.prod(shape)), 4, rng=rng))
    fit(body, Adam(body.parameters(), 1e-2), seen, y, FitConfig(epochs=30, batch=8), rng=rng)
    save_tflite(optimize(trace(body, shape, name="watch")), folder / "float.tflite")
    api.quantize_model(folder / "float.tflite", seen, folder / "bare.tflite")
    api.attach_front_end(folder / "bare.tflite", layer.pipeline, folder / "watch.tflite")
    return folder / "watch.tflite"


@pytest.mark.whole
def test_people_are_told_right(watch, model):
    """The figure of docs/motion.md, all of 40 series that the network has not seen, but for two."""
    _, (x, y) = watch
    found = [next(iter(api.listen_model(model, series).raw.values()))[-1].argmax() for series in x]
    assert (np.array(found) == y).sum() >= 38


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_a_core_answers_recordings_as_the_host_does(core, watch, model):
    require_core(core)
    _, (x, y) = watch
    chosen = x[:: sampled(4, 1)]
    found = api.emulate_recording(model, np.concatenate(chosen), core=core)
    assert found.bit_exact
    assert found.samples == (100 * len(chosen) - 100) // 75 + 1
    assert len(y) == 40


def test_features_move(watch):
    """Who stands moves less than who walks, in every recording."""
    (x, y), _ = watch
    deviation = np.array([MotionStream(FRONT).push(series)[:, 2].mean() for series in x])
    groups = [deviation[y == k] for k in range(4)]
    assert max(groups[2]) < min(np.median(g) for k, g in enumerate(groups) if k != 2)
