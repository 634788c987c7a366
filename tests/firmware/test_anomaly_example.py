"""The example that sounds alarms, built as its README says: every answer is the host's."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt import api
from tinyrt.attached import fitted, front_end_of
from tinyrt.export import export_c
from tinyrt.interpreter import load

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "anomaly"
CORE = "cortex-m3"

pytestmark = [pytest.mark.device, pytest.mark.slow]

LIMITS = (70_500, 14_700)
"""Most instructions from one answer to the next, and bytes of flash of the whole model."""


@pytest.fixture
def example(tmp_path):
    """A copy of the folder, which builds nothing in the repository."""
    left_out = shutil.ignore_patterns("build", "exported")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "anomaly", ignore=left_out))


def test_every_answer_is_the_hosts(example):
    require_core(CORE)
    model = example / "machine.tflite"
    export_c(model, example / "exported", core=CORE)
    done = subprocess.run(
        ["make", "-s", "run"], cwd=example, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^ *(\d+): (\d+)\.(\d{3})(?:  ([a-z ]+))?$", done.stdout, re.MULTILINE)
    heard = api.listen_model(model, example / "recording.npy")
    assert [int(at) for at, *_ in lines] == heard.samples.tolist()
    scale = fitted(front_end_of(model), load(model).graph).anomaly.scale
    thousandths = [int(total * (scale * 1000)) for total in heard.sums.astype(float)]
    assert [1000 * int(whole) + int(part) for _, whole, part, _ in lines] == thousandths
    changes = np.flatnonzero(np.diff(heard.alarms.astype(int), prepend=0))
    told = {i: word for i, (*_, word) in enumerate(lines) if word}
    assert told == {i: "alarm" if heard.alarms[i] else "all is well" for i in changes}
    assert list(told.values()) == ["alarm", "all is well", "alarm"]


def test_alarms_are_those_of_the_faults(example):
    """Of each two seconds the second and the fourth have one; an alarm needs two answers."""
    heard = api.listen_model(example / "machine.tflite", example / "recording.npy")
    starts = (heard.samples - 512) / heard.rate
    is_faulty, is_whole = (starts // 2) % 2 == 1, starts % 2 <= 2 - 512 / heard.rate
    above = heard.errors > front_end_of(example / "machine.tflite").anomaly.threshold
    np.testing.assert_array_equal(above[is_whole], is_faulty[is_whole])


def test_budgets(example):
    require_core(CORE)
    found = api.emulate_recording(example / "machine.tflite", example / "recording.npy", core=CORE)
    assert found.bit_exact
    instructions, flash = LIMITS
    assert found.instructions <= instructions
    assert found.flash.code + found.flash.weights <= flash
    assert found.ram.arena + found.ram.state <= 3_400
    assert found.ram.stack_bound <= 700
    assert found.ram.static == 0


@pytest.mark.parametrize("core", sampled([], [CORE]))
def test_it_builds_with_cmake(core, example):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on this machine")
    require_core(core)
    export_c(example / "machine.tflite", example / "exported", core=core)
    configure = ["cmake", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake"]
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (example / "build" / "anomaly.elf").stat().st_size > 20_000
