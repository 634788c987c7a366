"""The example firmwares, built and run as their READMEs say: every answer is the host's."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt import api
from tinyrt.interpreter import load
from tools import firmware as tool

pytestmark = [pytest.mark.device, pytest.mark.slow]

EXAMPLES = {example.name: example for example in tool.EXAMPLES}
ALL = [(example, core) for example in tool.EXAMPLES for core in example.cores]
MAX_LINES = 120

LIMITS = {
    ("hello_digits", "cortex-m4"): (29_000, 2_600, 330, 170_000),
    ("keyword_spotting", "cortex-m4"): (34_500, 8_300, 540, 665_000),
    ("keyword_spotting", "cortex-m55"): (36_500, 12_000, 780, 171_000),
    ("two_models", "cortex-m7"): (44_500, 5_400, 430, 655_000),
    # Code and blob have room for both ends of layers behind a ReLU.
    ("update", "cortex-m33"): (31_500, 17_100, 470, 170_000),
    ("rtos", "cortex-m4"): (50_500, 16_700, 545, 835_000),
    ("risc_v", "rv32imc"): (34_300, 2_300, 330, 410_000),
    ("motion", "cortex-m0plus"): (28_000, 1_400, 620, 57_500),
    ("motion", "cortex-m33"): (24_500, 1_300, 560, 23_000),
    ("anomaly", "cortex-m3"): (30_000, 1_450, 580, 20_000),
    ("camera", "cortex-m7"): (154_000, 6_800, 490, 1_890_000),
}
"""Example and core -> most bytes of flash, RAM and stack, and instructions: those of the table."""

STACK_LEFT = 1_024
"""Bytes that each task of the rtos example has at least, of 2,560."""


@pytest.fixture(autouse=True)
def _kernel(monkeypatch):
    """The copy of FreeRTOS that the user names, or the one beside the models."""
    beside = Path(os.environ.get("TINYRT_ZOO", "")) / "third_party" / "FreeRTOS-Kernel"
    if tool.FREERTOS not in os.environ and beside.is_dir():
        monkeypatch.setenv(tool.FREERTOS, str(beside.resolve()))


def built(name, folder, *variables):
    """The only core of an example."""
    example = EXAMPLES[name]
    (core,) = example.cores
    require_core(core)
    if example.needs and not example.needed:
        pytest.skip(f"{example.needs} names no folder")
    return tool.built(example, core, folder, *variables)


def images():
    """The ten images that the examples hold, as the model's real input."""
    text = (EXAMPLES["hello_digits"].folder / "images.h").read_text()
    pixels = re.findall(r"\d+", text[text.index("= {") :])
    return (np.array(pixels, np.float32) / 16).reshape(10, 8, 8, 1)


def scores_of(path, x):
    """What the host answers, as it is stored."""
    model = load(path)
    (answers,) = model.run_raw(model.stored_inputs(x)).values()
    return answers.reshape(len(x), -1).tolist()


def rows(text, start):
    """Integers of the lines that begin so, by what stands before their colon."""
    found = re.findall(rf"^{start} (\d+):((?: -?\d+)+)", text, re.MULTILINE)
    return {int(number): [int(word) for word in line.split()] for number, line in found}


