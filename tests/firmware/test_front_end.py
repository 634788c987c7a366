"""Log-mel front ends on emulated cores: the host's features, in their budgets."""

from functools import partial

import numpy as np
import pytest

from tests.docs.pages import rows_of
from tests.dsp.device import run_on_core
from tests.dsp.sounds import mixed, recordings
from tests.firmware.compilers import OTHER, by_clang, with_options
from tests.sampling import sampled
from tinyrt.dsp import LogMel, LogMelStream

pytestmark = pytest.mark.device

LIMITS = {
    "cortex-m0": (165_000, 10_200, 520),
    "cortex-m4": (41_400, 9_300, 480),
    "cortex-m55": (13_300, 10_900, 480),
    "rv32imc": (84_500, 9_900, 520),
}
"""Core -> most instructions of a frame of 480 samples, 160 of them new, 40 bands, a transform of
512; bytes of code and constants; bytes of stack, the test's own included."""

MAX_RAM = 3_200
"""Bytes of state and memory for work."""


def test_limits_are_near_the_pages_figures():
    rows = rows_of("dsp.md", "core | instructions | code and constants")
    assert [core for core, *_ in rows] == list(LIMITS)
    for core, instructions, code, ram, stack in rows:
        most, most_code, most_stack = LIMITS[core]
        assert 0.95 * most <= number(instructions) <= most
        assert 0.98 * most_code <= 1000 * float(code.removesuffix(" KB")) <= most_code
        assert 0.9 * most_stack - 50 <= number(stack) <= most_stack
        assert MAX_RAM - 10 <= number(ram) <= MAX_RAM


def number(cell):
    return int(cell.replace(",", ""))


def equal_the_host(front, clips, found):
    for clip, features in zip(clips, found.features, strict=True):
        np.testing.assert_array_equal(features, LogMelStream(front).push(clip))


@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*LIMITS]))
def test_features_and_budgets(core, tmp_path):
    front = LogMel()
    clips = [np.stack([mixed(s, n) for s in range(sampled(6, 500))]) for n in (640, 480)]
    runs = []
    for i, part in enumerate(clips):
        (tmp_path / str(i)).mkdir()
        runs.append(run_on_core(front, part, core, tmp_path / str(i), piece=100 * (i + 1)))
        equal_the_host(front, part, runs[-1])
    instructions, code, stack = LIMITS[core]
    assert runs[0].instructions - runs[1].instructions <= instructions
    assert runs[0].code_bytes <= code
    assert runs[0].stack_bytes <= stack
    assert runs[0].project.state_bytes + runs[0].project.work_bytes <= MAX_RAM


CEPSTRA = {"cortex-m0": 173_000, "cortex-m4": 43_500, "cortex-m55": 14_700, "rv32imc": 89_000}
"""Core -> most instructions of a frame of 480 samples, all of them new, and 13 coefficients."""


@pytest.mark.whole
@pytest.mark.parametrize("core", [*CEPSTRA])
def test_cepstra_and_their_budget(core, tmp_path):
    clips = np.stack([mixed(s, 480) for s in range(sampled(7, 1_000))])
    found = run_on_core(LogMel(coefficients=13), clips, core, tmp_path)
    equal_the_host(LogMel(coefficients=13), clips, found)
    assert found.instructions <= CEPSTRA[core]
    assert found.code_bytes <= LIMITS[core][1] + 1_250
    assert found.project.state_bytes + found.project.work_bytes <= MAX_RAM + 80


@pytest.mark.whole
@pytest.mark.parametrize("fft", sampled([1200], [64, 720, 1024, 1200]))
@pytest.mark.parametrize("core", sampled(["cortex-m55"], ["cortex-m0", "cortex-m4", "cortex-m55"]))
def test_other_transforms(core, fft, tmp_path):
    """Innermost stages of 2 and of 5 parts; outer ones that are no multiple of a vector long."""
    front = LogMel(window=fft - 7, step=fft // 2, fft=fft, bands=9, lower_hz=20, log_shift=9)
    clips = np.stack([mixed(s, 2 * fft) for s in range(sampled(2, 7))])
    equal_the_host(front, clips, run_on_core(front, clips, core, tmp_path))


OTHERS = {
    ("cortex-m4", "clang"): (by_clang, 1.15),
    ("cortex-m4", "others"): (partial(with_options, options=f"-O2 {OTHER}"), 1.3),
    ("cortex-m55", "others"): (partial(with_options, options=f"-O2 {OTHER}"), 1.25),
}
"""Core and compiler -> how it builds a project, and most instructions to those of GCC's code."""


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.parametrize(("core", "compiler"), OTHERS)
def test_other_compilers_make_the_same_features(core, compiler, tmp_path):
    prepare, most = OTHERS[core, compiler]
    clips = np.stack([mixed(s, 480) for s in range(14)])
    found = run_on_core(LogMel(), clips, core, tmp_path, prepare=prepare)
    equal_the_host(LogMel(), clips, found)
    assert found.instructions <= most * LIMITS[core][0]


@pytest.mark.whole
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*LIMITS]))
def test_recordings(core, tmp_path):
    sounds = [x[:3_200] for x in recordings()]
    if not sounds:
        pytest.skip("Python's own tests are not installed")
    equal_the_host(LogMel(), sounds, run_on_core(LogMel(), np.stack(sounds), core, tmp_path))
