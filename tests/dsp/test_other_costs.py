"""Formulas of what motion, cameras and decisions cost, against the emulator's counts."""

import pytest

from tests.dsp import camera_costs, decision_costs, motion_costs
from tests.firmware.device import require_core
from tests.sampling import WHOLE, sampled
from tinyrt.dsp import Boxes, Detector, Motion, TopK
from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.dsp.cost_table import CONSTANTS, VECTORS
from tinyrt.dsp.costs import decision_costs as costs_of
from tinyrt.dsp.costs import step_costs
from tinyrt.dsp.decision_terms import shifts_of
from tinyrt.errors import DataError

TOLERANCE, FEW = 0.03, 25
CORES = sampled(["cortex-m4"], [*CONSTANTS])


def is_near(told, counted, tolerance):
    return abs(told - counted) <= max(tolerance * counted, FEW)


BY_SAMPLES = {"roots": 0.12, "bands and peaks": 0.06, "logarithm": 0.1}
"""Steps of motion that branch by samples: as far as these."""

GATHERED = 0.12
"""Tables on cores with vectors, which take some at once for some sizes."""


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_motion(core, tmp_path):
    require_core(core)
    sizes = [(51, 200), (128, 201), (200, 202), (333, 203), (460, 204)]
    fronts = [Motion(), *(motion_costs.motion_of(*one) for one in sizes)]
    for front, found in zip(fronts, motion_costs.measured(fronts, core, tmp_path), strict=True):
        costs = step_costs(front, core)
        assert tuple(costs) == motion_costs.STEPS
        for step in motion_costs.STEPS[:-1]:
            near = BY_SAMPLES.get(step, TOLERANCE)
            assert is_near(costs[step], found[step], near), (front, step, costs, found)
        assert is_near(sum(costs.values()), found["whole"], TOLERANCE), (front, costs, found)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_cameras(core, tmp_path):
    require_core(core)
    cameras = camera_costs.of_all(5 if WHOLE else 1, 1_000)
    for camera, found in zip(cameras, camera_costs.measured(cameras, core, tmp_path), strict=True):
        costs = step_costs(camera, core)
        assert [*costs] == [*found]
        for step, counted in found.items():
            is_gathered = core in VECTORS and step.startswith("table")
            near = GATHERED if is_gathered else TOLERANCE
            assert is_near(costs[step], counted, near), (camera, costs, found)


DECISIONS = [
    *(Detector(n, window=4, threshold=-128, hold=1) for n in (12, 90)),
    *(TopK(70, 4), TopK(180, 9), TopK(40, 1), TopK(5, 8)),
    *(decision_costs.kept(*one, 1.0) for one in [(9, 5, 2, 16, 9), (12, 6, 3, 20, 20)]),
    *(decision_costs.kept(*one, 0.3) for one in [(9, 5, 2, 16, 9), (5, 4, 4, 30, 6)]),
    *(AnomalyNumbers(n, 3, -100, 2500, 4096, 1 << 20, 1.0, 3) for n in (17, 150)),
]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_decisions(core, tmp_path):
    """Those that are met are near; what random data take is no more than the most."""
    require_core(core)
    counted = decision_costs.measured(DECISIONS, core, tmp_path)
    for one, found in zip(DECISIONS, counted, strict=True):
        costs = [*costs_of(one, core).values()]
        assert is_near(costs[0], found[0], TOLERANCE), (one, costs, found)
        is_met = not (isinstance(one, Boxes) and one.iou < 1)
        if 1 in found and is_met:
            assert is_near(costs[1], found[1], TOLERANCE), (one, costs, found)
        assert max(found.values()) <= max(1.03 * costs[-1], costs[-1] + FEW), (one, costs, found)


def test_most_places_that_move():
    """By counting them, as the kernel does."""
    for count in range(1, 12):
        for k in range(1, 12):
            moved = sum(min(held, k) - (held >= k) for held in range(count))
            assert shifts_of(count, k) == moved


def test_a_core_without_constants():
    for costs, one in ((step_costs, Motion()), (costs_of, TopK(3))):
        with pytest.raises(DataError, match="the option core is 'cortex-m33'") as caught:
            costs(one, "cortex-m33")
        assert caught.value.expected == "cortex-m0 cortex-m4 cortex-m55 rv32imc"
