"""Log-mel features are TFLM's microfrontend's, byte for byte."""

import json
import platform

import numpy as np
import pytest

from tests.dsp.sounds import mixed, recordings, sound
from tests.dsp.vectors import FILE, digest, front_of, samples_of
from tests.sampling import sampled
from tinyrt.dsp import LogMel, LogMelStream

STEP = 160
"""Samples that pymicro-features takes at once."""

SCALE = 25.6
"""It divides features by this."""

VECTORS = json.loads(FILE.read_text())

KEPT, LIBC = platform.libc_ver()
OTHERWISE = 0.02 if KEPT == "glibc" and tuple(map(int, LIBC.split("."))) >= (2, 41) else 0
"""Share of features that may differ, by a filter's weight: its code takes ``log1pf`` from the C
library, and glibc rounds it otherwise from 2.41 on. docs/dsp.md says whose rounding is taken here.
"""


class Tflm:
    """TFLM's code behind Python, with its only options: those of ``LogMel()``."""

    def __init__(self):
        package = pytest.importorskip("pymicro_features", reason="pymicro-features not installed")
        self.front = package.MicroFrontend()

    def push(self, samples):
        rows = []
        for at in range(0, len(samples) - STEP + 1, STEP):
            features = self.front.process_samples(samples[at : at + STEP].tobytes()).features
            rows += [np.rint(SCALE * np.array(features)).astype(np.uint16)] if features else []
        return np.array(rows, np.uint16).reshape(-1, 40)


def check_equal(features, right, message=""):
    """All features are its own; few differ where the C library rounds otherwise."""
    assert features.shape == right.shape, message
    if not OTHERWISE:
        np.testing.assert_array_equal(features, right, err_msg=message)
    assert np.mean(features != right) <= OTHERWISE, message


def test_the_default_is_the_microfrontends():
    assert LogMel().is_microfrontend
    assert not LogMel(noise_reduction=None, pcan=None).is_microfrontend
    assert not LogMel(fft=960).is_microfrontend
    assert not LogMel(window=30, step=10).is_microfrontend


@pytest.mark.parametrize("seed", [s for s in VECTORS if s.isdigit()])
def test_all_options_have_its_features(seed):
    front = front_of(int(seed))
    features = LogMelStream(front).push(samples_of(front, int(seed)))
    assert features.shape == (7, front.bands)
    assert digest(features) == VECTORS[seed]


@pytest.mark.parametrize("name", [s for s in VECTORS if not s.isdigit()])
def test_all_kinds_of_sounds_have_its_features(name):
    features = LogMelStream(LogMel()).push(samples_of(LogMel(), int(name.split()[1])))
    assert digest(features) == VECTORS[name]


def test_many_sounds_equal_its_code():
    stream = LogMelStream(LogMel())
    for seed in range(sampled(120, 10_000)):
        samples = mixed(seed, 5 * STEP)
        check_equal(stream.push(samples), Tflm().push(samples), str(seed))
        stream.reset()


def test_long_sounds_and_recordings_equal_its_code():
    for samples in (sound("words", 1, 32_000), *recordings()):
        whole = samples[: len(samples) // STEP * STEP]
        check_equal(LogMelStream(LogMel()).push(whole), Tflm().push(whole))


def test_a_reset_is_its_reset():
    stream, tflm = LogMelStream(LogMel()), Tflm()
    for seed in (0, 6):
        samples = mixed(seed, 20 * STEP)
        check_equal(stream.push(samples), tflm.push(samples))
        stream.reset()
        tflm.front.reset()
