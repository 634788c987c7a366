"""Tables of the documentation that repeat tables of the code."""

import re

import pytest

from tests.docs.pages import ROOT
from tests.firmware.test_budgets import LIMITS
from tests.firmware.test_budgets_mve import BUDGETS
from tinyrt.emulate import BOARDS
from tinyrt.export import CORES
from tinyrt.export.layouts import LAYOUTS

ROWS = [
    line.strip("| \n").split(" | ")
    for line in (ROOT / "docs" / "emulate.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| (cortex-m|rv32|host \|)", line)
]
BOARD = re.compile("|".join(BOARDS))


@pytest.mark.parametrize("core", [name for name in CORES if not name.startswith("host-")])
def test_page_names_every_core_with_its_boards(core):
    rows = [row for row in ROWS if core in row[0].split(", ")]
    assert len(rows) == 1, f"docs/emulate.md has {len(rows)} lines for {core}"
    _, kernels, boards = rows[0]
    assert kernels.lower() == CORES[core].isa.value
    able = [name for name, board in BOARDS.items() if core in board.cores]
    assert able == [name for name in BOARD.findall(boards) if core in BOARDS[name].cores]


def test_page_names_every_layout_and_its_command():
    text = (ROOT / "docs" / "ecosystems.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z][a-z-]*)` \|", text, re.MULTILINE) == list(LAYOUTS)
    commands = re.findall(r"^tinyrt export .* --layout ([a-z-]+) ", text, re.MULTILINE)
    assert commands == [name for name in LAYOUTS if name != "cmake"]


def test_page_names_no_other_boards():
    named = {name for row in ROWS for name in BOARD.findall(row[2])}
    assert named == set(BOARDS)


def test_comparison_repeats_the_ratios_of_the_benchmarks():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = [line.strip("| \n").split(" | ") for line in page.splitlines() if "| cortex-" in line]
    assert len(rows) >= 30
    said = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    for core in ("m4", "m55", "m3", "m0"):
        ratios = [row[5] for row in rows if row[0] == f"cortex-{core}"]
        assert f"{core.upper()}: {min(ratios)} to {max(ratios)}" in said


def test_the_page_on_conversion_repeats_the_benchmarks():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    found = dict(
        re.findall(r"^\| cortex-(m4|m55) \| mobilenet_vww \| ([\d,]+) ", page, re.MULTILINE)
    )
    said = (ROOT / "docs" / "convert.md").read_text(encoding="utf-8")
    millions = [f"{number(found[core]) / 1e6:.2f} M" for core in ("m4", "m55")]
    assert f"| {' | '.join(millions)} |" in said


def test_benchmarks_are_the_figures_that_the_budgets_hold():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| \n").split(" | ")
        for line in page.splitlines()
        if line.startswith(("| cortex-", "| rv32"))
    ]
    figures = {(row[0], row[1]): [number(row[i]) for i in (2, 6, 9)] for row in rows}
    vectors = {
        ("cortex-m55", name): (budget.instructions, budget.code, budget.stack)
        for name, budget in BUDGETS.items()
    }
    for one, limits in (LIMITS | vectors).items():
        found = figures[one]
        assert all(f <= most for f, most in zip(found, limits, strict=True)), one
        assert found[0] >= 0.98 * limits[0], one


def number(text):
    return int(text.replace(",", ""))
