"""Any two exports, for whatever cores, in one image and in either order: each is exact.

Both keep the model's own name, so that a model for two cores has two headers and two libraries that
are called the same. An M0 passes floats otherwise than the others, which a linker refuses; it is
told not to, since these models pass none.
"""

from itertools import combinations

import pytest

from tests.firmware.pairs import CORES, Pairs
from tests.firmware.test_zoo import MODELS
from tests.sampling import sampled
from tinyrt.errors import ToolError

pytestmark = pytest.mark.slow

ALL = list(combinations([(model, core) for core in CORES for model in MODELS], 2))

SAME_MODEL = (("dscnn_kws", "cortex-m0"), ("dscnn_kws", "cortex-m4"))
SAMPLE = [SAME_MODEL]


@pytest.fixture(scope="module")
def pairs(zoo, tmp_path_factory):
    return Pairs(zoo, tmp_path_factory.mktemp("pairs"))


def test_the_sample_is_of_all_pairs():
    assert len(ALL) == 15 * 14 / 2
    assert set(SAMPLE) <= set(ALL)


@pytest.mark.parametrize(
    ("first", "second"),
    sampled(SAMPLE, ALL),
    ids=["-".join((*a, *b)) for a, b in sampled(SAMPLE, ALL)],
)
def test_two_exports_in_one_image_are_exact_in_either_order(pairs, first, second):
    pairs.check(first, second)


@pytest.mark.whole
def test_kernels_of_one_name_for_two_cores_would_not_be_exact(zoo, tmp_path):
    """What the identity is for: without it a linker takes the kernels of one for both."""
    pairs = Pairs(zoo, tmp_path)
    for each in SAME_MODEL:
        (pairs.project(*each).directory / "tinyrt" / "tinyrt_names.h").write_text("")
    with pytest.raises((ToolError, AssertionError), match=r"the model wrote|not equal"):
        pairs.check(*SAME_MODEL)


def test_code_of_two_ways_to_pass_floats_does_not_link(pairs):
    """An M0's own flags against an M4's: the linker says so."""
    first, second = (("dscnn_kws", core) for core in CORES[:2])
    both = (pairs.project(*first), pairs.project(*second))
    libraries = [pairs.library(project) for project in both]
    with pytest.raises(ToolError, match="uses VFP register arguments"):
        pairs.link(both, libraries, "cortex-m4")
