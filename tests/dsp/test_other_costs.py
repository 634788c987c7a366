"""Formulas of what motion, cameras and decisions cost, against the emulator's counts."""

import re

import pytest

from tests.docs.pages import ROOT
from tests.dsp import camera_costs, decision_costs, motion_costs, window_costs
from tests.firmware.device import require_core
from tests.sampling import WHOLE, sampled
from tinyrt.dsp import Boxes, Camera, Detector, Motion, TopK
from tinyrt.dsp.anomaly import AnomalyNumbers
from tinyrt.dsp.camera_terms import camera_terms, image_step
from tinyrt.dsp.cost_table import CONSTANTS, VECTORS
from tinyrt.dsp.costs import decision_costs as costs_of
from tinyrt.dsp.costs import normalize_costs, step_costs
from tinyrt.dsp.decision_terms import shifts_of
from tinyrt.errors import DataError

PAGE = ROOT / "docs" / "dsp.md"
TOLERANCE, FEW = 0.03, 25
CORES = sampled(["cortex-m4"], [*CONSTANTS])


def is_near(told, counted, tolerance):
    return abs(told - counted) <= max(tolerance * counted, FEW)


BY_SAMPLES = {"roots": 0.12, "bands and peaks": 0.06, "logarithm": 0.1}
"""Steps of motion that branch by samples: as far as these."""

WINDOWS = 0.05
"""Windows by themselves, with a root and divisions for each mean."""

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


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_windows_by_themselves(core, tmp_path):
    require_core(core)
    ones = [(30, 20, "window"), (30, 20, "features"), (50, 31, "features"), (5, 9, "features")]
    for one, found in zip(ones, window_costs.measured(ones, core, tmp_path), strict=True):
        costs = normalize_costs(*one, core)
        assert [*costs] == [*found]
        for step, counted in found.items():
            assert is_near(costs[step], counted, WINDOWS), (one, costs, found)


KINDS = [
    (pixels, channels, resize)
    for pixels, channels in (
        *(("grey", 1), ("rgb888", 1), ("rgb888", 3), ("rgb565", 1), ("rgb565", 3)),
        *(("yuyv", 1), ("yuyv", 3)),
    )
    for resize in ("area", "bilinear")
]


def test_the_table_of_cameras():
    """To the instruction: each kind of pixels, way to resize, and core."""
    text = (ROOT / "docs" / "camera.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| pixels, channels, .*(?:\n\|.*)+", text, re.MULTILINE)
    head, _, *rows = ([c.strip() for c in r.strip("|").split("|")] for r in table.splitlines())
    assert head[1:] == [*CONSTANTS]
    told = [[f"`{p}`, {n}, `{how}`", *frames_cost(p, n, how)] for p, n, how in KINDS]
    assert rows == told


def frames_cost(pixels, channels, resize):
    camera = Camera(120, 160, 48, 64, pixels=pixels, channels=channels, resize=resize)
    return [f"{sum(step_costs(camera, core).values()):,}" for core in CONSTANTS]


@pytest.mark.parametrize("core", sorted(VECTORS))
def test_a_vector_costs_as_much_whether_it_is_full_or_not(core):
    four, *more = (
        normalize_costs(rows, 3, "features", core)["means and deviations"] for rows in (4, 5, 6, 7)
    )
    assert more == [more[0]] * 3
    assert more[0] > four


def test_groups_that_there_are_not():
    with pytest.raises(DataError, match="the option normalize is 'rows'"):
        normalize_costs(3, 4, "rows", "cortex-m4")


def test_the_pages_table():
    """To the instruction; and what a pixel costs."""
    text = PAGE.read_text(encoding="utf-8").split("## What all of it costs")[1]
    (table,) = re.findall(r"^\| instructions \| cortex-m0 .*(?:\n\|.*)+", text, re.MULTILINE)
    head, _, *rows = ([c.strip() for c in r.strip("|").split("|")] for r in table.splitlines())
    camera = Camera(height=120, width=160, rows=48, columns=64)
    anchors = tuple((y, x, 40, 30) for y in range(20, 240, 40) for x in range(20, 320, 40))
    decisions = {
        "12 classes, smoothed": Detector(12),
        "the 3 greatest of 12": TopK(12, 3),
        "boxes of 48 anchors, 3 classes": Boxes(240, 320, anchors, 3),
        "error of 640 numbers": AnomalyNumbers(640, 0, 0, 1, 1, 1, 1.0, 1),
    }
    for i, core in enumerate(head[1:], 1):
        fronts = {"motion": step_costs(Motion(), core), "camera": step_costs(camera, core)}
        fronts["49 rows of 24"] = normalize_costs(49, 24, "features", core)
        all_costs = fronts | {name: costs_of(one, core) for name, one in decisions.items()}
        told = {f"{name}: {what}": n for name, c in all_costs.items() for what, n in c.items()}
        assert {row[0]: int(row[i].replace(",", "")) for row in rows} == told
    pixels = sum(step_costs(Camera(20, 160, 8, 64), "cortex-m4").values()) / (20 * 160)
    assert "38.6 instructions for each pixel" in text
    assert pixels == pytest.approx(38.6 + 0.6, rel=0.02)


def test_pixels_that_columns_take():
    """By going through a line, as the kernel does."""
    for camera in camera_costs.of_all(6, 50):
        if camera.resize == "area":
            across, x, runs, whole, shared = camera.across, 0, 0, 0, 0
            for end, part in zip(across.first[1:].tolist(), across.part[1:], strict=True):
                runs, whole, shared = runs + (end > x), whole + end - x, shared + (part > 0)
                x = end + (part > 0)
            terms = camera_terms(camera, has_vectors=False)[image_step(camera)]
            assert terms[4:7] == tuple(camera.cropped[2] * n for n in (runs, whole, shared))


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
        assert caught.value.expected == "cortex-m0 cortex-m4 cortex-m55 rv32imc rv32imcb"
