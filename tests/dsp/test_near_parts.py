"""Parts of conditions, and sizes that fill no vector: windows, scales, and terms of costs."""

from types import SimpleNamespace

import pytest

from tinyrt.dsp.boxes import Boxes
from tinyrt.dsp.camera import Camera
from tinyrt.dsp.camera_terms import camera_terms
from tinyrt.dsp.decision_terms import compared_by_eights, decision_terms
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.motion_terms import motion_terms
from tinyrt.dsp.pipeline import Pipeline
from tinyrt.dsp.sound_terms import sound_terms
from tinyrt.dsp.transform_terms import transform_terms
from tinyrt.dsp.windows import shape_behind
from tinyrt.errors import ShapeError

WINDOWS = {
    "sound": (LogMel(), (16_000,), True),
    "sound of two axes": (LogMel(), (16_000, 2), False),
    "no sound": (LogMel(), (), False),
    "motion": (Motion(), (512, 3), True),
    "motion of other axes": (Motion(), (512, 2), False),
    "motion of no axes": (Motion(), (512,), False),
    "motion of several": (Motion(), (512, 3, 1), False),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_have_the_front_end_s_axes(name):
    front, window, fits = WINDOWS[name]
    if fits:
        assert shape_behind(front, window)[0] > 0
    else:
        with pytest.raises(ShapeError, match="windows of samples are"):
            shape_behind(front, window)


@pytest.mark.parametrize(
    ("scale", "offset", "each"),
    [(0.5, 1, False), ((0.5, 0.25), 1, True), (0.5, (1, 2), True), ((0.5, 0.25), (1, 2), True)],
)
def test_features_of_a_row_have_scales_or_offsets_of_their_own(scale, offset, each):
    assert Pipeline(LogMel(coefficients=2), scale, offset).is_each is each


SIDE, LANES = "side by side", "lanes"
STAGES = {
    "one of four, alone": (4, (4,), {SIDE: (1, 0, 1)}),
    "sixteen": (16, (4, 4), {SIDE: (1, 1, 0), LANES: (1, 1, 1)}),
    "one of five first": (20, (4, 5), {"5": (1, 4, 4), "4": (1, 1, 5)}),
    "one of five behind": (20, (5, 4), {SIDE: (1, 1, 1), "5": (1, 1, 4)}),
    "one of two first": (8, (4, 2), {"2": (1, 4, 4), "4": (1, 1, 2)}),
    "one of two behind": (8, (2, 4), {SIDE: (1, 0, 2), "2": (1, 1, 4)}),
}
"""Numbers, factors, of which the last comes first, and a kind's stages, blocks and products."""


@pytest.mark.parametrize("name", STAGES)
def test_stages_of_four_are_computed_on_vectors_where_these_are_whole(name):
    count, factors, wanted = STAGES[name]
    fft = SimpleNamespace(twiddles=range(count), factors=factors)
    kinds = ("2", "3", "4", "5", SIDE, LANES)
    found = transform_terms(fft, has_vectors=True)[4:]
    assert found == tuple(n for kind in kinds for n in wanted.get(kind, (0, 0, 0)))
    plain = transform_terms(fft, has_vectors=False)[2:]
    assert sum(plain[::3]) == len(factors)
    assert sum(plain[1::3]) == sum(count // _reach(factors, i) for i in range(len(factors)))


def _reach(factors: tuple[int, ...], i: int) -> int:
    """How many numbers a block of that stage has."""
    reach = 1
    for radix in factors[i:]:
        reach *= radix
    return reach


MOVING = Motion(axes=2, window=51, step=10, edges=(2, 9, 30), peaks=3)
HEARD = LogMel(window=402, step=150, bands=23, upper_hz=7_450, coefficients=13)
BETWEEN = Camera(20, 75, 5, 13, "rgb888", 3, (1, 0, 16, 75), "bilinear")
AREAS = Camera(20, 75, 5, 13, "rgb565", 3, (1, 0, 16, 75), "area")
"""13 columns of 75 pixels, which divide none between 0 and 13: 12 end in the midst of one."""


def test_vectors_that_are_not_full():
    """Those of samples have 8, of numbers and pixels' sums 4 and 8, of pixels ahead 64."""
    moved = motion_terms(MOVING, has_vectors=True)
    bins = MOVING.bins[-1] - MOVING.bins[0]
    assert bins % 4
    assert {name: moved[name] for name in ("statistics", "raise", "energies", "roots")} == {
        **{"statistics": (2, 2 * 7), "raise": (2, 2 * 13), "energies": (2, 2 * (bins // 4))},
        "roots": (2, 2 * 2),
    }
    heard = sound_terms(HEARD, has_vectors=True)
    assert (heard["window"], heard["take"], heard["noise"]) == ((1, 50), (1, 18 + 31), (1, 6))
    (count,) = sound_terms(HEARD, has_vectors=False)["energies"][1:]
    assert count % 4
    assert heard["energies"] == (1, count // 4)
    seen = camera_terms(BETWEEN, has_vectors=True)
    assert [*seen.values()] == [(4, 16, 5, 16 * 2, 5 * 5), (5, 5 * 39, 0)]
    ahead, _ = camera_terms(AREAS, has_vectors=True).values()
    assert ahead == (4, 16, 5, 16 * 13, 16 * 12, 5 * 13, 16 * 2, 16 * 10)


BOXES = {
    "all found and kept": ((64, 30), (15, 105, 4, 23), (15, 105, 4, 23)),
    "all found": ((16, 9), (15, 105, 4, 17), (15, 105, 4, 17)),
    "some found": ((13, 4), (15, 102, 2, 4), (15, 102, 4, 7)),
    "one of the last eight": ((9, 9), (15, 84, 3, 17), (15, 84, 3, 17)),
}
"""Candidates and boxes kept, of 15 scores -> terms of what is met, and of the most."""


@pytest.mark.parametrize("name", BOXES)
def test_boxes_that_fill_no_vector(name):
    (candidates, most), met, at_most = BOXES[name]
    anchors = tuple((i, i, 3, 3) for i in range(5))
    boxes = Boxes(9, 9, anchors, 4, candidates=candidates, most=most, ignored=(0, 0))
    through = (1, 2)
    found = [*decision_terms(boxes, at_once=16).values()]
    assert found == [through, through + met, through + at_most]


@pytest.mark.parametrize(("count", "most", "times"), [(19, 30, 43), (19, 10, 27), (8, 9, 8)])
def test_eights_are_compared_with_those_before_and_among_them(count, most, times):
    assert compared_by_eights(count, most) == times
