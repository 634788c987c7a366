"""Projects of models that take samples of several axes, under sanitizers: the host's answers."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.export.program import build_program
from tests.export.test_audio import RESET, run
from tests.listening import saved
from tests.moving import CLASSES, FRONT, KINDS, PIPELINE, float_net, int8_net, moving
from tests.sampling import sampled
from tinyrt import api
from tinyrt.export import export_c

ANSWER = np.dtype([("samples", "<i4"), ("detected", "<i4"), ("scores", "i1", CLASSES)])


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("arm") / "arm.tflite", int8_net(), PIPELINE)


@pytest.mark.slow
@pytest.mark.parametrize("core", sampled(["host"], ["host", "cortex-m4"]))
def test_pieces_of_any_size_give_the_answers_of_the_host(core, arm, tmp_path):
    """``samples.c``; the code for cores with DSP instructions has twins in C."""
    project = export_c(arm, tmp_path / "project", core=core)
    program = build_program(project, Path(__file__).parent / "samples.c", tmp_path)
    rng, pieces, answers = np.random.default_rng(0), [], []
    for seed in range(sampled(36, 1_000)):
        samples = moving(KINDS[seed % len(KINDS)], seed, int(rng.integers(45, 200)))
        pieces += [RESET, *np.split(samples, np.sort(rng.integers(0, len(samples) + 1, 3)))]
        answers.append(api.listen_model(arm, samples))
    found = np.frombuffer(run(program, pieces), ANSWER)
    assert len(found) > sampled(80, 2_500)
    for name, kept in (("samples", "samples"), ("detected", "detected")):
        np.testing.assert_array_equal(
            found[name], np.concatenate([getattr(a, kept) for a in answers])
        )
    scores = np.concatenate([next(iter(a.raw.values())) for a in answers])
    np.testing.assert_array_equal(found["scores"], scores)
    assert len(np.unique(found["detected"])) > 2


def test_what_a_project_says(arm, tmp_path):
    project = export_c(arm, tmp_path / "c", core="cortex-m0")
    header = (tmp_path / "c" / "arm_samples.h").read_text()
    said = dict(re.findall(r"^#define ARM_(\w+) (\d+)$", header, re.MULTILINE))
    # The count of rows, samples, the row, the detector's, and work: two spectra of 64, and a row.
    decider = 4 * (3 + CLASSES) + 2 * CLASSES
    parts = [4, 4 + 2 * 3 * FRONT.window, FRONT.features, decider, 2 * 136 + 6 * FRONT.features]
    nbytes = sum(-(-part // 8) * 8 for part in parts)
    assert project.audio.state_bytes == nbytes == int(said["SAMPLES_STATE_BYTES"])
    assert (said["AXES"], said["SAMPLE_RATE"]) == ("3", "100")
    assert int(said["FIRST_SAMPLES"]) == FRONT.window
    assert int(said["STRIDE_SAMPLES"]) == FRONT.step
    assert {"arm_samples.c", "arm_samples.h"} <= {*project.files}
    assert {"tinyrt_motion", "tinyrt_rescale_s32_s8", "tinyrt_detector_s8"} <= {*project.kernels}
    source = (tmp_path / "c" / "arm_samples.c").read_text()
    counts = re.findall(r"static const int16_t \w+\[(\d+)\]", source)
    assert project.audio.table_bytes == 2 * sum(map(int, counts))
    assert f"arm_{project.identity}_push_samples" in header
    assert "arm_samples.o" in (tmp_path / "c" / "Makefile").read_text()
    assert "arm_samples.c" in (tmp_path / "c" / "CMakeLists.txt").read_text()


def test_each_feature_has_its_own_scale_at_an_input_of_floats(tmp_path):
    pipeline = replace(PIPELINE, detector=None)
    path = saved(tmp_path / "arm.tflite", float_net(), pipeline)
    project = export_c(path, tmp_path / "c", core="host")
    source = (tmp_path / "c" / "arm_samples.c").read_text()
    ((count, numbers),) = re.findall(r"static const float scales\[(\d+)\] = \{([^}]*)\}", source)
    values = [float(number) for number in re.findall(r"[\d.e+-]+(?=[fF]?\b)", numbers)]
    np.testing.assert_array_equal(np.float32(values), np.float32(pipeline.scale))
    assert int(count) == FRONT.features
    assert "row[i] = scales[i] * (float)((int32_t)features[i] - offsets[i]);" in source
    assert "rescale" not in source
    assert not [kernel for kernel in project.kernels if "rescale" in kernel]
