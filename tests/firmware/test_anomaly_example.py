"""The example that sounds alarms, built as its README says: every answer is the host's."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.device import require_core
from tinyrt import api
from tinyrt.attached import fitted, front_end_of
from tinyrt.export import export_c
from tinyrt.interpreter import load
from tools.firmware_accuracy import told_right, trained_by

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "anomaly"
CORE = "cortex-m3"

pytestmark = [pytest.mark.device, pytest.mark.slow]

LIMITS = (20_000, 12_900)
"""Most instructions from one answer to the next, and bytes of flash of the whole model."""


@pytest.fixture
def example(tmp_path):
    """A copy of the folder, which builds nothing in the repository."""
    left_out = shutil.ignore_patterns("build", "exported")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "anomaly", ignore=left_out))


@pytest.fixture
def train():
    """The example's own training; its recording comes with aeon."""
    pytest.importorskip("aeon", reason="aeon is not installed")
    return trained_by(EXAMPLE / "pressure.tflite")


def answered(example):
    """What the firmware says of the folder's recording is what the host says; the words."""
    model = example / "pressure.tflite"
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
    return list(told.values())


@pytest.mark.whole
def test_every_answer_is_the_hosts(example):
    require_core(CORE)
    assert answered(example) == ["alarm", "all is well"]


@pytest.mark.whole
@pytest.mark.parametrize("core", [CORE])
def test_every_answer_to_all_that_is_unseen(core, example, train):
    require_core(core)
    np.save(example / "recording.npy", train.unseen()[0])
    assert answered(example) == ["alarm", "all is well"]


def test_the_folder_holds_what_was_measured(train):
    """A piece of the recording, with the anomaly in it, that nothing was chosen by."""
    shipped, (whole, is_marked) = np.load(EXAMPLE / "recording.npy"), train.unseen()
    np.testing.assert_array_equal(shipped, whole[1_800:3_848])
    assert is_marked.sum() == is_marked[1_800:3_848].sum() == 12
    assert not train.pressure()[1][: train.NORMAL].any()


def test_alarms_are_as_the_page_says(train):
    """Of all that is unseen: the one anomaly is found, and nothing else is."""
    text = " ".join((EXAMPLE / "README.md").read_text(encoding="utf-8").split())
    samples, is_marked = train.unseen()
    heard = api.listen_model(EXAMPLE / "pressure.tflite", samples)
    threshold = front_end_of(EXAMPLE / "pressure.tflite").anomaly.threshold
    above, is_bad = heard.errors > threshold, train.windows_with(is_marked)
    rising = np.flatnonzero(np.diff(heard.alarms.astype(int), prepend=0) == 1)
    assert len(rising) == 1
    late = int(heard.samples[rising[0]] - np.flatnonzero(is_marked)[0])
    assert f"{len(samples):,} samples" in text
    said = rf"{(~is_bad).sum()} of its {len(is_bad)} windows are normal: their errors go up to"
    assert re.search(rf"{said} {heard.errors[~is_bad].max():.2f}", text)
    assert (above & ~is_bad).sum() == 0
    assert f"threshold is {threshold:.2f}" in text
    assert f"{(above & is_bad).sum()} of the {is_bad.sum()} windows" in text
    assert f"one alarm, {late} samples after" in text
    right = (above == is_bad).mean()
    assert told_right(EXAMPLE / "pressure.tflite") == right


@pytest.mark.whole
def test_budgets(example):
    require_core(CORE)
    found = api.emulate_recording(example / "pressure.tflite", example / "recording.npy", core=CORE)
    assert found.bit_exact
    instructions, flash = LIMITS
    assert found.instructions <= instructions
    assert found.flash.code + found.flash.weights <= flash
    assert found.ram.arena + found.ram.state <= 1_000
    assert found.ram.stack_bound <= 700
    assert found.ram.static == 0


@pytest.mark.whole
@pytest.mark.parametrize("core", [CORE])
def test_it_builds_with_cmake(core, example):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on this machine")
    require_core(core)
    export_c(example / "pressure.tflite", example / "exported", core=core)
    configure = ["cmake", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake"]
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (example / "build" / "anomaly.elf").stat().st_size > 20_000
