"""The example that tells movements, built as its README says: every answer is the host's."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.firmware.test_keyword_spotting import printed
from tinyrt import api
from tinyrt.export import export_c
from tools.firmware_accuracy import told_right, trained_by

EXAMPLE = Path(__file__).parents[2] / "firmware_examples" / "motion"
CORES = ["cortex-m0plus", "cortex-m33"]
LABELS = ["standing", "walking", "running", "badminton"]

pytestmark = [pytest.mark.device, pytest.mark.slow]

LIMITS = {"cortex-m0plus": (57_500, 13_200), "cortex-m33": (23_000, 9_900)}
"""Core -> most instructions from one answer to the next, and bytes of flash of the whole model."""

MAX_RAM = 8 << 10
"""Bytes of all variables of the image, and of the model's stack."""


@pytest.fixture
def example(tmp_path):
    """A copy of the folder, which builds nothing in the repository."""
    left_out = shutil.ignore_patterns("build", "exported")
    return Path(shutil.copytree(EXAMPLE, tmp_path / "motion", ignore=left_out))


def made(example, core, *more):
    return subprocess.run(
        ["make", "-s", "run", f"CORE={core}", *more],
        cwd=example, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


@pytest.fixture
def train():
    """The example's own training; its recordings come with aeon."""
    pytest.importorskip("aeon", reason="aeon is not installed")
    return trained_by(EXAMPLE / "movements.tflite")


def answered(example, core):
    """What the firmware says of the folder's recording is what the host says; the words."""
    export_c(example / "movements.tflite", example / "exported", core=core)
    done = made(example, core)
    assert done.returncode == 0, done.stdout + done.stderr
    heard = api.listen_model(example / "movements.tflite", example / "recording.npy")
    at, scores, words = printed(done.stdout)
    assert at == heard.samples.tolist()
    np.testing.assert_array_equal(scores, next(iter(heard.raw.values())))
    assert words == [LABELS[i] if i >= 0 else "" for i in heard.detected]
    return words


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_every_answer_is_the_hosts(core, example):
    require_core(core)
    told = [word for word in answered(example, core) if word]
    assert list(dict.fromkeys(told)) == ["walking", "running", "badminton"]
    size = subprocess.run(
        ["arm-none-eabi-size", example / "build" / "motion.elf"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    _, data, bss = map(int, size.stdout.splitlines()[1].split()[:3])
    assert data + bss + 700 <= MAX_RAM


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_every_answer_to_all_recordings_that_are_kept(core, example, train):
    require_core(core)
    whole = np.concatenate(train.series("TEST")[0])
    np.save(example / "recording.npy", whole)
    words = answered(example, core)
    assert len(words) == (len(whole) - 40) // 20 + 1 == 199
    assert {word for word in words if word} == set(LABELS[1:])


def test_the_folder_holds_what_people_did(train):
    """Byte for byte, and none of it is trained on."""
    shipped = np.load(EXAMPLE / "recording.npy")
    np.testing.assert_array_equal(shipped, train.recording())
    trained_on, _ = train.series("TRAIN")
    for piece in shipped.reshape(-1, 100, 3):
        assert not any((piece == x).all() for x in trained_on)


def test_people_are_told_right_as_the_page_says(train):
    """Of windows that lie in one recording; each of 40 has four."""
    said = re.search(r"Of (\d+) windows .* ([\d.]+) % are told right", page())
    _, classes = train.data("TEST")
    assert len(classes) == int(said[1])
    share = told_right(EXAMPLE / "movements.tflite")
    assert round(100 * share, 1) == float(said[2])


def page():
    return " ".join((EXAMPLE / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_budgets(core, example):
    require_core(core)
    found = api.emulate_recording(
        example / "movements.tflite", example / "recording.npy", core=core
    )
    assert found.bit_exact
    instructions, flash = LIMITS[core]
    assert found.instructions <= instructions
    assert found.flash.code + found.flash.weights <= flash
    assert found.ram.arena + found.ram.state <= 950
    assert found.ram.stack_bound <= 700
    assert found.ram.static == 0


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_a_sample_that_comes_too_early_is_noticed(core, example):
    """With 13 us between samples there is no time for an answer."""
    require_core(core)
    main = example / "main.c"
    text, count = re.subn(r"CLOCK_HZ / 10\b", "CLOCK_HZ / 80000", main.read_text())
    assert count == 1
    main.write_text(text)
    export_c(example / "movements.tflite", example / "exported", core=core)
    done = made(example, core)
    assert done.returncode != 0
    assert "a sample came too early" in done.stdout


@pytest.mark.whole
@pytest.mark.parametrize("core", CORES)
def test_it_builds_with_cmake(core, example):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on this machine")
    require_core(core)
    export_c(example / "movements.tflite", example / "exported", core=core)
    configure = ["cmake", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake", f"-DCORE={core}"]
    for command in (configure, ["cmake", "--build", "build"]):
        done = subprocess.run(command, cwd=example, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (example / "build" / "motion.elf").stat().st_size > 20_000


def test_main_is_short():
    assert len((EXAMPLE / "main.c").read_text().splitlines()) <= 120
