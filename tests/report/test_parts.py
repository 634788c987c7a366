"""Which parts a model fits on, and what the table says of parts."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.report.made import reported
from tinyrt.export import CORES
from tinyrt.report.facts import FlashFacts, RamFacts
from tinyrt.report.parts import fits, parts

KIB = 1024

READ = r"^(probe-rs|PlatformIO|Zephyr|RIOT|Nordic|Microchip|Alif|NXP)[ :]"
"""How the places begin at which figures of parts were read."""

ORDER_CODES = {
    r"STM32\w{4}\w([8BCEGI])$": {"8": 64, "B": 128, "C": 256, "E": 512, "G": 1024, "I": 2048},
    r"GD32\w{5}([8B])$|CH32V\w{4}(8)$": {"8": 64, "B": 128},
    r"ATSAM\w+?(16|18|19|20|21)$": {"16": 64, "18": 256, "19": 512, "20": 1024, "21": 2048},
    r"(?:EF[MR]32\w+F|XMC.*K)(1024|1536)$": {"1024": 1024, "1536": 1536},
}
"""Names of parts -> what their order code says of flash, in KiB."""


@pytest.fixture
def core():
    """A model on a Cortex-M4: 200 KiB of flash, 60 KiB of RAM."""
    one = reported()[0].models[0].cores[0]
    flash = FlashFacts(code=20 * KIB, weights=180 * KIB)
    ram = RamFacts(arena=58 * KIB, stack=400, stack_bound=KIB, static=KIB // 2, state=KIB // 2)
    return replace(one, flash=flash, ram=ram, instructions=8_400_000)


def fit_of(name, *cores):
    (found,) = (fit for fit in fits(cores) if fit.part.name == name)
    return found


def test_there_are_parts_of_every_core_each_with_its_source():
    found = parts()
    assert len(found) == len({part.name for part in found}) == 71
    emulated = {name for name in CORES if not name.startswith("host")}
    # None with vectors for integers alone is sold by a name that the page could give.
    assert {part.core for part in found} == emulated - {"rv32imcv"}
    for part in found:
        assert part.maker
        assert re.search(READ, part.source), part
        assert 16 <= part.mhz <= 1000
        assert 8 <= part.ram_kib <= 16_384
        assert part.flash_kib is None or 64 <= part.flash_kib <= 8_192


def test_flash_is_what_the_order_code_says():
    checked = 0
    for part in parts():
        for pattern, sizes in ORDER_CODES.items():
            found = re.match(pattern, part.name)
            if found:
                checked += 1
                assert part.flash_kib == sizes[next(g for g in found.groups() if g)], part
    assert checked == 38


def test_parts_of_one_maker_stand_together():
    makers = [part.maker for part in parts()]
    assert len(set(makers)) == 1 + sum(a != b for a, b in pairwise(makers))


def test_a_model_fits_where_flash_and_ram_hold_it(core):
    fit = fit_of("STM32F401RE", core)  # 512 and 96 KiB, 84 MHz
    assert (fit.core, fit.lacks, fit.fits, fit.instructions) == ("cortex-m4", (), True, 8_400_000)
    assert (fit.flash, fit.ram) == (200 / 512, 60 / 96)


def test_what_a_part_lacks_is_named(core):
    assert fit_of("STM32G431RB", core).lacks == ("flash", "RAM")  # 128 and 32
    assert fit_of("STM32L432KC", core).lacks == ()  # 256 and 64
    assert fit_of("TM4C123GH6PM", core).lacks == ("RAM",)  # 256 and 32
    assert not fit_of("TM4C123GH6PM", core).fits


def test_a_part_that_is_just_full_fits(core):
    full = replace(
        core, flash=FlashFacts(56 * KIB, 200 * KIB), ram=replace(core.ram, arena=62 * KIB)
    )
    assert fit_of("STM32L432KC", full).lacks == ()
    more = replace(full, ram=replace(full.ram, arena=62 * KIB + 1))
    assert fit_of("STM32L432KC", more).lacks == ("RAM",)
    more = replace(full, flash=FlashFacts(56 * KIB + 1, 200 * KIB))
    assert fit_of("STM32L432KC", more).lacks == ("flash",)


def test_a_core_of_the_same_instruction_set_stands_for_another_but_for_time(core):
    fit = fit_of("STM32F746ZG", core)  # an M7
    assert (fit.core, fit.fits, fit.instructions) == ("cortex-m4", True, None)
    own = replace(core, core="cortex-m7", instructions=5)
    assert fit_of("STM32F746ZG", core, own).instructions == 5
    fit = fit_of("STM32F103RB", core)  # an M3, whose kernels are others
    assert (fit.core, fit.fits, fit.flash, fit.ram) == (None, False, None, None)


def test_flash_outside_of_a_part_holds_any_model(core):
    m0 = replace(core, core="cortex-m0plus")
    fit = fit_of("RP2040", m0)
    assert (fit.flash, fit.fits) == (None, True)


def test_without_code_the_weights_count(core):
    fit = fit_of("STM32L432KC", replace(core, flash=FlashFacts(None, 128 * KIB)))
    assert fit.flash == 0.5


def test_the_page_has_a_line_for_each_part():
    page = reported()[1]
    (table,) = re.findall(r'<table class="sortable" id="parts-ops">.*?</table>', page, re.DOTALL)
    rows = re.findall(r"<tr data-fits.*?</tr>", table, re.DOTALL)
    assert len(rows) == len(parts())
    models = reported()[0].models
    for row, part, *own in zip(rows, parts(), *(fits(m.cores) for m in models), strict=True):
        text = [re.sub(r"<[^>]+>", "", c) for c in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
        assert text[0] == part.name
        assert text[-1] == part.source
        assert (f'data-fits="{int(all(fit.fits for fit in own))}"') in row
        for i, fit in enumerate(own):
            said, flash, ram, ms = text[6 + 4 * i : 10 + 4 * i]
            known = "no: " + ", ".join(fit.lacks) if fit.lacks else "yes"
            assert said == ("–" if fit.core is None else known)
            assert flash == ("–" if fit.flash is None else f"{100 * fit.flash:.1f}")
            assert ram == ("–" if fit.ram is None else f"{100 * fit.ram:.1f}")
            timed = fit.instructions and f"{fit.instructions / part.mhz / 1e3:.2f}"
            assert ms == (timed or "–")
