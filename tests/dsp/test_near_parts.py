"""One part of a condition alone is not met: windows, scales and stages of transforms."""

from types import SimpleNamespace

import pytest

from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.pipeline import Pipeline
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