@pytest.mark.parametrize("name", sampled(["hello_digits"], ["hello_digits", "risc_v"]))
def test_digits_are_told_as_by_the_host(name, tmp_path):
    printed = built(name, tmp_path).printed
    scores = scores_of(tool.DIGITS, images())
    found = re.findall(r"image (\d): this is a (\d) \((\d+) %\), scores((?: -?\d+)+)", printed)
    assert [[int(word) for word in line.split()] for *_, line in found] == scores
    best = [max(row) for row in scores]
    assert [(int(n), int(digit)) for n, digit, *_ in found] == [*enumerate(range(10))]
    assert [int(certain) for _, _, certain, _ in found] == [(s + 128) * 100 // 256 for s in best]


@pytest.mark.whole
def test_models_that_share_an_arena(tmp_path):
    whole = built("two_models", tmp_path)
    spoken = (whole.folder / "spoken.h").read_text()
    numbers = np.array(re.findall(r"\d+", spoken[spoken.index("= {") :]), np.float32)
    features = ((numbers - 320) / 64).reshape(4, 49, 24, 1)
    assert rows(whole.printed, "digit") == dict(enumerate(scores_of(tool.DIGITS, images())[:4]))
    assert rows(whole.printed, "word") == dict(enumerate(scores_of(whole.models[1], features)))
    header = (whole.folder / "exported" / "digits.h").read_text()
    header += (whole.folder / "exported" / "words.h").read_text()
    slices = [int(count) for count in re.findall(r"_SLICES (\d+)", header)]
    turns = [int(count) for count in re.findall(r", (\d+) turns", whole.printed)]
    assert turns == [count - 1 for count in slices] * 4
    assert min(slices) > 10


def test_features_are_those_of_the_recording(tmp_path):
    folder = EXAMPLES["two_models"].folder
    command = [sys.executable, folder / "features.py", tool.WORDS, tmp_path / "spoken.h"]
    subprocess.run(command, check=True)
    made, kept = ((f / "spoken.h").read_text().split() for f in (tmp_path, folder))
    assert made == kept


@pytest.mark.whole
def test_a_bad_update_changes_nothing(tmp_path):
    whole = built("update", tmp_path)
    said = re.findall(r"^(\w+)\.blob: (.*)$", whole.printed, re.MULTILINE)
    assert said == [
        ("damaged", "refused, status 73"),
        ("short", "refused, status 68"),
        ("missing", "refused, status 68"),
        ("update", "taken"),
        ("update", "refused, it is no newer"),
    ]
    parts = re.split(r"^damaged.*\n|^update.*\n", whole.printed, flags=re.MULTILINE)
    first, second = (scores_of(path, images()) for path in (tool.FIRST, tool.SECOND))
    expected = [(0, first), (0, first), (2, second)]
    for part, (revision, scores) in zip(parts, expected, strict=False):
        assert rows(part, f"revision {revision}, digit") == dict(enumerate(scores))
        assert part.count("revision") == 10
    assert first != second


def test_tasks_interrupt_each_other(tmp_path):
    printed = built("rtos", tmp_path).printed
    heard = api.listen_model(tool.KEYWORDS, tool.WORDS)
    answers = next(iter(heard.raw.values())).tolist()
    assert rows(printed, "sound") == dict(zip(heard.samples.tolist(), answers, strict=True))
    seen, scores = rows(printed, "image"), scores_of(tool.DIGITS, images())
    # Ten images a second, for the time that the recording takes.
    assert len(seen) >= 45
    assert seen == {n: scores[n % 10] for n in range(len(seen))}
    left = re.search(r"stack left: look (\d+), listen (\d+)", printed)
    assert min(map(int, left.groups())) >= STACK_LEFT


@pytest.mark.whole
def test_a_watchdog_notices_a_task_that_hangs(tmp_path):
    with pytest.raises(RuntimeError, match="the watchdog has started the board again") as error:
        built("rtos", tmp_path, "HANGS_AT=3")
    assert [*rows(str(error.value), "image")] == [0, 1, 2, 3]


@pytest.mark.whole
@pytest.mark.parametrize(("example", "core"), ALL)
def test_budgets(example, core, tmp_path):
    """And figures that are those of the page."""
    require_core(core)
    if example.needs and not example.needed:
        pytest.skip(f"{example.needs} names no folder")
    found = tool.taken(example, core, tmp_path)
    flash, ram, memory, stack, instructions = found.figures
    most = LIMITS[example.name, core]
    assert all(a <= b for a, b in zip((flash, ram, stack, instructions), most, strict=True))
    page = documented(example, core)
    assert memory == page[2]
    assert [flash, ram, stack, instructions] == pytest.approx([*page[:2], *page[3:]], rel=0.03)
    cycles, right = cells_of(line_of(example, core))[7:]
    assert right == found.right or "?" in found.right
    assert numbers(cycles) == pytest.approx(numbers(found.cycles), rel=0.03)
    assert all(0.45 * instructions < n < 3 * instructions for n in numbers(cycles))


def numbers(cell):
    return [int(n.replace(",", "")) for n in re.findall(r"[\d,]+", cell)]


def line_of(example, core):
    """A line of the table."""
    page = tool.PAGE.read_text(encoding="utf-8")
    (line,) = [n for n in page.splitlines() if n.startswith(tool.start_of(example, core))]
    return line


def documented(example, core):
    """Its figures of memory, and its instructions."""
    line = line_of(example, core)
    return [int(cell.replace(",", "")) for cell in cells_of(line)[2:7]]


def cells_of(line):
    return line.strip(" |").split(" | ")


def test_the_page_has_every_example_within_its_budget():
    assert {(example.name, core) for example, core in ALL} == set(LIMITS)
    for example, core in ALL:
        flash, ram, memory, stack, instructions = documented(example, core)
        most = LIMITS[example.name, core]
        assert all(a <= b for a, b in zip((flash, ram, stack, instructions), most, strict=True))
        assert memory < ram
        cycles, right = cells_of(line_of(example, core))[7:]
        assert (cycles == "-") == (core == "rv32imc")
        assert all(0.9 < float(share.strip("%")) / 100 <= 1 for share in right.split(", "))


def test_a_line_stays_where_the_kernel_is_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(tool.FREERTOS, "")
    page = tool.PAGE.read_text(encoding="utf-8")
    line = tool.row(EXAMPLES["rtos"], "cortex-m4", tmp_path, page)
    assert line in page.splitlines()
    assert "[rtos]" in line
    assert capsys.readouterr().err == "rtos is left out: FREERTOS_KERNEL names no folder\n"
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_build_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="no such target") as error:
        tool.run(["sh", "-c", "echo no such target; exit 3"], tmp_path)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_whole(name):
    folder = EXAMPLES[name].folder
    assert len((folder / "main.c").read_text().splitlines()) <= MAX_LINES
    readme = (folder / "README.md").read_text()
    there = {path.name for path in folder.iterdir() if path.is_file() and path.name[0] != "."}
    there -= {"README.md"}
    assert {"main.c", "boot.c", "board.ld", "Makefile", "CMakeLists.txt"} <= there
    assert {file for file in there if f"`{file}`" not in readme} == set()


@pytest.mark.whole
@pytest.mark.parametrize(("example", "core"), ALL)
def test_it_builds_with_cmake(example, core, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake on this machine")
    require_core(core)
    if example.needs and not example.needed:
        pytest.skip(f"{example.needs} names no folder")
    folder, _ = tool.copied(example, tmp_path, core)
    (chain,) = folder.glob("*.cmake")
    more = [f"-D{example.needs}={example.needed}"] * bool(example.needs)
    configure = ["cmake", "-B", "build", f"-DCMAKE_TOOLCHAIN_FILE={chain.name}", f"-DCORE={core}"]
    for command in ([*configure, *more], ["cmake", "--build", "build"]):
        tool.run(command, folder)
    (image,) = (folder / "build").glob("*.elf")
    assert image.stat().st_size > 20_000
