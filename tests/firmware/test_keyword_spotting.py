"""The example that hears words, built as its README says: every answer is the host's."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.device import require_core
from tinyrt import api
from tinyrt.export import export_c

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "keyword_spotting"
CORES = ["cortex-m4", "cortex-m55"]
LABELS = ["silence", "another word", "yes", "no", "stop", "go"]

pytestmark = [pytest.mark.device, pytest.mark.slow]

LIMITS = {"cortex-m4": (665_000, 22_000), "cortex-m55": (182_000, 24_700)}
"""Core -> most instructions from one answer to the next, and bytes of flash of the whole model.

On a Cortex-M55, depthwise layers by planes are faster, and take 1 KB more code.
"""

MAX_RAM = 24 << 10
"""Bytes of arena, state, stack and the block of samples."""

M4_HZ = 80_000_000


@pytest.fixture
def example(tmp_path):
    """A copy of the folder, which builds nothing in the repository."""
    left_out = shutil.ignore_patterns("build", "exported")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "keyword_spotting", ignore=left_out))


def printed(text):
    """What the firmware prints of each answer: samples heard, scores, and the word or nothing."""
    lines = re.findall(r"^ *(\d+):((?: +-?\d+)+)(?:  ([a-z ]+))?$", text, re.MULTILINE)
    scores = [list(map(int, row.split())) for _, row, _ in lines]
    return [int(at) for at, _, _ in lines], scores, [word for _, _, word in lines]


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_every_answer_is_the_hosts(core, example):
    require_core(core)
    export_c(example / "keywords.tflite", example / "exported", core=core)
    done = subprocess.run(
        ["make", "-s", "run", f"CORE={core}"],
        cwd=example, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    heard = api.listen_model(example / "keywords.tflite", example / "words.wav")
    at, scores, words = printed(done.stdout)
    assert at == heard.samples.tolist()
    np.testing.assert_array_equal(scores, next(iter(heard.raw.values())))
    assert words == [LABELS[i] if i >= 0 else "" for i in heard.detected]
    assert [word for word in words if word] == ["yes", "stop", "go"]


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_budgets(core, example):
    require_core(core)
    model, sound = example / "keywords.tflite", example / "words.wav"
    found = api.emulate_recording(model, sound, core=core)
    assert found.bit_exact
    instructions, flash = LIMITS[core]
    assert found.instructions <= instructions
    assert found.flash.code + found.flash.weights <= flash
    ram = found.ram
    assert ram.arena + ram.state + ram.stack_bound + 2 * 320 <= MAX_RAM
    assert ram.static == 0
    heard = api.listen_model(model, sound)
    seconds = int(heard.samples[1] - heard.samples[0]) / heard.rate
    # Features and network, of a Cortex-M4 that needs about a cycle and a half for an instruction.
    assert found.instructions / seconds <= M4_HZ / 4 / 1.5


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_it_builds_with_cmake(core, example):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on this machine")
    require_core(core)
    export_c(example / "keywords.tflite", example / "exported", core=core)
    configure = ["cmake", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake", f"-DCORE={core}"]
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (example / "build" / "keyword_spotting.elf").stat().st_size > 20_000
