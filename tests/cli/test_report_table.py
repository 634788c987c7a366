"""The lines that ``tinyrt report`` shows beside its page."""

from dataclasses import replace

import pytest

from tests.cli.screen import lines_of
from tinyrt.cli.report import _table
from tinyrt.report.facts import (
    ArenaFacts,
    CoreFacts,
    CycleFacts,
    FlashFacts,
    ModelFacts,
    Quality,
    RamFacts,
    Report,
)

ARENA = ArenaFacts(4096, 4096, True, 0, (), (), ())
CORE = CoreFacts(
    core="cortex-m4",
    basis="counted",
    board="a board",
    bit_exact=True,
    instructions=1_234_567,
    instructions_per_mac=1.5,
    baseline=None,
    flash=FlashFacts(1_000, 2_000),
    ram=RamFacts(4_096, 300, 400, 0, 0),
    arena=ARENA,
    ops=(),
)
ESTIMATED = replace(
    CORE, core="cortex-m0", flash=FlashFacts(None, 2_000), ram=RamFacts(512, None, None, None, None)
)
MODEL = ModelFacts("digits", "", 0, True, 0, 0, (), (), (), (CORE, ESTIMATED), (), (), None, None)
JUDGED = replace(MODEL, quality=Quality(100, 98, 0.98, None, None))
TIMED = replace(CORE, cycles=CycleFacts(2_000_000, 3_000_000))


def both(model, core):
    return replace(model, cores=(core,))


@pytest.mark.parametrize(
    ("models", "shown"),
    [
        (
            (MODEL, both(JUDGED, CORE)),
            [
                "model core right instructions flash arena stack",
                "digits cortex-m4 - 1,234,567 3,000 4,096 300",
                "digits cortex-m0 - 1,234,567 - 512 -",
                "digits cortex-m4 98.00 % 1,234,567 3,000 4,096 300",
            ],
        ),
        (
            (both(MODEL, TIMED), both(MODEL, ESTIMATED)),
            [
                "model core instructions cycles flash arena stack",
                "digits cortex-m4 1,234,567 2,000,000 to 3,000,000 3,000 4,096 300",
                "digits cortex-m0 1,234,567 - - 512 -",
            ],
        ),
        (
            (both(MODEL, ESTIMATED), both(JUDGED, TIMED)),
            [
                "model core right instructions cycles flash arena stack",
                "digits cortex-m0 - 1,234,567 - - 512 -",
                "digits cortex-m4 98.00 % 1,234,567 2,000,000 to 3,000,000 3,000 4,096 300",
            ],
        ),
        (
            (both(JUDGED, TIMED),),
            [
                "model core right instructions cycles flash arena stack",
                "digits cortex-m4 98.00 % 1,234,567 2,000,000 to 3,000,000 3,000 4,096 300",
            ],
        ),
    ],
    ids=["no cycles", "no data", "both of the last", "both"],
)
def test_a_line_for_each_model_on_each_core(models, shown):
    found = Report("1.0", "balanced", models)
    lines = lines_of(_table(found, {"output": "r.html", "bytes": 9_876}), width=120)
    lines = [" ".join(line.split()) for line in lines]
    assert [line for line in lines if line and "─" not in line] == [
        *shown,
        "output r.html",
        "bytes 9,876",
    ]


def test_numbers_stand_on_the_right():
    header, _, *rows = lines_of(_table(Report("1.0", "balanced", (MODEL,)), {}), width=120)[1:5]
    for name in ("right", "instructions", "flash", "arena", "stack"):
        end = header.index(name) + len(name)
        assert all(row[end - 1] != " " and not row[end : end + 1].strip() for row in rows)
    for name in ("model", "core"):
        assert all(row[header.index(name)] != " " for row in rows)
