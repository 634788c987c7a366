"""The page about cycles: its table has every published figure, and ranges of today's code."""

import re

import pytest

from benchmarks.cycles import BEGIN, CORES, END, HEADER, MODELS, PAGE, PUBLISHED, measure, published
from benchmarks.cycles import rows_of as rows_in
from tests.docs.pages import rows_of
from tests.firmware.device import require_core
from tests.firmware.test_cut_channels import INSTRUCTIONS
from tinyrt.cli.cycles import timing_of
from tinyrt.emulate.cycles import cores_with_cycles, table_of

TEXT = PAGE.read_text(encoding="utf-8")
TABLE = TEXT.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
ROWS = {(row[0], row[1]): row[2:] for row in (line.strip("| ").split(" | ") for line in TABLE[2:])}
STALE = "run python -m benchmarks.cycles --write"
NEAR = 0.03
"""How far a figure of the page may be from today's: code gets better in many small steps."""


def ends(text):
    """Fewest and most cycles, of a range in millions."""
    numbers = [round(float(n) * 1e6) for n in text.split(" to ")]
    return numbers[0], numbers[-1]


def test_the_table_has_every_model_on_every_core_and_all_that_is_published():
    assert "\n".join(TABLE[:2]) == HEADER, STALE
    assert [*ROWS] == [(model, core) for model in MODELS for core in CORES], STALE
    for (model, core), row in ROWS.items():
        assert " | ".join(row[-2:]) == published(model, core), STALE
        assert all(low <= high for low, high in (ends(cell) for cell in row[1:3] if cell != "–"))
        if row[2] != "–":
            assert ends(row[1]) <= ends(row[2])


def test_published_cycles_are_milliseconds_times_the_clock():
    assert published("resnet8", "cortex-m4").startswith("19.81; 20.78; 84.48 | fastest")
    assert published("streaming_wakeword", "cortex-m0plus") == "– | –"
    assert {entry.core for entry in PUBLISHED} == {*CORES}
    assert all(len(entry.milliseconds) == len(MODELS) for entry in PUBLISHED)


def test_an_m0plus_takes_no_more_than_half_of_what_is_published():
    for model in MODELS:
        cell, told = ROWS[model, "cortex-m0plus"][1], ROWS[model, "cortex-m0plus"][3]
        assert told == "–" or 2 * ends(cell)[1] <= ends(told)[0], model


def test_instructions_of_an_m85_are_those_of_an_m55():
    """They run the same kernels; so what another machine measured is not older than these."""
    told = {row[1]: row[2] for row in rows_of("benchmarks.md", "core") if row[0] == "cortex-m55"}
    for model in MODELS:
        instructions = int(ROWS[model, "cortex-m85"][0].replace(",", ""))
        if model == "mobilenet_vww":  # converted, without its dead channels
            assert instructions <= (1 + NEAR) * INSTRUCTIONS["cortex-m55"], STALE
        else:
            of_m55 = int(told[model].replace(",", ""))
            assert instructions == pytest.approx(of_m55, rel=NEAR), STALE


def test_rows_are_read_back():
    assert rows_in("\n".join(TABLE)) == dict(zip(ROWS, TABLE[2:], strict=True))


CASES = [(model, core) for model in MODELS for core in CORES]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(("model", "core"), CASES)
@pytest.mark.whole
def test_the_ranges_are_those_of_today_s_code(zoo, model, core):
    require_core(core)
    row = ROWS[model, core]
    for flash, cell in list(zip(CORES[core], row[1:3], strict=False))[-1:]:
        instructions, cycles = measure(zoo, model, core, flash)
        assert int(row[0].replace(",", "")) == pytest.approx(instructions, rel=NEAR), STALE
        assert ends(cell) == pytest.approx((cycles.low, cycles.high), rel=NEAR), STALE


def test_the_page_says_which_cores_are_exact_and_names_every_option():
    rows = re.findall(r"^\| (cortex-m[^|]*) \| (of the manual|bounds) \|", TEXT, re.MULTILINE)
    said = {core: kind for cores, kind in rows for core in cores.split(", ")}
    exact = {True: "of the manual", False: "bounds"}
    assert said == {core: exact[table_of(core).exact] for core in cores_with_cycles()}
    names = [name for name in timing_of.__annotations__ if name not in ("cycles", "return")]
    options = [f"--{name.replace('_', '-')}" for name in names]
    assert [option for option in options if f"| `{option} " not in TEXT] == []
