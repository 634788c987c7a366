"""Decisions by scores: by their definition, and in C on this machine and on emulated cores."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.c.host import ABORT
from tests.dsp.device import run_invoke
from tests.export.program import build_program
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import Detector, DetectorStream
from tinyrt.errors import DataError
from tinyrt.export import export_detector

DETECTORS = [
    Detector(3, window=4, threshold=30, hold=6, ignored=(1,)),
    Detector(1, window=1, threshold=-128, hold=0),
    Detector(12, window=7, threshold=10, hold=2, ignored=(0, 11, 0)),
    # With equal scores in a row.
    Detector(5, window=1, threshold=127, hold=0),
]


def scores_of(detector, rows, seed=0):
    """Words come up and go; extremes."""
    rng = np.random.default_rng(seed)
    word = np.repeat(rng.integers(0, detector.classes, rows // 9 + 1), 9)[:rows]
    likely = 150 * (np.arange(detector.classes) == word[:, None])
    noise = rng.integers(-120, 60, (rows, detector.classes))
    return (
        np.where(rng.random((rows, 1)) < 0.05, 127, likely + noise).clip(-128, 127).astype(np.int8)
    )


def by_definition(d, scores):
    """Means of each window in float, one row after the other."""
    found, silent = [], 0
    counted = [i for i in range(d.classes) if i not in d.ignored]
    for i in range(len(scores)):
        if silent:
            silent -= 1
            found.append(-1)
            continue
        means = scores[max(0, i + 1 - d.window) : i + 1].astype(float).mean(axis=0)
        best = max(counted, key=lambda c: (means[c], -c))
        there = i + 1 >= d.window and means[best] >= d.threshold
        found.append(best if there else -1)
        silent = d.hold if there else 0
    return found


@pytest.mark.parametrize("detector", DETECTORS)
def test_decisions_follow_their_definition(detector):
    scores = scores_of(detector, 600)
    stream = DetectorStream(detector)
    found = stream.push(scores)
    assert found.dtype == np.int32
    assert found.tolist() == by_definition(detector, scores)
    assert len(set(found.tolist())) > 1 or detector.classes == 1
    stream.reset()
    pieces = [stream.push(scores[at : at + 7]) for at in range(0, 600, 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), found)
    assert stream.push(scores[:0]).shape == (0,)


def test_a_word_is_detected_once_while_it_is_held():
    detector = Detector(2, window=3, threshold=50, hold=4, ignored=(0,))
    scores = np.full((12, 2), [127, -128], np.int8)
    scores[2:9, 1] = 100
    # Three rows of 100 are there at row 4; rows 5 to 8 are held, and from row 9 on the mean is low.
    assert DetectorStream(detector).push(scores).tolist() == [-1] * 4 + [1] + [-1] * 7
    # At row 3 the mean is 24.
    for threshold, first in ((24, 3), (25, 4)):
        found = DetectorStream(Detector(2, 3, threshold, 40, (0,))).push(scores).tolist()
        assert found.index(1) == first


def test_options_as_plain_data():
    for detector in DETECTORS:
        assert Detector.from_dict(json.loads(json.dumps(detector.as_dict()))) == detector
    assert Detector.from_dict({"classes": 4}) == Detector(4)


REFUSED = {
    "the option classes is 0": {"classes": 0},
    "the option classes is 4097": {"classes": 4097},
    "the option window is 0": {"classes": 2, "window": 0},
    "the option window is 4097": {"classes": 2, "window": 4097},
    "the option threshold is 128": {"classes": 2, "threshold": 128},
    "the option threshold is 0.5": {"classes": 2, "threshold": 0.5},
    "the option hold is -1": {"classes": 2, "hold": -1},
    "the option ignored is 2": {"classes": 2, "ignored": [2]},
    "the option ignored is 7": {"classes": 4, "ignored": [0, 7, 1]},
    "the option ignored is (0, 1)": {"classes": 2, "ignored": [0, 1]},
    "the option name is 'treshold'": {"classes": 2, "treshold": 3},
}


@pytest.mark.parametrize("text", REFUSED)
def test_options_that_do_not_fit_are_refused(text):
    with pytest.raises(DataError, match=re.escape(text)):
        Detector.from_dict(REFUSED[text])


def test_the_largest_options():
    stream = DetectorStream(Detector(4096, window=4096, hold=1 << 20))
    assert stream.push(np.full((1, 4096), 127, np.int8)).tolist() == [-1]


@pytest.mark.parametrize(
    "scores", [np.zeros((4, 3), np.uint8), np.zeros(3, np.int8), np.zeros((2, 4), np.int8)]
)
def test_scores_are_rows_of_int8(scores):
    with pytest.raises(DataError, match=r"scores are .* of the shape"):
        DetectorStream(DETECTORS[0]).push(scores)


@pytest.mark.slow
@pytest.mark.parametrize("detector", sampled(DETECTORS[::2], DETECTORS))
def test_c_decides_as_python_does(detector, tmp_path):
    project = export_detector(detector, tmp_path / "project", core="host")
    program = build_program(project, Path(__file__).parent / "decisions.c", tmp_path)
    scores = scores_of(detector, 1_000, seed=3)
    environment = os.environ | ABORT
    done = subprocess.run(
        [program], input=scores.tobytes(), capture_output=True, check=True, env=environment
    )
    found = np.frombuffer(done.stdout, np.int32)
    assert found[:6].tolist() == [5, 7, 5, 7, 4, 4]
    np.testing.assert_array_equal(found[6:], DetectorStream(detector).push(scores))


INVOKE = """
#include "detector.h"
#include "clip.h"

