"""Up to which windows means by a product with a reciprocal are exact, whatever the sums."""

import re

import numpy as np
import pytest

from tinyrt import kernels_c
from tinyrt.backends.c.pools import MOST_FEW

SOURCE = (kernels_c.ROOT / "src_mve" / "tinyrt_average_pool2d_s16.c").read_text()
(MOST_RECIPROCAL,) = map(int, re.findall(r"#define MOST_RECIPROCAL (\d+)", SOURCE))


@pytest.mark.parametrize(
    ("bits", "greatest", "most"), [(16, 1 << 7, MOST_FEW), (32, 1 << 15, MOST_RECIPROCAL)]
)
def test_quotients_are_exact(bits, greatest, most):
    """Of the greatest dividend that has a quotient, which the product reaches first."""
    for count in range(2, most + 1):
        reciprocal = ((1 << bits) - 1) // count + 1
        quotients = np.arange(greatest + 1, dtype=np.uint64)
        dividends = np.minimum(
            quotients * np.uint64(count) + np.uint64(count - 1),
            np.uint64(greatest * count + count // 2),
        )
        assert dividends[-1] < 1 << bits
        found = dividends * np.uint64(reciprocal) >> np.uint64(bits)
        np.testing.assert_array_equal(found, quotients, err_msg=str(count))
