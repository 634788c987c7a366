"""Exported front ends on this machine, under sanitizers: the features of their reference."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.dsp.device import MISUSE, RESET, build_program, dtype_of, features_of, run_program
from tests.dsp.sounds import mixed, recordings, sound
from tests.sampling import sampled
from tinyrt.dsp import LogMel, LogMelStream, NoiseReduction
from tinyrt.errors import UnsupportedError
from tinyrt.export import export_front_end
from tinyrt.export.front_end import half_bytes_of

pytestmark = pytest.mark.slow

FRONTS = {
    "default": LogMel(),
    "radices": LogMel(window=700, step=90, fft=720, bands=17),
    "odd": LogMel(
        window=401, step=401, fft=500, bands=80, lower_hz=0, noise_reduction=None, pcan=None
    ),
    "many bands": LogMel(window=100, step=50, fft=120, bands=60),
    "without log": LogMel(window=1000, fft=1024, log_shift=None, pcan=None),
    "cepstra": LogMel(window=300, step=100, bands=23, coefficients=13),
    "all cepstra": LogMel(window=64, step=32, bands=2, log_shift=10, coefficients=2),
    "loud": LogMel(window=64, step=1, bands=3, noise_reduction=NoiseReduction(0.5, 1, 0, 6)),
}


def expected(front, pieces):
    stream, rows = LogMelStream(front), []
    for piece in pieces:
        if isinstance(piece, int):
            stream.reset()
        else:
            rows += [*stream.push(piece)]
    return np.array(rows, dtype_of(front)).reshape(-1, front.features)


MADE_FOR = [("cortex-m4", name) for name in sampled([*FRONTS][1::2], FRONTS)]
MADE_FOR += [pytest.param("cortex-m55", name, marks=pytest.mark.whole) for name in FRONTS]


@pytest.mark.parametrize(("core", "name"), MADE_FOR)
def test_features_are_the_references(core, name, tmp_path):
    """The code for cores with instructions that have twins in C."""
    front, rng = FRONTS[name], np.random.default_rng(1)
    program = build_program(front, tmp_path, core=core)
    pieces = []
    for seed in range(sampled(8, 1_000)):
        samples = mixed(seed, 1 + int(rng.integers(2 * front.window)))
        cuts = np.sort(rng.integers(0, len(samples) + 1, 3))
        pieces += [*np.split(samples, cuts), *[RESET] * (seed % 3 == 0)]
    np.testing.assert_array_equal(features_of(program, front, pieces), expected(front, pieces))


@pytest.fixture(scope="module")
def portable(tmp_path_factory):
    """The default front end in portable code."""
    return build_program(LogMel(), tmp_path_factory.mktemp("portable"))


def test_many_sounds_and_recordings(portable):
    pieces = []
    for samples in (sound("words", 2, 30_000), *recordings()):
        pieces += [samples, RESET]
    sounds = sampled(30, 1_000)
    for seed in range(sounds):
        pieces += [mixed(seed, 640), RESET]
    found = features_of(portable, LogMel(), pieces)
    assert len(found) > 2 * sounds
    np.testing.assert_array_equal(found, expected(LogMel(), pieces))


def test_misuse_is_answered(portable):
    statuses = np.frombuffer(run_program(portable, [MISUSE]), np.int32)
    assert statuses.tolist() == [5, 7, 5, 7, 1, 2, 4, 4, 4, 4, 4]


def test_memory_for_work_holds_a_spectrum_or_three_rows_of_bands():
    """Whichever is larger, in each half."""
    assert half_bytes_of(LogMel(window=512, bands=32)) == 4 * 257 + 4
    assert half_bytes_of(LogMel(window=120, step=50, bands=64, lower_hz=100, upper_hz=7_000)) == 768


def test_what_an_export_says(tmp_path):
    front = LogMel(window=512, bands=32)
    project = export_front_end(front, tmp_path / "a", name="ears", prefix="acme", core="host")
    header = (project.directory / "acme_ears.h").read_text()
    figures = dict(re.findall(r"#define ACME_EARS_(\w+) (\d+)$", header, re.MULTILINE))
    assert (project.state_bytes, project.work_bytes) == (1_160, 2_064)
    assert figures == {
        **{"STATE_BYTES": "1160", "WORK_BYTES": "2064", "ALIGNMENT": "8", "WINDOW": "512"},
        **{"STEP": "160", "SAMPLE_RATE": "16000", "BANDS": "32", "FEATURES": "32"},
    }
    assert f"acme_ears_{project.identity}_push_audio" in header
    assert "acme_ears.c" in project.files
    assert project.table_bytes > 3_000
    assert project.core.name == "host"
    assert project.front == front
    without = export_front_end(replace(front, pcan=None), tmp_path / "b", core="host")
    assert without.table_bytes == project.table_bytes - 250


def test_a_core_that_is_not_there(tmp_path):
    with pytest.raises(UnsupportedError, match="cortex-m1"):
        export_front_end(LogMel(), tmp_path / "a", core="cortex-m1")
    assert not (tmp_path / "a").exists()