int clip_invoke(const clip_io_t *io, void *arena) {{
    (void)io;
    uint8_t *const bytes = arena;
    int32_t *const detected = (int32_t *)(void *)(bytes + CLIP_OUTPUT_0_OFFSET);
    int status = detector_reset(bytes + CLIP_STATE);
    for (int32_t i = 0; status == 0 && i < {rows}; ++i) {{
        const int8_t *const scores = (const int8_t *)arena + i * DETECTOR_CLASSES;
        status = detector_push(scores, detected + i, bytes + CLIP_STATE);
    }}
    return status;
}}
"""


MOST = {"cortex-m0": 340, "cortex-m4": 300, "cortex-m55": 300, "rv32imc": 275}
"""Core -> most instructions for a row of 12 classes."""


@pytest.mark.device
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*MOST]))
def test_a_core_decides_as_the_host_does(core, tmp_path):
    """A row of 12 classes in its budget; under all, a thousand of them."""
    require_core(core)
    detector, rows = DETECTORS[2], sampled(40, 100)
    project = export_detector(detector, tmp_path / "project", core=core)
    clips = np.stack([scores_of(detector, rows, seed) for seed in range(10)])
    state = -(-project.state_bytes // 8) * 8
    where = (project.directory, "detector", core, tmp_path)
    _, found = run_invoke(*where, INVOKE.format(rows=rows), clips, state, 4 * rows)
    decided = np.frombuffer(found.outputs, np.int32).reshape(10, rows)
    for clip, row in zip(clips, decided, strict=True):
        np.testing.assert_array_equal(row, DetectorStream(detector).push(clip))
    assert found.instructions <= MOST[core] * rows


def test_what_an_export_says(tmp_path):
    project = export_detector(DETECTORS[0], tmp_path / "a", name="word", prefix="acme")
    header = (project.directory / "acme_word.h").read_text()
    assert project.state_bytes == 3 * 4 + 3 * 4 + 12
    assert "#define ACME_WORD_STATE_BYTES 36\n" in header
    assert "#define ACME_WORD_CLASSES 3\n" in header
    assert f"acme_word_{project.identity}_push" in header
    assert "acme_word.c" in project.files
    assert project.detector == DETECTORS[0]
    assert export_detector(Detector(3, window=5), tmp_path / "b").state_bytes == 24 + 16
