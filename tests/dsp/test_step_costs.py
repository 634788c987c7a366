"""Formulas of what a front end's steps cost, against the emulator's counts."""

from dataclasses import replace

import pytest

from tests.docs.pages import ROOT
from tests.dsp.step_costs import FITTED, front_of, measured
from tests.firmware.device import require_core
from tests.sampling import sampled
from tinyrt.dsp import LogMel
from tinyrt.dsp.cost_table import CONSTANTS
from tinyrt.dsp.costs import step_costs
from tinyrt.dsp.sound_terms import STEPS
from tinyrt.errors import DataError

PAGE = ROOT / "docs" / "dsp.md"
TOLERANCE = 0.03
BY_SAMPLES = {"roots": 0.06, "window": 0.035}
"""Steps that branch by samples: as far as these."""
FEW = 25
"""Instructions that a step of few bands may be off by in any case."""

OTHERS = (180, 288, 432, 512, 540, 960, 1_080, 1_280, 1_800)
"""Lengths of transforms; of those in ``FITTED`` the front ends differ."""


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", sampled(["cortex-m4"], [*CONSTANTS]))
def test_formulas_are_near_what_is_counted(core, tmp_path):
    require_core(core)
    assert set(OTHERS) & set(FITTED) == {512}
    fronts = [LogMel(coefficients=13), LogMel(window=400, step=320, bands=24, coefficients=10)]
    fronts += [front_of(fft, 100 + i) for i, fft in enumerate(OTHERS)]
    for front, found in zip(fronts, measured(fronts, core, tmp_path), strict=True):
        costs = step_costs(front, core)
        assert tuple(costs) == STEPS
        for step in STEPS[:-1]:
            most = max(BY_SAMPLES.get(step, TOLERANCE) * found[step], FEW)
            assert abs(costs[step] - found[step]) <= most, (front, step, costs, found)
        whole = sum(costs.values()) - costs["cosines"]
        assert abs(whole - found["whole"]) <= TOLERANCE * found["whole"]
        assert abs(costs["take"] - found["take"]) <= TOLERANCE * found["whole"] / 3


def test_the_pages_figures():
    """Of the default front end, in hundreds: the table of docs/dsp.md."""
    for core, whole in {"cortex-m0": 164_000, "cortex-m4": 41_100, "cortex-m55": 13_200}.items():
        costs = step_costs(LogMel(), core)
        assert sum(costs.values()) == pytest.approx(whole, rel=0.03)
        assert costs["transform"] == max(costs.values())
        assert 0.35 < costs["transform"] / sum(costs.values()) < 0.65


def test_the_pages_table():
    """To the instruction."""
    table = PAGE.read_text(encoding="utf-8").split("| of the default, and 13")[1].split("\n\n")[0]
    head, _, *rows = ([c.strip() for c in r.strip("|").split("|")] for r in table.splitlines())
    for i, core in enumerate(head[1:], 1):
        column = [int(row[i].replace(",", "")) for row in rows]
        assert column == [*step_costs(LogMel(coefficients=13), core).values()]


def test_steps_that_are_left_out_cost_nothing():
    whole = step_costs(LogMel(coefficients=5), "rv32imc")
    assert tuple(whole) == STEPS
    bare = LogMel(noise_reduction=None, pcan=None, log_shift=None)
    few = step_costs(bare, "rv32imc")
    assert tuple(few) == ("window", "transform", "energies", "bands", "roots", "take")
    assert all(few[step] == whole[step] for step in few)
    assert "noise" in step_costs(replace(LogMel(), pcan=None), "rv32imc")


def test_a_core_without_constants():
    with pytest.raises(DataError, match="the option core is 'cortex-m3'") as caught:
        step_costs(LogMel(), "cortex-m3")
    assert caught.value.expected == "cortex-m0 cortex-m4 cortex-m55 rv32imc rv32imcb"
