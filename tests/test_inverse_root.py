"""The integer inverse root, over all sizes of its argument."""

import pytest

from tinyrt import fixedpoint as fp


@pytest.mark.parametrize("n", [2, 3, 1000, 2**29 - 1, 2**29, 2**30 + 12345, 2**31 - 1, 2**33])
def test_it_is_accurate_for_sums_of_any_size(n):
    mult, shift = fp.inverse_root(n)
    assert 0 < mult <= fp.INT32_MAX
    assert mult * 2.0 ** (shift - 31) == pytest.approx(n**-0.5, rel=2e-6)


@pytest.mark.parametrize("n", [0, 1])
def test_of_zero_and_one_it_is_the_greatest_value(n):
    assert fp.inverse_root(n) == (fp.INT32_MAX, 0)
